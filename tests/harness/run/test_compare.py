"""Comparisons, reliability and rank intervals of a run equal the tests that they name."""

import math
import re
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from benchmarks.dataset import Quality
from harness.cli import main
from harness.results.cache import Cache
from harness.results.files import read
from harness.run import compare, correlate
from harness.run.correlate import Judged, TargetData
from harness.run.plan import Draws
from harness.statistics import reliability, significance, williams
from harness.statistics.panel import codes
from tests.suite_run import SuiteRun


def cell(rng: np.random.Generator) -> TargetData:
    """Three raters of a latent quality, and columns that follow it more and less closely."""
    n, noise = 120, {"good": 0.4, "fair": 1.2, "poor": 3.0}
    truth = rng.normal(size=n)
    votes = tuple(tuple(np.clip(np.rint(3 + value + rng.normal(0, 0.7, 3)), 1, 5)) for value in truth)
    scores = {name: truth + np.random.default_rng(ord(name[0])).normal(0, noise[name], n) for name in noise}
    return TargetData("toy", Judged(Quality("overall", 1, 5), votes, np.array([np.mean(one) for one in votes])),
                tuple((name, name) for name in noise), np.array(list(scores.values())),
                codes("ab" * (n // 2)), codes(number // 4 for number in range(n)))


def test_comparisons_are_williams_of_every_pair(rng: np.random.Generator, tmp_path: Path) -> None:
    given = cell(rng)
    found = [row for own in compare.comparisons(given, Draws(seed=1), Cache(tmp_path)) for row in own]
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


def test_correlations_are_corrected_by_the_reliability_of_the_votes(rng: np.random.Generator, tmp_path: Path) -> None:
    given = cell(rng)
    agreement = compare.reliability(given, Draws(seed=1), Cache(tmp_path))
    known = {row.method: row for row in agreement}
    assert known["alpha-interval"].value == reliability.alpha(reliability.votes(given.judged.votes), "interval").value
    halves = known["split-half"].value
    assert 0.5 < known["leave-one-out"].value < halves < 1
    for row in correlate.correlations(given, reliability=agreement):
        assert row.corrected == pytest.approx(row.value / math.sqrt(halves))


def test_labels_name_the_metric_if_columns_share_a_name() -> None:
    assert compare.labels([("a", "x"), ("b", "x"), ("b", "y")]) == ["a/x", "b/x", "y"]


def test_the_cache_computes_only_missing_values_and_rows(tmp_path: Path) -> None:
    cache, made = Cache(tmp_path), list[str]()

    def rows(*names: str) -> str:
        def make(indices: list[int]) -> np.ndarray:
            made.extend(names[index] for index in indices)
            return np.array([[float(ord(names[index])), math.nan] for index in indices])

        return repr(cache.rows("x", ["k"], names, make).tolist())

    for key in ("k", "k", "other"):
        assert repr(cache.get("x", key, lambda: made.append("value") or [1.5, math.nan])) == "[1.5, nan]"
    assert rows("b", "a") == rows("b", "a") == "[[98.0, nan], [97.0, nan]]"
    assert rows("a", "c") == "[[97.0, nan], [99.0, nan]]"
    for path in tmp_path.glob("*.rows"):
        path.write_bytes(path.read_bytes()[:-8])
    assert rows("a", "c") == "[[97.0, nan], [99.0, nan]]"
    assert made == ["value", "value", *"ba", *"c", *"ac"]


def test_few_contexts_tell_no_metrics_apart(tmp_path: Path) -> None:
    argv = ["run", "--dataset", "jsalt", "--metric", "length", "--metric", "distinct", "--out", str(tmp_path)]
    for limit, lettered in (("20", False), ("24", True)):  # five contexts of four responses, then six
        assert main([*argv, "--limit", limit]) == 0
        rows = [row for row in read(tmp_path).ranking if row.statistic == "spearman" and row.rank]
        assert rows
        assert all(math.isfinite(row.low) and bool(row.letters) is lettered for row in rows)


@pytest.mark.parametrize(("argv", "parts"), [
    (["--compare"], ("jsalt, appropriateness", "Holm", "length")),
    (["--compare", "--quality", "fluency", "--metric", "random"], (
        "fed-turn, Fluent", "dev, sample, fluency (fed-turn, Fluent): ", " leads ", "established")),
    (["--compare", "--quality", "overall"], (
        "dev, sample, overall (3 qualities of 3 datasets): length leads rank-average[inputs=length+distinct] by ",
        "established; it reaches")),
    (["--compare"], ("PERM-BOTH over contexts (50 draws, seed 0)", "p, Williams", "random")),
    (["--compare", "--metric", "random", "--statistic", "pearson"], ("Pearson", "random")),
    (["--clusters"], ("Cluster", "leave-one-out", "same letter", "items share", "by row")),
    (["--clusters", "wmt", "--quality", "Overall", "--draws", "100"], ("100 draws", "one-sided, 5 %", "Cluster")),
    (["--clusters", "--test", "williams"], ("too optimistic",)),
    (["--clusters", "--dataset", "fed-turn", "--quality", "overall"], ("fed-turn, Overall",)),
])
def test_comparisons_are_printed(suite_run: SuiteRun, capsys: pytest.CaptureFixture[str], argv: list[str],
                              parts: tuple[str, ...]) -> None:
    assert main(["report", "--out", str(suite_run.out), *argv]) == 0
    printed = capsys.readouterr().out
    assert all(part in printed for part in parts)
    assert "bundled sample" in printed
    if "same letter" in parts:
        assert re.search(r"0\.\d{3} +[a-z]+$", printed, re.MULTILINE), "corrected for the raters' noise"


def test_the_test_is_named(suite_run: SuiteRun, capsys: pytest.CaptureFixture[str]) -> None:
    for argv, part in (
            (["--clusters", "--statistic", "kendall", "--test", "bootstrap", "--draws", "30"],
             "paired bootstrap over contexts"),
            (["--compare", "--test", "bootstrap", "--draws", "30"],
             "the bootstrap is too optimistic.\nWith 30 draws no p by Holm over all pairs is below 0.97"),
            (["--compare"], "no p is below 0.0078")):
        assert main(["report", "--out", str(suite_run.out), "--dataset", "jsalt", *argv]) == 0
        assert part in capsys.readouterr().out


def test_wrong_flags_are_refused_with_the_nearest_name(suite_run: SuiteRun, capsys: pytest.CaptureFixture[str]) -> None:
    for argv, part in ((["--dataset", "jsalt"], ""), (["--clusters", "--json"], ""),
                       (["--compare", "--dataset", "jsald"], "did you mean"),
                       (["--compare", "--quality", "appropriate"], "did you mean"),
                       (["--compare", "--metric", "lenght"], "did you mean")):
        assert main(["report", "--out", str(suite_run.out), *argv]) == 2
        assert part in capsys.readouterr().err
