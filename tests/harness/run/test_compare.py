"""Contests, reliability and rank intervals of a run: equal to the tests they name, the same whatever the order."""

import dataclasses
import itertools
import math
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from benchmarks.dataset import Quality
from harness.cli import main
from harness.results.rows import Comparison
from harness.run import compare
from harness.run.cache import Cache
from harness.run.correlate import Judged, TargetData
from harness.run.plan import Draws
from harness.statistics import reliability, significance, williams
from harness.statistics.panel import codes
from tests.suite_run import SuiteRun


def cell(rng: np.random.Generator, columns: tuple[str, ...] = ("good", "fair", "poor"), n: int = 120) -> TargetData:
    """Three raters of a latent quality, and columns that follow it more and less closely."""
    truth = rng.normal(size=n)
    votes = tuple(tuple(np.clip(np.rint(3 + value + rng.normal(0, 0.7, 3)), 1, 5)) for value in truth)
    noise = {"good": 0.4, "fair": 1.2, "poor": 3.0, "same": 0.4}
    scores = {name: truth + np.random.default_rng(ord(name[0])).normal(0, noise[name], n) for name in columns}
    return TargetData("toy", Judged(Quality("overall", 1, 5), votes, np.array([np.mean(one) for one in votes])),
                tuple((name, name) for name in columns), np.array(list(scores.values())),
                codes("ab" * (n // 2)), codes(number // 4 for number in range(n)))


def measured(given: TargetData, tmp_path: Path, **more: int) -> compare.TargetResults:
    return compare.on_target(given, Draws(seed=1, **more), Cache(tmp_path))


def rows(found: compare.TargetResults) -> list[Comparison]:
    return [row for own in found.comparisons for row in own]


def test_comparisons_are_williams_of_every_pair(rng: np.random.Generator, tmp_path: Path) -> None:
    given = cell(rng)
    found = rows(measured(given, tmp_path))
    assert len(found) == 3 * len(compare.STATISTICS)
    human = given.judged.means
    r = {name: stats.spearmanr(human, row).statistic for (name, _), row in zip(given.names, given.scores, strict=True)}
    for row in (row for row in found if row.statistic == "spearman"):
        x, y = (given.scores[[name for name, _ in given.names].index(name)] for name in (row.better, row.worse))
        t, p = williams.williams(r[row.better], r[row.worse], stats.spearmanr(x, y).statistic, len(human))
        assert (row.test, row.n) == ("williams", 120)
        assert (row.delta, row.value, row.p) == pytest.approx((r[row.better] - r[row.worse], float(t), float(p)))
        assert row.delta > 0
    spearman = [row for row in found if row.statistic == "spearman"]
    assert [row.holm for row in spearman] == pytest.approx(list(significance.holm([row.p for row in spearman])))
    assert [row.bh for row in spearman] == pytest.approx(
        list(stats.false_discovery_control([row.p for row in spearman])))


def test_identical_columns_tie(rng: np.random.Generator, tmp_path: Path) -> None:
    given = cell(rng, ("good", "poor"))
    twice = dataclasses.replace(given, names=(*given.names, ("copy", "copy")),
                                scores=np.vstack([given.scores, given.scores[:1]]))
    tie = [row for row in rows(measured(twice, tmp_path, permutations=50))
           if {row.better, row.worse} == {"good", "copy"}]
    assert {(row.statistic, row.test) for row in tie} == {
        ("spearman", "williams"), ("pearson", "williams"), ("spearman", "perm-both")}
    assert {(row.delta, row.p) for row in tie} == {(0.0, 1.0)}


def test_a_constant_column_is_in_no_contest(rng: np.random.Generator, tmp_path: Path) -> None:
    given = cell(rng, ("good", "poor"))
    flat = dataclasses.replace(given, names=(*given.names, ("flat", "flat")),
                               scores=np.vstack([given.scores, np.ones(120)]))
    found = measured(flat, tmp_path)
    assert all("flat" not in (row.better, row.worse) for row in rows(found))
    assert {row.note for row in found.correlations if row.column == "flat"} == {"every score is the same"}


def test_the_order_of_columns_changes_no_number(rng: np.random.Generator, tmp_path: Path) -> None:
    given = cell(rng)
    seen = set()
    for number, order in enumerate(itertools.permutations(range(3))):
        moved = dataclasses.replace(given, names=tuple(given.names[place] for place in order),
                                    scores=given.scores[list(order)])
        found = rows(measured(moved, tmp_path / str(number), permutations=200))
        seen.add(tuple(sorted((row.statistic, row.test, row.better, row.worse, round(row.delta, 12), row.p if
                               row.test == "perm-both" else round(row.p, 12)) for row in found)))
    assert len(seen) == 1


def test_correlations_are_corrected_by_the_reliability_of_the_votes(rng: np.random.Generator, tmp_path: Path) -> None:
    given = cell(rng)
    found = measured(given, tmp_path)
    known = {row.method: row for row in found.reliability}
    assert known["alpha-interval"].value == reliability.alpha(reliability.votes(given.judged.votes), "interval").value
    halves = known["split-half"].value
    assert 0.5 < known["leave-one-out"].value < halves < 1
    for row in found.correlations:
        assert row.corrected == pytest.approx(row.value / math.sqrt(halves))


def test_one_vote_each_has_no_ceiling_and_says_why(rng: np.random.Generator, tmp_path: Path) -> None:
    given = cell(rng)
    single = dataclasses.replace(given, judged=dataclasses.replace(
        given.judged, votes=tuple(votes[:1] for votes in given.judged.votes)))
    found = measured(single, tmp_path)
    assert all(math.isnan(row.value) and row.note for row in found.reliability)
    assert all(math.isnan(row.corrected) for row in found.correlations)


def test_labels_name_the_metric_where_columns_share_a_name() -> None:
    assert compare.labels([("a", "x"), ("b", "x"), ("b", "y")]) == ["a/x", "b/x", "y"]


def test_the_cache_keeps_and_never_takes_what_is_damaged(tmp_path: Path) -> None:
    cache, made = Cache(tmp_path), []

    def make() -> list[float]:
        made.append(1)
        return [1.5, math.nan]

    assert repr(cache.get("x", ["k"], make)) == repr(cache.get("x", ["k"], make)) == "[1.5, nan]"
    assert len(made) == 1
    cache.get("x", ["other"], make)
    (path, _) = sorted(tmp_path.iterdir())
    for path in tmp_path.iterdir():
        path.write_bytes(path.read_bytes()[:-2])
    assert repr(cache.get("x", ["k"], make)) == "[1.5, nan]"
    assert len(made) == 3


def test_the_cache_draws_new_rows_alone_and_never_takes_damaged_ones(tmp_path: Path) -> None:
    cache, made = Cache(tmp_path), []

    def rows(*names: str) -> list[list[float]]:
        def make(places: list[int]) -> np.ndarray:
            made.append([names[place] for place in places])
            return np.array([[float(ord(names[place])), math.nan] for place in places])

        return cache.rows("x", ["k"], names, make).tolist()

    assert repr(rows("b", "a")) == repr(rows("b", "a")) == "[[98.0, nan], [97.0, nan]]"
    assert repr(rows("a", "c")) == "[[97.0, nan], [99.0, nan]]"
    (path,) = tmp_path.iterdir()
    path.write_bytes(path.read_bytes()[:-8])
    assert repr(rows("a", "c")) == "[[97.0, nan], [99.0, nan]]"
    assert made == [["b", "a"], ["c"], ["a", "c"]]


def test_ranks_have_intervals_that_hold_them(suite_run: SuiteRun) -> None:
    rows = [row for row in suite_run.results.ranking if row.statistic == "spearman"]
    ranked = [row for row in rows if row.rank]
    assert ranked
    assert all(1 <= row.low <= row.high <= len(ranked) for row in ranked)
    assert all(math.isnan(row.low) for row in rows if not row.rank)
    assert all(bool(row.letters) is bool(row.rank) for row in rows)
    assert all("a" in row.letters for row in rows if row.rank == 1)


@pytest.mark.parametrize(("argv", "parts"), [
    (["--compare"], ("jsalt, appropriateness", "Holm", "length")),
    (["--compare", "--quality", "fluency", "--column", "random"], (
        "fed-turn, Fluent", "dev, sample, fluency (fed-turn, Fluent): ", " leads ", "established")),
    (["--compare", "--quality", "overall"], (
        "dev, sample, overall (3 qualities of 3 datasets): distinct-2 leads length by ",
        "established; it reaches")),
    (["--compare", "--every-pair"], ("PERM-BOTH over contexts (50 draws, seed 0)", "p, Williams", "random")),
    (["--compare", "--column", "random", "--statistic", "pearson"], ("Pearson", "random")),
    (["--clusters"], ("Cluster", "leave-one-out", "same letter", "items share", "by row")),
    (["--clusters", "wmt", "--quality", "Overall", "--draws", "100"], ("100 draws", "one-sided, 5 %", "Cluster")),
    (["--clusters", "--test", "williams"], ("swaps contexts whole",)),
    (["--clusters", "--dataset", "fed-turn", "--quality", "overall"], ("fed-turn, Overall",)),
])
def test_comparisons_are_printed(suite_run: SuiteRun, capsys: pytest.CaptureFixture[str], argv: list[str],
                              parts: tuple[str, ...]) -> None:
    assert main(["report", "--out", str(suite_run.out), *argv]) == 0
    printed = capsys.readouterr().out
    assert all(part in printed for part in parts)
    assert "bundled sample" in printed


def test_what_means_nothing_is_refused_and_an_unknown_name_answered_with_the_nearest(
        suite_run: SuiteRun, capsys: pytest.CaptureFixture[str]) -> None:
    for argv, part in ((["--dataset", "jsalt"], ""), (["--clusters", "--json"], ""),
                       (["--compare", "--dataset", "jsald"], "did you mean"),
                       (["--compare", "--quality", "appropriate"], "did you mean"),
                       (["--compare", "--column", "lenght"], "did you mean")):
        assert main(["report", "--out", str(suite_run.out), *argv]) == 2
        assert part in capsys.readouterr().err
