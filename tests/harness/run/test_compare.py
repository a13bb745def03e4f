"""Comparisons, reliability and rank intervals of a run equal the tests that they name."""

import json
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from benchmarks.dataset import Quality
from harness.commands._comparisons import Selection, cluster_tables, comparison_tables, lead_sentences
from harness.results.cache import Cache
from harness.results.files import read, write
from harness.results.rows import Results
from harness.run import compare, correlate
from harness.run.correlate import Judged, TargetData
from harness.statistics import reliability, significance
from harness.statistics.panel import codes, people
from harness.statistics.permutation import all_pairs_by_permutation
from harness.statistics.pooled import TOO_FEW
from tests.conftest import Invoke
from tests.suite_run import SuiteRun


def rated(rng: np.random.Generator) -> TargetData:
    """Return three raters of a latent quality, and columns that follow it more or less closely."""
    n, noise = 120, {"good": 0.4, "fair": 1.2, "poor": 3.0}
    truth = rng.normal(size=n)
    votes = tuple(tuple(np.clip(np.rint(3 + value + rng.normal(0, 0.7, 3)), 1, 5)) for value in truth)
    scores = {name: truth + np.random.default_rng(ord(name[0])).normal(0, noise[name], n) for name in noise}
    return TargetData("toy", Judged(Quality("overall", 1, 5), np.array(votes), np.mean(votes, axis=1)),
                      tuple((name, name) for name in noise), np.array(list(scores.values())),
                      codes("ab" * (n // 2)), codes(number // 4 for number in range(n)))


def test_comparisons_are_perm_both_of_every_pair(rng: np.random.Generator) -> None:
    target = rated(rng)
    rows = list(compare.comparisons(target, compare.contributions(target, 1, 4000)))
    assert len(rows) == 3
    human, scores = target.judged.means, dict(zip(("good", "fair", "poor"), target.scores, strict=True))
    r = {name: stats.spearmanr(human, column).statistic for name, column in scores.items()}
    for row in rows:
        pair = np.array([scores[row.better], scores[row.worse]])
        tests = all_pairs_by_permutation(people(stats.rankdata(human), target.units), stats.rankdata(pair, axis=1),
                                         "pearson", 4000, rng=rng)
        assert (row.test, row.n, row.p) == ("perm-both", 120, pytest.approx(tests.p[0, 1], rel=0.3, abs=0.01))
        assert row.delta == pytest.approx(r[row.better] - r[row.worse])
        assert row.delta > 0
    p_values = [row.p if row.p > 10 / 4001 else min(row.p, 2 * stats.norm.sf(row.value)) for row in rows]
    assert [row.holm for row in rows] == pytest.approx(list(significance.holm(p_values)))
    assert [row.bh for row in rows] == pytest.approx(list(stats.false_discovery_control(p_values)))
    fitted = compare.comparisons(target, compare.contributions(target, 1, 100, ["good"]))
    assert {(row.better, row.worse) for row in fitted} == {("fair", "poor")}


def test_correlations_are_corrected_for_rater_unreliability(rng: np.random.Generator, tmp_path: Path) -> None:
    target = rated(rng)
    rows = compare.reliability(target, 1, Cache(tmp_path))
    value = {row.method: row.value for row in rows}
    assert value["alpha-interval"] == reliability.alpha(target.judged.votes, "interval").value
    assert 0.5 < value["leave-one-out"] < value["split-half"] < 1
    for row in correlate.correlations(target, reliability=rows):
        assert row.corrected == pytest.approx(row.value / math.sqrt(value["split-half"]))
    others = [("roc-auc", "items"), ("pairwise-accuracy", "items"), ("spearman", "over-systems"),
              ("spearman", "within-contexts")]
    assert all(math.isnan(row.corrected) for row in correlate.correlations(target, others, rows))


def test_reliability_depends_on_the_votes_and_not_on_the_name(rng: np.random.Generator, tmp_path: Path) -> None:
    target = rated(rng)
    values = {tuple(row.value for row in compare.reliability(
        replace(target, dataset=name), 0, Cache(tmp_path), source))
        for name, source in (("a", "votes"), ("b", "votes"), ("a", "others"))}
    assert len(values) == 2


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


def test_contexts_without_a_rating_do_not_count_in_a_run(tmp_path: Path, invoke: Invoke) -> None:
    """Five contexts have four rated responses each, and 40 have an unrated one."""
    rows = [f"Question {index // 4 if index < 20 else index}?,{'word ' * (1 + index % 7)},"
            f"{1 + index % 5 if index < 20 else ''}" for index in range(60)]
    table = tmp_path / "ratings.csv"
    table.write_text("\n".join(["context,response,rating", *rows]))
    out = tmp_path / "out"
    printed = invoke("run", "--dataset", table, "--metric", "length,random", "--out", out)
    assert TOO_FEW in " ".join(printed.out.split())
    results = read(out)
    ranked = [row for row in results.ranking if row.statistic == "spearman" and row.rank]
    assert {(math.isnan(row.low), row.letters) for row in ranked} == {(True, "")}
    assert {row.of for row in results.firmness if row.unit == "contexts"} == {5}
    compared = " ".join(invoke("report", "--compare", "--out", out).out.split())
    assert "20 items share 5 contexts" in compared
    assert "0.062" in compared


def test_comparisons_and_clusters_are_printed(suite_run: SuiteRun, invoke: Invoke) -> None:
    for line, parts in (
        ("--compare", ("jsalt, appropriateness", "(50 draws, seed 0)", "< 0.020", "established",
                     "crashing                   length ")),
        ("--compare --quality overall", ("(3 qualities of 3 datasets)",)),
        ("--clusters", ("Cluster", "leave-one-out", "share a group letter", "All columns are in one cluster")),
        ("--clusters wmt --quality Overall --draws 100", ("100", "one-sided, 5 %", "Cluster")),
    ):
        printed = invoke("report", "--out", suite_run.out, *line.split()).out
        unwrapped = " ".join(printed.split())
        assert [part for part in parts if part not in printed] == [], line
        assert "bundled sample" in unwrapped or "--dataset jsalt" in line
        if "share a group letter" in parts:
            assert re.search(r"0\.\d{3} +[a-z]+$", printed, re.MULTILINE), "corrected for rater unreliability"


def test_unknown_names_are_refused_with_the_nearest_one(suite_run: SuiteRun, invoke: Invoke) -> None:
    for line, part in (("--dataset jsald", "'jsalt'"), ("--compare --metric lenght", "'length'"),
                       ("--compare --quality appropriate", "'appropriateness'"), ("--clusters --json", "--json")):
        assert part in invoke("report", "--out", suite_run.out, *line.split(), status=2).err


LENGTH, RANDOM = ("length", "length"), ("random", "random")


def sharing_a_name(results: Results) -> Results:
    """Call the columns of length and random alike."""
    return replace(
        results, correlations=tuple(replace(row, column="x") if (row.metric, row.column) in (LENGTH, RANDOM) else row
                                    for row in results.correlations),
        comparisons=tuple(replace(rows, names=tuple(f"{name}/x" if (name, name) in (LENGTH, RANDOM) else name
                                                    for name in rows.names)) for rows in results.comparisons))


def test_columns_that_share_a_name_are_distinguished(suite_run: SuiteRun) -> None:
    targets = frozenset((rows.dataset, rows.quality) for rows in suite_run.results.comparisons)
    before, after = Selection(suite_run.results, targets), Selection(sharing_a_name(suite_run.results), targets)
    for tables in (cluster_tables, comparison_tables):
        shown, expected = ([re.sub("-{2,}", "", "".join(text.replace("/x", "").split())) for text in tables(chosen)]
                           for chosen in (after, before))
        assert shown == expected


def test_a_metric_selects_only_its_own_columns(suite_run: SuiteRun, tmp_path: Path, invoke: Invoke) -> None:
    write(sharing_a_name(suite_run.results), tmp_path)
    for names, metrics in (("length", {"length"}), ("x", {"length", "random"})):
        printed = invoke("report", "--out", tmp_path, "--dataset", "jsalt", "--metric", names, "--json").out
        assert {json.loads(line)["metric"] for line in printed.splitlines()} == metrics


def leads(results: Results, sign: int = 1, reach: float = 0.0) -> list[str]:
    """Return the leads of two columns whose correlations all have the same sign, and half-widths of intervals."""
    rows = tuple(replace(row, value=value, low=value - reach) for row in results.correlations
                 if (row.metric, row.column) in (LENGTH, RANDOM) and (value := sign * abs(row.value)))
    ranking = tuple(replace(row, value=sign * abs(row.value), error=reach / 1.96) for row in results.ranking)
    targets = frozenset((row.dataset, row.quality) for row in rows)
    return [sentence for sentence, _ in lead_sentences(Selection(
        replace(results, correlations=rows, ranking=ranking), targets))]


def test_columns_with_the_same_scores_have_no_lead(suite_run: SuiteRun) -> None:
    same = tuple(replace(points, scores={**points.scores, RANDOM: points.scores[LENGTH]})
                 for points in suite_run.results.points)
    difference = r"by 0\.\d{3} \[-?0\.\d{3}, 0\.\d{3}\], p [<=] 0\.\d{3}: .*; it reaches \d+ % of the limit"
    assert re.search(difference, "\n".join(leads(suite_run.results)))
    assert leads(replace(suite_run.results, points=same)) == []


def test_share_of_the_limit_names_the_qualities_that_it_covers(suite_run: SuiteRun) -> None:
    known = next(row for row in suite_run.results.reliability if row.method == "split-half" and row.value > 0)
    shares = [sentence for sentence in leads(replace(suite_run.results, reliability=(known,))) if "reaches" in sentence]
    assert shares
    for sentence in shares:
        several = re.search(r"\((\d+) qualities", sentence)
        assert sentence.endswith(f"noise on 1 of {several[1]} qualities" if several else "noise")


def test_means_not_clearly_positive_show_no_agreement(suite_run: SuiteRun) -> None:
    for sentences in (leads(suite_run.results, -1), leads(suite_run.results, 1, 1.0)):
        assert any("qualities of" in sentence for sentence in sentences)
        assert any("qualities of" not in sentence for sentence in sentences)
        assert all("no column agrees with people" in sentence and " leads " not in sentence for sentence in sentences)
    assert not any("none agrees" in sentence for sentence in leads(suite_run.results))


def test_weak_columns_are_not_called_the_best(suite_run: SuiteRun) -> None:
    for columns, expected in (((), "length leads random"), ((RANDOM, ("distinct", "distinct-1")), (
            "random is not shown to agree with people, but is ahead of distinct-1"))):
        chosen = Selection(suite_run.results, frozenset({("fed-turn", "Fluent")}), columns)
        assert [expected in sentence for sentence, _ in lead_sentences(chosen)] == [True]
