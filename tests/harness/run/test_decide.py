"""Decisions of a run: values of each column, comparison with a constant, ties for the lead, reasons for gaps."""

import dataclasses
import json
import math
from pathlib import Path

import numpy as np
import pytest

from benchmarks.dataset import Quality
from harness.results.cache import Cache
from harness.results.decision_rows import Decision
from harness.run import compare, decide
from harness.run.correlate import Judged, TargetData
from harness.statistics.reliability import vote_table
from leaderboard.blocks.decisions import limitations
from tests.conftest import Invoke
from tests.suite_run import SuiteRun

NOISE = {"good": 0.4, "fair": 0.9, "poor": 4.0, "constant": 0.0}


def rated(votes: list[tuple[float, ...]], scores: np.ndarray, raters: bool = True) -> TargetData:
    """Return a target with votes of raters a, b, c in this order, or of unknown raters."""
    means = np.array([np.mean(row) if row else np.nan for row in votes])
    names = tuple(tuple("abc"[:len(row)]) for row in votes) if raters else ()
    return TargetData("toy", Judged(Quality("overall", 1, 5), vote_table(votes), means, names),
                      tuple((name, name) for name in list(NOISE)[:len(scores)]), scores,
                      np.zeros(len(votes), np.int64), np.arange(len(votes)))


@pytest.fixture
def target(rng: np.random.Generator) -> TargetData:
    truth = rng.normal(3, 1.2, 240)
    votes = np.clip(np.rint(truth[:, None] + rng.normal(0, 0.8, (240, 3))), 1, 5)
    scores = np.array([truth + rng.normal(0, noise, 240) if noise else np.full(240, 2.0) for noise in NOISE.values()])
    return rated([tuple(row) for row in votes.tolist()], scores)


def of(target: TargetData, folder: Path, fitted: tuple[str, ...] = ()) -> dict[str, Decision]:
    parts = compare.contributions(target, 0, 4000, fitted)
    tied = compare.tied_first(target, parts, compare.comparisons(target, parts))
    return {row.column: row for row in decide.decisions(target, 0.1, 0, Cache(folder), tied)}


def test_a_good_metric_replaces_a_rater_and_a_constant_does_not(target: TargetData, tmp_path: Path) -> None:
    rows = of(target, tmp_path)
    assert (rows["good"].passes, rows["good"].replaces, rows["good"].raters) == (True, True, 3)
    assert rows["good"].rho > rows["fair"].rho > rows["poor"].rho
    assert rows["good"].worth > rows["fair"].worth > rows["poor"].worth > 0.95
    assert not rows["poor"].replaces
    assert not rows["constant"].replaces
    assert rows["constant"].rho == rows["constant"].constant_rho == rows["good"].constant_rho
    assert math.isnan(rows["constant"].worth)
    assert rows["constant"].note


def test_columns_tie_for_first_unless_perm_both_separates_them(target: TargetData, tmp_path: Path) -> None:
    rows = of(target, tmp_path)
    assert [row.tied_first for row in rows.values()] == [True, False, False, False]
    without = of(target, tmp_path, fitted=("good",))
    assert [row.tied_first for row in without.values()] == [False, True, False, False]
    close = dataclasses.replace(target, scores=np.vstack([target.scores[0], target.scores[0] + np.linspace(0, 1, 240)]),
                                names=target.names[:2])
    assert all(row.tied_first for row in of(close, tmp_path).values())


def test_missing_scores_do_not_change_other_columns(target: TargetData, tmp_path: Path) -> None:
    holes = target.scores.copy()
    holes[1, :40], holes[2] = np.nan, np.nan
    rows, before = of(dataclasses.replace(target, scores=holes), tmp_path), of(target, tmp_path)
    assert rows["good"] == before["good"]
    assert (rows["fair"].items, rows["good"].items) == (200, 240)
    assert (math.isnan(rows["poor"].rho), math.isnan(rows["poor"].worth), rows["poor"].items) == (True, True, 0)
    assert "0 rows" in rows["poor"].note


@pytest.mark.parametrize(("votes", "raters", "note", "has"), [
    ([(1.0,), (2.0,), (3.0,)] * 40, True, "one vote", (False, True)),
    ([(3.0, 3.0), (3.0, 3.0), (1.0,)] * 40, True, "equal", (True, True)),
    ([(1.0, 2.0), (3.0, 2.0), (5.0, 5.0)] * 40, True, "2 raters", (True, True)),
    ([(1.0, 2.0), (3.0, 2.0), (5.0, 5.0)] * 40, False, "raters are unknown", (True, True)),
    ([(1.0, 2.0, 2.0), (3.0, 2.0, 2.0), (5.0, 5.0, 4.0)] * 4, True, "12 contexts", (True, True)),
    ([(1.0, 2.0, 3.0), (3.0, 2.0, 4.0), (5.0, 5.0, 4.0)] * 3, True, "10 items", (True, True)),
    ([(3.0, 3.0, 3.0)] * 120, True, "every rating is the same", (True, False)),
    ([()] * 120, True, "0 rows", (False, False))])
def test_limits_of_the_data_have_one_line_each(
        votes: list[tuple[float, ...]], raters: bool, note: str, has: tuple[bool, bool], tmp_path: Path) -> None:
    target = rated(votes, np.random.default_rng(0).normal(size=(1, len(votes))), raters)
    (row,) = decide.decisions(target, 0.1, 0, Cache(tmp_path))
    assert note in row.note
    assert (math.isfinite(row.rho), math.isfinite(row.worth)) == has
    assert not row.replaces


def test_report_prints_decisions_as_table_and_json(suite_run: SuiteRun, invoke: Invoke) -> None:
    out = ("--out", suite_run.out)
    lines = [json.loads(line) for line in invoke("report", *out, "--decide", "--json").out.splitlines()]
    assert len(lines) == len(suite_run.results.decisions) == len(
        {(row.dataset, row.quality, row.metric, row.column) for row in suite_run.results.correlations})
    assert {"dataset", "quality", "metric", "column", "rho", "rater_rho", "constant_rho", "winning_rate", "passes",
            "replaces", "worth", "worth_low", "worth_high", "tied_first", "epsilon"} <= lines[0].keys()
    assert {row["epsilon"] for row in lines} == {0.1}
    wanted = ("--dataset", "persona-usr", "--quality", "Overall", "--metric", "bleu")
    columns = {line.split()[2] for line in invoke("report", *out, "--decide", *wanted).out.splitlines()
               if line.startswith("persona-usr  Overall ")}
    assert columns == {row["column"] for row in lines
                       if (row["dataset"], row["quality"], row["metric"]) == ("persona-usr", "Overall", "bleu")}
    assert f"{len(lines) - 20} more rows" in invoke("report", *out, "--decide").out


def test_limits_name_the_columns_that_have_them() -> None:
    length = Decision("tea", "fun", "length", "length", *(math.nan,) * 4, False, False, *(1.0,) * 3, False, 0.1, 9, 2,
                      "no votes")
    constant = dataclasses.replace(length, column="distinct-1", note="every score is the same; no votes")
    assert list(limitations([constant, length])) == [
        "distinct-1 on tea, fun: every score is the same", "tea, fun: no votes"]
