"""`harness report --statistic --level --test`: any statistic from the item scores of a run, without metrics."""

import dataclasses
import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.dataset import Dataset, Quality
from harness import statistics
from harness.errors import BadConfig
from harness.results import files
from harness.results.rows import Correlation, ItemScores
from harness.run import correlate, entries, item_statistics
from harness.run.correlate import Judged
from harness.run.item_statistics import Request, with_statistic
from harness.run.settings import additional_statistics, plain_name
from harness.statistics.estimates import STATISTICS
from harness.statistics.panel import LEVELS
from harness.statistics.williams import FORMULAS
from tests.conftest import Invoke, make_card, make_dataset, make_item
from tests.suite_run import SuiteRun


def rows(invoke: Invoke, suite: SuiteRun, *flags: str) -> list[dict[str, Any]]:
    printed = invoke("report", "--out", suite.out, "--dataset", "jsalt", *flags, "--json").out
    return [json.loads(line) for line in printed.splitlines()]


def test_a_statistic_at_a_level_is_printed_as_json(suite_run: SuiteRun, invoke: Invoke) -> None:
    assert tuple(STATISTICS) == statistics.STATISTIC_NAMES
    assert tuple(LEVELS) == statistics.LEVEL_NAMES
    assert {*FORMULAS, "williams-contexts", "bootstrap", "perm-both", "perm-both-scores"} == set(statistics.TEST_NAMES)
    assert plain_name("kendall-b") == "kendall"
    for name, level in (("kendall-b", "items"), ("pearson", "within-contexts"), ("roc-auc", "over-systems")):
        printed = rows(invoke, suite_run, "--statistic", name, "--level", level)
        assert {row["statistic"] for row in printed} == {plain_name(name) + ("" if level == "items" else f" {level}")}
        assert all({"dataset", "quality", "metric", "column", "n", "value", "p"} <= row.keys() for row in printed)
        assert all(row["value"] is not None or row["note"] for row in printed)


def test_item_scores_reproduce_the_correlations_of_the_run(suite_run: SuiteRun) -> None:
    """Correlations are equal to the last digit, on the same rows, with NaN where the run has NaN."""
    def numbers(rows: Iterable[Correlation]) -> list[str]:
        return sorted(repr((row.dataset, row.quality, row.metric, row.column, row.value, row.p, row.low, row.n,
                            row.note)) for row in rows)

    for name in ("spearman", "pearson", "kendall"):
        restored = with_statistic(suite_run.results, Request(name), "", lambda dataset, quality: True).correlations
        assert numbers(restored) == numbers(row for row in suite_run.results.correlations if row.statistic == name)


def test_the_bootstrap_gives_intervals_without_a_formula(suite_run: SuiteRun, invoke: Invoke) -> None:
    flags = ("--statistic", "kendall-c")
    assert {row["low"] for row in rows(invoke, suite_run, *flags)} == {None}
    known = [row for row in rows(invoke, suite_run, *flags, "--draws", "40") if row["value"] is not None]
    assert known
    assert all(row["low"] <= row["value"] <= row["high"] for row in known)


def test_comparisons_by_other_tests(suite_run: SuiteRun, invoke: Invoke) -> None:
    """Steiger's and Meng's tests are close to Williams'; the bootstrap compares by any statistic at any level."""
    by_test = {test: [row for row in rows(invoke, suite_run, "--compare", "--test", test) if row["test"] != "pooled"]
               for test in ("williams", "steiger", "meng")}
    for test in ("steiger", "meng"):
        assert {row["test"] for row in by_test[test]} == {test}
        np.testing.assert_allclose(*([row["p"] for row in by_test[name]] for name in (test, "williams")), atol=0.05)
    drawn, swapped = (rows(invoke, suite_run, "--compare", "--draws", "30", *flags.split()) for flags in (
        "--statistic partial --level within-contexts --test bootstrap",
        "--statistic pairwise-accuracy --level over-systems --test perm-both"))
    assert {(row["statistic"], row["test"], row["value"]) for row in drawn} == {
        ("partial within-contexts", "bootstrap", None)}
    assert {0 < row["p"] <= 1 for row in swapped} == {True}
    assert "--test bootstrap" in invoke("report", "--out", suite_run.out, "--compare", "--statistic", "kendall-c",
                                        "--test", "meng", status=2).err


