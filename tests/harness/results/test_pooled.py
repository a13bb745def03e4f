"""Pooled answers from results, and comparisons of two results: means, leads, and changed, lost and new rows."""

import math
from dataclasses import replace

import numpy as np
import pytest

from harness.results import differences
from harness.results.pooled import AT_ODDS, Lead, Pool
from harness.statistics.pooled import Difference
from tests.suite_run import SuiteRun

PAIR = (("length", "length"), ("random", "random"))


def test_means_and_leads_are_those_of_the_boards(suite_run: SuiteRun) -> None:
    rows = [row for row in suite_run.results.ranking if row.statistic == "spearman" and row.rank]
    pool, smallest = Pool.of(suite_run.results), 1.0
    for board, rule in {(row.board, row.rule) for row in rows}:
        values = {(row.metric, row.column): row.value for row in rows if (row.board, row.rule) == (board, rule)}
        first, *others = values
        targets = pool.targets(board, "sample")
        assert pool.means(targets, rule) == pytest.approx(values)
        lead, swapped, last, itself = pool.leads(
            targets, [(first, others[0]), (others[0], first), (first, others[-1]), (first, first)], rule)
        assert lead == swapped
        smallest = min(smallest, last.difference.p)
        assert lead.difference.value == pytest.approx(abs(values[first] - values[others[0]]))
        assert values[lead.better] >= values[lead.worse]
        assert itself.state == "equal"
        assert abs(pool.reached(targets, lead.better, rule)[0]) > abs(values[lead.better])
    assert smallest < 0.05
    assert not pool.targets("dev", "real")
    assert {quality.casefold() for _, quality in pool.targets(dimension="overall")} == {"overall"}


@pytest.mark.parametrize("scale", [1e-65, 1e65])
def test_columns_with_tiny_or_huge_scores_are_distinguished(suite_run: SuiteRun, scale: float) -> None:
    pool = Pool.of(suite_run.results)
    scaled = {name: replace(points, scores={column: points.scores[column] * scale for column in PAIR})
              for name, points in pool.points.items()}
    assert len(set(replace(pool, points=scaled).digests(pool.targets(), PAIR))) == 2


def test_an_interval_at_odds_with_p_is_explained_only_among_several_pairs(suite_run: SuiteRun) -> None:
    lead = Lead(("a", "a"), ("b", "b"), Difference(0.1, 0.01, 0.19, 0.06))
    assert AT_ODDS in lead.verdict
    assert AT_ODDS not in replace(lead, only_pair=True).verdict
    pool = Pool.of(suite_run.results)
    alone = replace(pool, columns={column: pool.columns[column] for column in PAIR}, swapped={})
    assert [part.leads(part.targets("dev"), [PAIR])[0].only_pair for part in (pool, alone)] == [False, True]


def test_a_column_fitted_on_real_ratings_has_no_value_there(suite_run: SuiteRun) -> None:
    results = suite_run.results
    metric, name = results.metrics[0], next(entry.name for entry in results.datasets if entry.split == "dev")
    fitted = replace(results, metrics=(replace(metric, learned_on=(name,)),), datasets=tuple(
        replace(entry, origin="imported") for entry in results.datasets))
    pool = Pool.of(fitted)
    assert not any(column[0] == metric.name for column in pool.means(pool.targets("dev", "real")))
    (lead,) = pool.leads(pool.targets("dev"), [((metric.name, metric.columns[0]), ("random", "random"))])
    assert math.isnan(lead.difference.p)


def test_share_reached_comes_with_the_number_of_reliable_targets(suite_run: SuiteRun) -> None:
    pool, (column, _) = Pool.of(suite_run.results), PAIR
    first, second, third, *_ = targets = pool.targets("dev")
    known = replace(pool, reliability={first: 0.25, second: 0.0, third: -0.1})
    assert known.reached(targets, column) == (pytest.approx(pool.columns[column][first] / 0.5), 1)


def test_rows_that_differ_are_counted_with_the_largest_difference(suite_run: SuiteRun) -> None:
    report = suite_run.results
    first, second, *rest = report.correlations
    later = replace(report, correlations=(
        replace(first, value=first.value - 1e-9), replace(second, quality="new"), *rest))
    assert all(table.equal for table in differences.compare(report, report)), "NaN is NaN"
    tables = {table.table: table for table in differences.compare(report, later)}
    table = tables.pop("correlations")
    assert all(table.equal for table in tables.values())
    assert (table.common, len(table.gone), len(table.new)) == (len(report.correlations) - 1, 1, 1)
    (difference,) = table.fields
    assert (difference.key, difference.field) == (differences.key_of(first), "value")
    assert difference.size == pytest.approx(1e-9, rel=1e-3)
    gone = replace(report, correlations=(replace(first, value=math.nan), second, *rest))
    (difference,) = differences.compare(report, gone)[0].fields
    assert math.isinf(difference.size), "a number that is gone is no small difference"


def test_change_of_one_item_score_is_a_difference(suite_run: SuiteRun) -> None:
    report = suite_run.results
    (points, *rest), (column, _) = report.points, PAIR
    before = points.scores[column]
    for later, size in ((before[3] + 0.5, 0.5 / max(1, before[3] + 0.5)), (math.nan, math.inf)):
        values = np.where(np.arange(len(before)) == 3, later, before)
        moved = replace(points, scores={**points.scores, column: values})
        table = differences.compare(report, replace(report, points=(moved, *rest)))[-1]
        assert (table.table, table.gone, table.new) == ("points", (), ())
        (difference,) = table.fields
        assert difference.key == (points.dataset, *column, points.items[3])
        assert difference.size == pytest.approx(size)
