"""`harness report --statistic --level --test`: any statistic from the item scores of a run, no metric running."""

import dataclasses
import json
import math
from pathlib import Path

import numpy as np
import pytest

from benchmarks.dataset import Dataset, Quality
from harness import statistics
from harness.cli import main
from harness.errors import BadConfig
from harness.results import files
from harness.run import correlate, entries, item_statistics
from harness.run.correlate import Judged
from harness.run.item_statistics import Request, restated
from harness.run.settings import additional_statistics, plain_name
from harness.statistics.estimates import STATISTICS
from harness.statistics.panel import LEVELS
from harness.statistics.williams import FORMULAS
from tests.conftest import make_card, make_item
from tests.suite_run import SuiteRun


def rows(capsys: pytest.CaptureFixture[str], suite: SuiteRun, *flags: str) -> list[dict[str, object]]:
    assert main(["report", "--out", str(suite.out), *flags, "--json"]) == 0
    return [json.loads(line) for line in capsys.readouterr().out.splitlines()]


def test_every_statistic_and_level_is_printed_as_json(
        suite_run: SuiteRun, capsys: pytest.CaptureFixture[str]) -> None:
    assert tuple(STATISTICS) == statistics.STATISTIC_NAMES
    assert tuple(LEVELS) == statistics.LEVEL_NAMES
    assert {*FORMULAS, "williams-contexts", "bootstrap", "perm-both"} == set(statistics.TEST_NAMES)
    assert plain_name("kendall-b") == "kendall"
    for name in (*statistics.STATISTIC_NAMES, "kendall-b"):
        for level in statistics.LEVEL_NAMES:
            printed = rows(capsys, suite_run, "--dataset", "jsalt", "--statistic", name, "--level", level)
            full = plain_name(name) + ("" if level == "items" else f" {level}")
            assert {row["statistic"] for row in printed} == {full}
            assert all({"dataset", "quality", "metric", "column", "n", "value", "p"} <= row.keys() for row in printed)
            assert all(row["value"] is not None or row["note"] for row in printed)


def test_the_item_scores_give_the_correlations_of_the_run(suite_run: SuiteRun) -> None:
    """To the last digit; NaN where the run has NaN, on the same rows."""
    for name in ("spearman", "pearson", "kendall"):
        again = restated(suite_run.results, Request(name), "", lambda dataset, quality: True).correlations
        key = {(row.dataset, row.quality, row.metric, row.column): row for row in again}
        own = [row for row in suite_run.results.correlations if row.statistic == name]
        assert len(own) == len(again)
        for row in own:
            other = key[row.dataset, row.quality, row.metric, row.column]
            assert (other.value, other.p, other.low) == pytest.approx((row.value, row.p, row.low), abs=0, nan_ok=True)
            assert (other.n, other.note) == (row.n, row.note)


def test_draws_give_an_interval_to_what_has_no_formula(suite_run: SuiteRun, capsys: pytest.CaptureFixture[str]) -> None:
    flags = ("--dataset", "jsalt", "--statistic", "kendall-c")
    assert {row["low"] for row in rows(capsys, suite_run, *flags)} == {None}
    known = [row for row in rows(capsys, suite_run, *flags, "--draws", "40") if row["value"] is not None]
    assert known
    assert all(float(str(row["low"])) <= float(str(row["value"])) <= float(str(row["high"])) for row in known)


def test_comparisons_by_other_tests(suite_run: SuiteRun, capsys: pytest.CaptureFixture[str]) -> None:
    """Steiger and Meng are near Williams; the bootstrap compares by any statistic at any level."""
    flags = ("--dataset", "jsalt", "--compare")
    by_test = {test: [row for row in rows(capsys, suite_run, *flags, "--test", test) if row["test"] != "pooled"]
               for test in ("williams", "steiger", "meng")}
    for test in ("steiger", "meng"):
        assert {row["test"] for row in by_test[test]} == {test}
        np.testing.assert_allclose(*([row["p"] for row in by_test[name]] for name in (test, "williams")), atol=0.05)
    drawn = rows(capsys, suite_run, *flags, "--statistic", "partial", "--level", "within-contexts",
                 "--test", "bootstrap", "--draws", "30")
    assert {(row["statistic"], row["test"], row["value"]) for row in drawn} == {
        ("partial within-contexts", "bootstrap", None)}
    swapped = rows(capsys, suite_run, *flags, "--statistic", "pairwise-accuracy", "--level", "over-systems",
                   "--test", "perm-both", "--draws", "30")
    assert {0 < row["p"] <= 1 for row in swapped} == {True}
    assert main(["report", "--out", str(suite_run.out), *flags, "--statistic", "kendall-c", "--test", "meng"]) == 2
    assert "--test bootstrap" in capsys.readouterr().err


def test_a_column_of_its_own_for_a_quality_counts_there() -> None:
    from harness.results.rows import ItemScores

    points = ItemScores("toy", tuple("abcd"), ("",) * 4, np.arange(4), np.arange(4), {"fluent": np.arange(4.0)},
                        {("m", "x"): np.arange(4.0), ("m", "x@fluency"): -np.arange(4.0)})
    (target,) = correlate.targets(points, [Judged(Quality("fluent", dimension="fluency"), (), np.arange(4.0))])
    assert target.names == (("m", "x"),)
    (row,) = item_statistics.correlations(target, Request())
    assert row.value == -1
    assert math.isclose(row.p, 0)


def test_turns_of_a_conversation_are_swapped_together() -> None:
    """Two conversations of three turns each: half of all swaps of whole ones are as extreme, of turns 1 of 32."""
    items = [make_item(f"{name}{turn}", f"{name} {turn}", context=tuple(f"{name} {part}" for part in range(turn)))
             for turn in (5, 1, 3) for name in "ab"]
    dataset = Dataset(make_card(size=6), tuple(items), (), "imported")
    points, human = correlate.item_scores(dataset, (), {}), np.arange(6.0)
    assert (points.contexts.tolist(), entries.dataset_entry(dataset, ()).contexts) == ([0, 1, 2, 3, 4, 5], 2)
    (target,) = correlate.targets(dataclasses.replace(points, scores={("m", "x"): human, ("m", "y"): -human}),
                                  [Judged(Quality("fluent"), (), human)])
    assert target.units.tolist() == [0, 1, 0, 1, 0, 1]
    for statistic in ("spearman", "kendall"):
        (row,) = item_statistics.comparisons(target, Request(statistic, draws=400), "perm-both")
        assert 0.4 < row.p < 0.6
    assert all(math.isnan(row.value) for row in item_statistics.correlations(target, Request(level="within-contexts")))


def test_a_run_keeps_requested_statistics_after_its_own(tmp_path: Path) -> None:
    flags = ["run", "--metric", "length", "--dataset", "jsalt", "--draws", "0", "--out", str(tmp_path)]
    assert main([*flags, "--statistic", "kendall-b", "--statistic", "partial", "--level", "items", "--level",
                 "over-systems"]) == 0
    results = files.read(tmp_path / "report")
    assert [row.statistic for row in results.correlations] == [
        "spearman", "pearson", "kendall", "kendall over-systems", "partial", "partial over-systems"]
    assert results.run.options["statistics"] == ["kendall over-systems", "partial", "partial over-systems"]
    with pytest.raises(BadConfig, match="did you mean 'partial'"):
        additional_statistics(["partiall"], [])