def test_no_test_compares_metrics_fitted_on_the_ratings(suite_run: SuiteRun) -> None:
    target = next(iter(item_statistics._targets(suite_run.results, lambda dataset, quality: dataset == "jsalt")))
    fitted = target.names[0][0]
    for test in ("perm-both", "perm-both-scores", "williams", "williams-contexts", "bootstrap"):
        made = item_statistics.comparisons(target, Request("spearman", draws=20), test, {fitted})
        compared = {target.names[column][0] for column in np.concatenate([made.better, made.worse]).tolist()}
        assert compared, test
        assert fitted not in compared


def test_a_column_for_one_quality_counts_there() -> None:
    points = ItemScores("toy", tuple("abcd"), ("",) * 4, np.arange(4), np.arange(4), {"fluent": np.arange(4.0)},
                        {("m", "x"): np.arange(4.0), ("m", "x@fluency"): -np.arange(4.0)})
    people = Judged(Quality("fluent", dimension="fluency"), np.empty((4, 0)), np.arange(4.0))
    (target,) = correlate.targets(points, [people])
    assert target.names == (("m", "x"),)
    (row,) = item_statistics.correlations(target, Request())
    assert (row.value, row.p) == (-1, pytest.approx(2 / 24))


def test_turns_of_a_conversation_are_swapped_together() -> None:
    """With two conversations of three turns, p is 1/2 if conversations are swapped, 1/32 if turns are swapped."""
    items = [make_item(f"{name}{turn}", f"{name} {turn}", context=tuple(f"{name} {part}" for part in range(turn)))
             for turn in (5, 1, 3) for name in "ab"]
    dataset = Dataset(make_card(size=6), tuple(items), (), "imported")
    points, human = correlate.item_scores(dataset, (), {}), np.arange(6.0)
    assert (points.contexts.tolist(), entries.dataset_entry(dataset, ()).contexts) == ([0, 1, 2, 3, 4, 5], 2)
    (target,) = correlate.targets(dataclasses.replace(points, scores={("m", "x"): human, ("m", "y"): -human}),
                                  [Judged(Quality("fluent"), np.empty((len(human), 0)), human)])
    assert target.units.tolist() == [0, 1, 0, 1, 0, 1]
    for statistic in ("spearman", "kendall"):
        (row,) = item_statistics.comparisons(target, Request(statistic, draws=400), "perm-both")
        assert 0.4 < row.p < 0.6
    assert all(math.isnan(row.value) for row in item_statistics.correlations(target, Request(level="within-contexts")))


def test_a_run_keeps_requested_statistics_after_the_default(tmp_path: Path, invoke: Invoke) -> None:
    invoke("run", "--metric", "length", "--dataset", "jsalt", "--draws", "0", "--out", tmp_path, "--statistic",
           "kendall-b", "--statistic", "partial", "--level", "items", "--level", "over-systems")
    results = files.read(tmp_path / "report")
    added = ["kendall over-systems", "partial", "partial over-systems"]
    assert [row.statistic for row in results.correlations] == ["spearman", "pearson", "kendall", *added]
    assert results.run.options["statistics"] == added
    with pytest.raises(BadConfig, match="'partial'"):
        additional_statistics(["partiall"], [])


def test_wmt25_ranks_by_the_mean_of_two_accuracies(suite_run: SuiteRun, invoke: Invoke) -> None:
    printed = invoke("report", "--out", suite_run.out, "--dataset", "persona-usr", "--rule", "wmt25", "--json").out
    columns = [json.loads(line) for line in printed.splitlines()]
    assert [row["column"] for row in columns[-2:]] == ["constant", "random numbers"]
    ranked = sorted((row for row in columns if row["cluster"]), key=lambda row: -row["value"])
    assert [row["cluster"] for row in ranked] == sorted(row["cluster"] for row in ranked)
    assert {row["column"]: row["value"] for row in ranked} == pytest.approx(
        {row["column"]: (row["soft"] + row["ties"]) / 2 for row in ranked})
    table = invoke("report", "--out", suite_run.out, "--dataset", "persona-usr", "--rule", "wmt25").out
    assert ranked[0]["column"] in table.splitlines()[5]
    invoke("report", "--out", suite_run.out, "--rule", "wmt25", "--statistic", "kendall", status=2)
    both = invoke("report", "--out", suite_run.out, "--rule", "wmt25", "--json").out.splitlines()
    assert {json.loads(line)["split"] for line in both} == {"dev", "test"}


