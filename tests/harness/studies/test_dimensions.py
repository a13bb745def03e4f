"""`harness study dimensions`: correlations, groups and the selection rule, by hand and against published numbers."""

import csv
import itertools
import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

from benchmarks import registry
from benchmarks.dataset import Dataset, Quality, Rating
from benchmarks.formats import official
from harness.results import exhibits
from harness.run.correlate import Judged
from harness.statistics.reliability import vote_table
from harness.studies import dimensions
from harness.studies.dimensions import QualityPair, absent, agreement, choices, groups, pair, relate
from tests.conftest import Invoke, make_item

NAN = math.nan


def rated(name: str, *means: float) -> Judged:
    votes = tuple((mean, mean) if math.isfinite(mean) else () for mean in means)
    return of_votes(name, votes)


def of_votes(name: str, votes: Sequence[Sequence[float]]) -> Judged:
    return Judged(Quality(name, 0, 5), vote_table(votes), np.array([np.mean(row) if row else NAN for row in votes]))


def related(*pairs: tuple[str, str, float]) -> list[QualityPair]:
    return [QualityPair(first, second, 9, value) for first, second, value in pairs]


def test_a_pair_is_correlated_over_items_with_both_qualities(rng: np.random.Generator) -> None:
    """Ranks (1, 2.5, 2.5, 4) and (1, 2, 3, 4): ρ = 4.5 / √(4.5 · 5)."""
    result = pair(rated("a", 1, 2, 2, 5, NAN), rated("b", 1, 2, 3, 4, 9), rng, 50)
    assert result.spearman == pytest.approx(4.5 / math.sqrt(4.5 * 5))
    assert result.items == 4
    assert result.low <= result.spearman <= result.high
    x, y = rng.integers(5, size=(2, 40)).astype(float)
    assert pair(rated("a", *x), rated("b", *y), rng, 50).spearman == pytest.approx(stats.spearmanr(x, y).statistic)
    for constant_or_short in ((2.0, 2.0, 2.0), (1.0, NAN, NAN)):
        assert math.isnan(pair(rated("a", 1, 2, 3), rated("b", *constant_or_short), rng, 50).spearman)


def test_agreement_is_of_each_vote_with_the_mean_of_its_item() -> None:
    """Votes 1 1 2 3 with means 1 1 2.5 2.5; an item with one vote does not count."""
    assert agreement(of_votes("a", [(1, 1), (2, 3), (9,)])) == pytest.approx(
        stats.spearmanr([1, 1, 2, 3], [1, 1, 2.5, 2.5]).statistic)
    assert math.isnan(agreement(of_votes("a", [(1,), (2,)])))
    assert absent(of_votes("a", [(1.0,), (1.0, 2.0), ()]), 2) == pytest.approx(0.5)


def test_groups_have_the_fewest_representatives() -> None:
    """A chain flexible - likeable - informative - deep - diverse needs two, and informative is in both groups."""
    chain = related(("likeable", "flexible", 0.82), ("likeable", "informative", 0.82), ("deep", "informative", 0.84),
                    ("diverse", "deep", 0.799), ("likeable", "deep", 0.797), ("flexible", "diverse", 0.79))
    qualities = ("diverse", "deep", "likeable", "flexible", "informative", "alone")
    assert groups(qualities, chain, {}) == {
        "deep": ("deep", "diverse", "informative"), "likeable": ("likeable", "flexible", "informative"),
        "alone": ("alone",)}
    two = related(("a", "b", 0.9))  # of two candidates, the one closer to overall is the representative
    assert groups(("a", "b"), two, {"a": 0.6, "b": 0.7}) == {"b": ("b", "a")}
    assert groups(("a", "b"), two, {"a": 0.7, "b": NAN}) == {"a": ("a", "b")}


def test_every_reason_not_to_select_is_given() -> None:
    good = of_votes("good", [(1, 1), (2, 2), (3, 3)])
    poor = of_votes("poor", [(1, 3), (3, 1), ()])
    result = choices((good, poor), {"good": 0.8, "poor": 0.75}, {"good": ("good", "poor"), "x": ("x", "poor")})
    assert [(row.quality, row.reasons) for row in result] == [
        ("good", ()), ("poor", ("overall", "agreement", "no answer", "two groups", "represented"))]
    assert result[1].absent == pytest.approx(1 / 3)


def test_qualities_without_common_items_have_no_correlation() -> None:
    """Qualities with three items each, none shared and none with two votes, have no correlation and no agreement."""
    card = registry.card("fed-dial")
    items = tuple(make_item(str(number), "hello") for number in range(3 * len(card.qualities)))
    ratings = tuple(Rating(item.id, card.qualities[index // 3].name, (float(index % 3),))
                    for index, item in enumerate(items))
    relations = relate(Dataset(card, items, ratings, "imported"), (), 0, 40)
    assert relations is not None
    (table,) = [table for table in dimensions.findings([relations], 0, 40).tables if table.name == "fed-dial-print"]
    assert {row[1] for row in table.rows if row[0].startswith(("lowest", "highest"))} == {"–"}


def test_end_to_end_on_the_sample(tmp_path: Path, invoke: Invoke) -> None:
    printed = invoke("study", "dimensions", "--data", "sample", "--dataset", "fed-dial", "--quality", "overall",
                     "--quality", "Coherent", "--quality", "diversity", "--draws", "40", "--out", tmp_path).out
    assert "Groups of qualities" in printed
    folder = tmp_path / "studies" / "dimensions"
    rows = list(csv.DictReader((folder / "pair.csv").read_text().splitlines()))
    assert [row["data"] for row in rows] == ["sample"] * 3, "the pairs of three qualities"
    matrix = next(grid for grid in exhibits.read(folder / exhibits.FILE).grids if grid.shaded)
    names = [row[0] for row in matrix.rows]
    assert {(row["first"], row["second"], f"{float(row['spearman']):.2f}".replace("-", "−")) for row in rows} == {
        (names[i], names[j], matrix.rows[i][1 + j]) for i, j in itertools.combinations(range(3), 2)}
    assert [matrix.rows[i][1 + i] for i in range(3)] == ["1.00"] * 3


def test_real_ratings_reproduce_the_published_numbers(real_data: Path) -> None:
    """Correlations equal to the last digit; the groups of Table 1 have the same members, the first another name."""
    card = registry.card("fed-dial")
    parsed = official.parse(real_data / "human_evaluation_data" / "fed-dial_eval.json", card)
    result = relate(Dataset(card, parsed.items, parsed.ratings, "imported"), (), 0, 40)
    assert result is not None
    known = {frozenset((row.first, row.second)): row.rounded for row in result.pairs}
    pairs = dimensions.printed_pairs()
    assert {two: known[frozenset(two)] for two in pairs} == {two: float(value) for two, value in pairs.items()}
    assert (min(known.values()), max(known.values())) == (0.38, 0.88)
    assert set(map(frozenset, result.groups.values())) == set(map(frozenset, dimensions.printed_groups()))
    rows = {row.quality: row for row in result.choices}
    assert rows["consistency"].agreement == pytest.approx(0.562, abs=0.0015)
    assert round(rows["error recovery"].absent, 2) == 0.25
    assert {row.quality for row in result.choices if not row.reasons} == {"understanding", "likeability", "depth"}
