"""The pages of metrics, and what pages of datasets show item by item."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from harness.results.rows import Example, Results
from leaderboard.blocks.tables import Gallery, Page, Picture, Section
from leaderboard.model.index import make_index
from leaderboard.model.items import Parts, dataset_items, differences, places, profile
from leaderboard.pages import dataset, metric
from tests.leaderboard import large
from tests.leaderboard.conftest import find_page, row, table


@pytest.fixture(scope="module")
def full() -> Results:
    """Two real datasets of 40 items and a simulated one; the first item of the second has no score of the control."""
    made = large.make(3, 4, (40, 40), comparisons=False, sample=1)
    made.points[1].scores["length", "length"][0] = math.nan
    examples = (("one", 0.9, 0.1), ("two", 0.2, 0.8), ("three", 0.95, 0.05))
    return replace(made, examples=tuple(
        Example("dev-made-up-01", "Overall", item, "b", ("Hello.",), "Yes", 4.5, people, metrics, (("bleu1", 0.1),))
        for item, people, metrics in examples))


def section(found: Page, anchor: str) -> Section:
    return next(entry for entry in found.sections if entry.anchor == anchor)


def gallery(found: Page, anchor: str) -> tuple[Picture, ...]:
    return next(block.pictures for block in section(found, anchor).blocks if isinstance(block, Gallery))


def test_sample_and_real_data_share_no_table_and_no_picture(full: Results) -> None:
    for found in metric.build(full):
        for part in found.sections:
            if part.anchor not in ("card", "timings"):
                of_sample, shown = part.anchor.endswith("-sample"), str(part.blocks)
                assert ("dev-made-up-02" in shown) <= of_sample
                assert ("dev-made-up-01" in shown) <= (not of_sample)


def test_a_rank_comes_with_interval_letters_and_the_length_control(results: Results) -> None:
    """bleu2 lacks fed-turn, Overall; elsewhere it is made -0.5 everywhere, and length has -0.055 on the other four."""
    known = tuple(replace(entry, low=1.0, high=2.0, letters="ab") for entry in results.ranking)
    low = tuple(replace(entry, value=-0.5) if entry.column == "bleu2" and math.isfinite(entry.value) else entry
                for entry in results.correlations)
    found = find_page(metric.build(replace(results, ranking=known, correlations=low)), "bleu")
    cells = row(table(found, "ranking-table-real"), "Test datasets", "bleu1")
    assert (cells["Rank, 95 %"].text, cells["Rank, 95 %"].small, cells["Letters"].text) == ("3", "1–2", "ab")
    assert (cells["Average"].text, cells["Length control"].text) == ("0.200", "0.400")
    incomplete = row(table(found, "ranking-table-real"), "Development datasets", "bleu2")
    assert (incomplete["Average"].text, incomplete["Rank, 95 %"].text) == ("–", "")
    assert "−0.500 against −0.055, the means over the 4 targets that both have" in str(section(found, "ranking-real"))
    assert metric.NO_POINTS in str(section(found, "points-real"))


def test_a_scatter_plot_per_dataset_and_quality_says_what_it_shows(full: Results) -> None:
    captions = [picture.caption.replace("\N{NO-BREAK SPACE}", " ")
                for picture in gallery(find_page(metric.build(full), "length"), "points-real")]
    values = [next(row.value for row in full.correlations if row.statistic == "spearman" and row.column == "length"
                   and (row.dataset, row.quality) == ("dev-made-up-01", quality))
              for quality in ("Overall", "Interesting", "Relevant")]
    assert [caption.partition(";")[0] for caption in captions[1:]] == [
        f"dev-made-up-01, {quality}: Spearman {value:.3f}, n = 39".replace("-0.", "−0.")
        for quality, value in zip(("Overall", "Interesting", "Relevant"), values, strict=True)]


def test_a_system_that_the_metric_turns_upside_down_is_seen() -> None:
    ratings = np.random.default_rng(3).permutation(40).astype(np.float64)
    system = np.arange(40) % 3 - 1  # -1: the system is not known
    scores = np.where(system == 1, 40 - ratings, ratings)
    found = {part.part: part for part in differences(places(ratings), places(scores), Parts(("a", "b"), system))}
    assert [found["a"].within, found["b"].within] == pytest.approx([1, -1])
    assert found["b"].people == pytest.approx((stats.rankdata(ratings)[system == 1] - 1).mean() / 39)
    assert found["b"].metric == pytest.approx((stats.rankdata(scores)[system == 1] - 1).mean() / 39)


def test_a_dataset_page_shows_its_systems_ratings_the_best_metrics_and_examples(full: Results) -> None:
    found, points = find_page(dataset.build(full), "dev-made-up-01"), full.points[1]
    of_three = np.array(points.systems) == "system-3"
    cells = row(table(found, "system-table"), "system-3")
    assert cells["Items"].text == str(of_three.sum())
    assert cells["Overall"].text == f"{points.human['Overall'][of_three].mean():.2f}"
    assert len(gallery(found, "ratings")) == 3
    means = {column: np.mean([row.value for row in full.correlations if row.dataset == "dev-made-up-01"
                              and (row.metric, row.column, row.statistic) == (*column, "spearman")])
             for column in points.scores}
    best = {name: max((value, column) for (own, column), value in means.items() if own == name)
            for name in {name for name, _ in means}}
    captions = [picture.caption.split(":")[0] for picture in gallery(found, "scores")]
    assert captions == [column for _, column in sorted(best.values(), reverse=True)]
    titles = {part.anchor: part.title for part in found.sections}
    assert titles["high-for-people-1"] == "People 0.95, metrics 0.05", "the largest difference first"
    assert titles["high-for-people-2"] == "People 0.90, metrics 0.10"
    assert titles["high-for-metrics-1"] == "People 0.20, metrics 0.80"
    assert "examples" not in {part.anchor for part in find_page(dataset.build(full), "dev-made-up-00").sections}


def test_correlations_with_ratings_and_length_are_those_of_scipy(full: Results) -> None:
    items = dataset_items(make_index(full))["dev-made-up-01"]
    found = profile(items, ("length", "length"))
    assert found is not None
    scores, ratings, words = items.points.scores["length", "length"][1:], items.ratings[1:], items.points.words[1:]
    pairs = ((ratings, scores), (scores, words), (ratings, words))
    assert (found.ratings, found.length, found.ratings_length) == pytest.approx(
        tuple(stats.spearmanr(*pair).statistic for pair in pairs))
    ranks = [stats.rankdata(values) for values in (scores, ratings, words)]
    left = [values - np.polyval(np.polyfit(ranks[2], values, 1), ranks[2]) for values in ranks[:2]]
    assert found.partial == pytest.approx(np.corrcoef(left[0], left[1])[0, 1])
    scored = {("a", "length"): items.points.words.astype(np.float64), ("a", "equal"): np.zeros(40)}
    length, equal = (profile(replace(items, points=replace(items.points, scores=scored)), column) for column in scored)
    assert length is not None
    assert equal is not None
    assert math.isnan(length.partial), "scores that are the length have nothing left"
    assert math.isnan(equal.ratings), "equal scores agree with nobody"
