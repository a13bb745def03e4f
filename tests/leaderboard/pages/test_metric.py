"""The pages of metrics, and what pages of datasets show item by item, on hand-made points with known numbers."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from harness.results.rows import DatasetEntry, Example, ItemScores, Results
from leaderboard.blocks.tables import Gallery, Page, Picture, Section
from leaderboard.model.index import make_index
from leaderboard.model.items import by_system, dataset_items, differences, place_both, profile
from leaderboard.pages import dataset, metric
from tests.leaderboard.conftest import SCRIPT, find_page, row, table

HIDDEN = "\u202egnp.exe"


def points(entry: DatasetEntry, items: int = 40) -> ItemScores:
    """People rate from 1 to 5; the length control gives the words, bleu1 the ratings but for system b, upside down."""
    rng = np.random.default_rng(len(entry.name))
    ratings = rng.integers(1, 6, items).astype(np.float32)
    names = tuple((SCRIPT, "b", "")[number % 3] for number in range(items))
    upside = np.where(np.array(names) == "b", 6 - ratings, ratings).astype(np.float32)
    words = rng.integers(1, 30, items)
    noise = rng.normal(size=items).astype(np.float32)
    noise[0] = np.nan
    return ItemScores(
        entry.name, tuple(f"{entry.name}_{number}" for number in range(items)), names, words, np.arange(items),
        {quality.name: ratings if quality.rated else np.full(items, np.nan, dtype=np.float32)
         for quality in entry.qualities},
        {("bleu", "bleu1"): upside, ("bleu", "bleu2"): noise, ("length", "length"): words.astype(np.float32),
         (SCRIPT, "x|y"): np.zeros(items, dtype=np.float32), (SCRIPT, "x|y@interesting"): ratings})


def example(name: str, item: str, people: float, metrics: float) -> Example:
    return Example(name, "Overall", item, "b", ("Hello.", f"{SCRIPT} {HIDDEN}"), "<b>Yes</b>", 4.5, people, metrics,
                   (("bleu1", 0.1), (SCRIPT, 0.3)))


@pytest.fixture(scope="module")
def full(results: Results) -> Results:
    return replace(
        results, points=tuple(points(entry) for entry in results.datasets),
        examples=(example("fed-turn", "one", 0.9, 0.1), example("fed-turn", "two", 0.2, 0.8),
                  example("fed-turn", "three", 0.95, 0.05)))


def section(found: Page, anchor: str) -> Section:
    return next(entry for entry in found.sections if entry.anchor == anchor)


def gallery(found: Page, anchor: str) -> tuple[Picture, ...]:
    return next(block.pictures for block in section(found, anchor).blocks if isinstance(block, Gallery))


def test_sample_and_real_data_share_no_table_and_no_picture(full: Results) -> None:
    for found in metric.build(full):
        for part in found.sections:
            if part.anchor not in ("card", "timings"):
                of_sample, shown = part.anchor.endswith("-sample"), str(part.blocks)
                assert ("Sample Chat" in shown or "sample chat" in shown) <= of_sample
                assert ("fed-turn" in shown) <= (not of_sample)


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


def test_a_scatter_plot_per_dataset_and_quality_with_what_it_shows(full: Results, results: Results) -> None:
    drawn = gallery(find_page(metric.build(full), "bleu"), "points-real")
    assert [picture.caption.replace("\N{NO-BREAK SPACE}", " ") for picture in drawn][:2] == [
        "fed-dial, Overall: Spearman 0.500, n = 40", "fed-turn, Interesting: Spearman 0.100, n = 40"]
    assert len(drawn) == 7, "nothing is drawn of a quality that nobody rated"
    own = {picture.caption.split(":")[0]: picture
           for picture in gallery(find_page(metric.build(full), SCRIPT), "points-real")}
    assert own["fed-turn, Interesting"].svg.count("h0") == 5, "its own column is the ratings: five places"
    assert metric.NO_POINTS in str(section(find_page(metric.build(results), "bleu"), "points-real"))


def test_a_system_that_the_metric_turns_upside_down_is_seen(full: Results) -> None:
    entry = next(entry for entry in full.datasets if entry.name == "fed-turn")
    given = points(entry)
    ratings, scores = given.human["Overall"], given.scores["bleu", "bleu1"]
    found = {part.part: part for part in differences(*place_both(ratings, scores), by_system(given))}
    assert set(found) == {SCRIPT, "b"}, "an unknown system is none"
    assert [found[SCRIPT].within, found["b"].within] == pytest.approx([1, -1])
    of_b = np.array(given.systems) == "b"
    assert found["b"].people == pytest.approx((stats.rankdata(ratings)[of_b] - 1).mean() / 39)
    assert found["b"].metric == pytest.approx((stats.rankdata(scores)[of_b] - 1).mean() / 39)


def test_a_dataset_page_shows_its_systems_ratings_and_the_scores_of_the_best_metrics(full: Results) -> None:
    found = find_page(dataset.build(full), "fed-turn")
    given = points(next(entry for entry in full.datasets if entry.name == "fed-turn"))
    of_b = np.array(given.systems) == "b"
    cells = row(table(found, "system-table"), "b")
    assert cells["Items"].text == str(of_b.sum())
    assert cells["Overall"].text == f"{given.human['Overall'][of_b].mean():.2f}"
    assert "('Systems', Cell(text='2'" in str(section(found, "card"))
    assert len(gallery(found, "ratings")) == 2
    captions = [picture.caption.split(":")[0] for picture in gallery(found, "scores")]
    assert captions == ["bleu1", f"{SCRIPT} / x|y", "length"], "by mean Spearman: 0.2, 0.1, -0.1; bleu2 lacks a value"
    titles = {part.anchor: part.title for part in found.sections}
    assert titles["high-for-people-1"] == "People 0.95, metrics 0.05", "the largest difference first"
    assert titles["high-for-people-2"] == "People 0.90, metrics 0.10"
    assert titles["high-for-metrics-1"] == "People 0.20, metrics 0.80"
    assert "examples" not in {part.anchor for part in find_page(dataset.build(full), "fed-dial").sections}


def test_correlations_with_ratings_and_length_are_those_of_scipy(full: Results) -> None:
    items = dataset_items(make_index(full))["fed-turn"]
    found = profile(items, ("bleu", "bleu2"))
    assert found is not None
    scores = items.points.scores["bleu", "bleu2"][1:]  # the first has none
    ratings, words = items.ratings[1:], items.points.words[1:]
    pairs = ((ratings, scores), (scores, words), (ratings, words))
    assert (found.ratings, found.length, found.ratings_length) == pytest.approx(
        tuple(stats.spearmanr(*pair).statistic for pair in pairs))
    ranks = [stats.rankdata(values) for values in (scores, ratings, words)]
    left = [values - np.polyval(np.polyfit(ranks[2], values, 1), ranks[2]) for values in ranks[:2]]
    assert found.partial == pytest.approx(np.corrcoef(left[0], left[1])[0, 1])
    length, equal = (profile(items, column) for column in (("length", "length"), (SCRIPT, "x|y")))
    assert length is not None
    assert equal is not None
    assert math.isnan(length.partial), "scores that are the length have nothing left"
    assert math.isnan(equal.ratings), "equal scores agree with nobody"