def test_wmt25_needs_systems_or_responses_to_the_same_context(tmp_path: Path, invoke: Invoke) -> None:
    (tmp_path / "tea.csv").write_text("context,response,overall\n" + "".join(
        f"cup {number},{'tea ' * number},{1 + number % 5}\n" for number in range(8)), encoding="utf-8")
    invoke("run", "--dataset", tmp_path / "tea.csv", "--metric", "length", "--out", tmp_path / "out")
    invoke("report", "--out", tmp_path / "out", "--rule", "wmt25", status=2)


def test_accuracies_are_shown_with_chance_levels(suite_run: SuiteRun, invoke: Invoke) -> None:
    columns = {row["column"]: row for row in rows(invoke, suite_run, "--statistic", "pairwise-accuracy")}
    (points,) = (points for points in suite_run.results.points if points.dataset == "jsalt")
    (human,) = points.human.values()
    rated = human[np.isfinite(human)]
    tied = np.mean((rated[:, None] == rated)[np.triu_indices(len(rated), 1)])
    assert columns["constant"]["value"] == pytest.approx(tied)
    assert 0.3 < columns["random numbers"]["value"] < 0.7
    assert "constant" not in {row["column"] for row in rows(invoke, suite_run, "--statistic", "kendall-c")}
    table = invoke("report", "--out", suite_run.out, "--dataset", "jsalt", "--statistic", "pairwise-accuracy").out
    (line,) = (line for line in table.splitlines() if line.startswith("random numbers"))
    assert line.split()[-1] == "–"


@pytest.mark.parametrize(("contexts", "replies", "numbers", "conversations"), [
    ([("hi",), ("hi", "one", "a"), ("hi",), ("hi", "two", "b"), ("tea?",), ("tea?",), ("tea?", "yes", "c")],
     ["one", "x", "two", "y", "yes", "no", "z"], [0, 1, 0, 2, 3, 3, 4], [0, 1, 0, 2, 3, 3, 3]),
    ([("hi",), ("hi", "hello", "a"), ("hi", "hello", "a", "x", "c"), ("hi",), ("hi", "hello", "b")],
     ["hello", "x", "y", "hello", "z"], [0, 1, 2, 0, 3], [0, 1, 1, 0, 2]),
    ([(), (), (), ("hi", "you?"), ("hi", "you?", "yes", "so?")],
     ["hi", "tea", "tea", "yes", "x"], [0, 1, 2, 3, 4], [0, 1, 2, 0, 0]),
], ids=["shared opening", "shared exchange", "without context"])
def test_a_shared_beginning_is_no_conversation(contexts: list[tuple[str, ...]], replies: list[str], numbers: list[int],
                                               conversations: list[int]) -> None:
    """A context with two replies is continued once; items without context are independent unless one is continued."""
    items = tuple(make_item(str(number), reply, context=context)
                  for number, (context, reply) in enumerate(zip(contexts, replies, strict=True)))
    assert correlate.conversations(items).tolist() == conversations
    points = correlate.item_scores(Dataset(make_card(size=len(items)), items, (), "imported"), (), {})
    assert points.contexts.tolist() == numbers


def test_equal_means_of_votes_tie_whatever_their_order() -> None:
    dataset = make_dataset(["a", "b", "c"], [(0.1, 0.2, 0.3), (0.3, 0.2, 0.1), (0.2,)])
    (human,) = correlate.judged(dataset, dataset.card.qualities)
    assert human.means.tolist() == [0.2, 0.2, 0.2]
