"""The pages of metrics and datasets."""

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from harness.results.exhibits import Exhibit, Grid
from harness.results.rows import Example, ItemScores, Reliability, Results
from leaderboard.blocks.tables import Facts, Page, Section
from leaderboard.pages import dataset, metric
from tests.leaderboard.conftest import altered, find_page, row, script_data, table


def section(page: Page, anchor: str) -> Section:
    return next(entry for entry in page.sections if entry.anchor == anchor)


def facts(page: Page) -> Mapping[str, list[str]]:
    """Return the values of each term of the card at the top of a page."""
    (block,) = (block for block in section(page, "card").blocks if isinstance(block, Facts))
    return {term: [cell.text for name, cell in block.pairs if name == term] for term, _ in block.pairs}


def items(part: Section) -> list[str]:
    return [cell.text for block in part.blocks if isinstance(block, Facts)
            for term, cell in block.pairs if term == "Item"]


def test_metric_page_begins_with_summary_and_differences(results: Results) -> None:
    card = facts(find_page(metric.build(results), "grade"))
    assert [part for part in ("GRADE", "fitted on ratings") if part not in card["Summary"][0]] == []
    assert card["Notes"] == ["Reads <both>."]
    assert card["Differences from the paper"] == ["A <head> on a frozen encoder.", "No graph."]
    low = replace(results, ranking=tuple(
        replace(row, value=-0.5) if row.metric == "bleu" and row.rank else row for row in results.ranking))
    text = str(section(find_page(metric.build(low), "bleu"), "card").blocks[0])
    assert "−0.500 against −0.013" in text


def test_metric_page_has_published_values_of_its_columns(results: Results) -> None:
    head = ("column", "dataset", "published quality", "published in", "published", "this run", "our quality")
    rows = tuple((column, "fed-turn", "overall", "BLEU, somewhere", printed, "0.300", "Overall")
                 for column, printed in (("bleu1", "0.5"), ("grade", "0.7")))
    printed = Exhibit("dstc10", "challenge", "", "", "", (Grid("beside-print", "", head, rows),))
    page = find_page(metric.build(replace(results, exhibits=(printed,))), "bleu")
    assert [[cell.text for cell in cells] for cells in table(page, "paper-table").rows] == [list(rows[0][1:])]
    assert section(page, "paper").title.endswith(": bleu1")
    assert section(page, "targets").title.endswith(": bleu1")


def test_values_are_not_corrected_for_low_reliability(results: Results) -> None:
    for reliability, shown in ((0.29, "–"), (0.31, "0.600")):
        made = replace(results, correlations=tuple(replace(row, corrected=0.6) for row in results.correlations),
                       reliability=(Reliability("fed-turn", "Overall", "split-half", reliability, 90),))
        cells = row(table(find_page(metric.build(made), "bleu"), "targets-table"), "fed-turn", "Overall")
        assert cells["Corrected"].text == shown
        data = script_data(made)
        (limit,) = (target["limit"] for target in data["targets"]
                    if (data["datasets"][target["dataset"]], target["quality"]) == ("fed-turn", "Overall"))
        assert (limit is None) == (shown == "–")


def test_largest_errors_are_on_the_pages(full: Results) -> None:
    examples = (("one", 0.9, 0.1, ""), ("two", 0.2, 0.8, ""), ("three", 0.95, 0.05, ""), ("low", 0.9, 0.2, "length"),
                ("high", 0.1, 0.7, "length"), ("higher", 0.1, 0.9, "length"))
    made = replace(full, examples=tuple(
        Example("fed-turn", "Overall", item, "b", ("Hello.",), "Yes", 4.5, people, metrics, (), column)
        for item, people, metrics, column in examples))
    part = section(find_page(metric.build(made), "length"), "items")
    assert items(part) == ["higher", "high", "low"]
    assert "2 scored too high and 1 too low" in str(part)
    assert part.title == "Largest errors"
    page = find_page(dataset.build(made), "fed-turn")
    assert [items(section(page, anchor)) for anchor in ("underrated", "overrated")] == [["three", "one"], ["two"]]


def test_dataset_page_has_systems_agreement_and_votes(full: Results) -> None:
    page, points = find_page(dataset.build(full), "fed-turn"), full.points[1]
    ratings = points.human["Overall"][np.array(points.systems) == "fitting"]
    cells = row(table(page, "system-table"), "fitting")
    assert (cells["Items"].text, cells["Overall"].text) == (str(ratings.size), f"{ratings.mean():.2f}")
    agreement = {entry.method: entry.value for entry in full.reliability
                 if (entry.dataset, entry.quality) == ("fed-turn", "Interesting")}
    cells = row(table(page, "qualities"), "Interesting")
    assert [cells[name].text for name in ("One rater", "Reliability", "Limit")] == [
        f"{agreement['leave-one-out']:.3f}", f"{agreement['split-half']:.3f}", f"{agreement['split-half'] ** 0.5:.3f}"]
    two_systems = replace(points, systems=("a", "b") * 18)
    card = facts(find_page(dataset.build(replace(full, points=(two_systems,))), "fed-turn"))
    assert [card[term] for term in ("Rated", "Votes", "Systems")] == [
        ["324 pairs of an item and a quality"], ["1233"], [dataset.TWO_SYSTEMS]]


def test_length_profile_equals_scipy_and_is_missing_for_constant_scores(full: Results) -> None:
    quality = next(entry.qualities[0] for entry in full.datasets if entry.name == "fed-turn")

    def profile(scores: np.ndarray) -> tuple[float, ...]:
        points: ItemScores = replace(full.points[1], scores={("a", "a"): scores})
        return metric.length_profile(points, quality, ("a", "a"))

    scores, words, ratings = (values.astype(np.float64) for values in (
        full.points[1].scores["random", "random"], full.points[1].words, full.points[1].human[quality.name]))
    pairs = ((scores, words), (ratings, words), (ratings, scores))
    ranks = [stats.rankdata(values[1:]) for values in (scores, ratings, words)]
    left = [values - np.polyval(np.polyfit(ranks[2], values, 1), ranks[2]) for values in ranks[:2]]
    assert profile(np.array([np.nan, *scores[1:]])) == pytest.approx((
        *(stats.spearmanr(one[1:], other[1:]).statistic for one, other in pairs),
        np.corrcoef(left[0], left[1])[0, 1])), "an item without a score is left out"
    assert math.isnan(profile(words)[3])
    assert math.isnan(profile(np.zeros(36))[2])


def test_short_title_heads_the_page_of_a_metric_with_options(results: Results) -> None:
    for fields, title in (({"name": "grade[encoder=org/small@1]"}, "grade (small)"), ({"named": "panel"}, "panel")):
        assert title in {page.title for page in metric.build(altered(results, "grade", **fields))}
