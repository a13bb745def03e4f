"""The pages of metrics and datasets."""

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from harness.results.rows import Example, Exhibit, Grid, Reliability, Results
from leaderboard.blocks.tables import Facts, Page, Section
from leaderboard.pages import dataset, metric
from tests.leaderboard import large
from tests.leaderboard.conftest import find_page, row, script_data, table


@pytest.fixture(scope="module")
def full() -> Results:
    """Two datasets of 40 items; the first item of the second has no score of the control."""
    made = large.make(2, 4, (40, 40), comparisons=False)
    made.points[1].scores["length", "length"][0] = math.nan
    examples = (("one", 0.9, 0.1, ""), ("two", 0.2, 0.8, ""), ("three", 0.95, 0.05, ""), ("low", 0.9, 0.2, "length"),
                ("high", 0.1, 0.7, "length"), ("higher", 0.1, 0.9, "length"))
    return replace(made, examples=tuple(
        Example("dev-made-up-01", "Overall", item, "b", ("Hello.",), "Yes", 4.5, people, metrics,
                () if own else (("bleu1", 0.1),), own) for item, people, metrics, own in examples))


def section(page: Page, anchor: str) -> Section:
    return next(entry for entry in page.sections if entry.anchor == anchor)


def facts(page: Page) -> Mapping[str, list[str]]:
    """Return the values of each term of the card at the top of a page."""
    (block,) = (block for block in section(page, "card").blocks if isinstance(block, Facts))
    return {term: [cell.text for name, cell in block.pairs if name == term] for term, _ in block.pairs}


def items(part: Section) -> list[str]:
    """Return the ids of the items of a section, in order."""
    return [cell.text for block in part.blocks if isinstance(block, Facts)
            for term, cell in block.pairs if term == "Item"]


def test_metric_page_begins_with_summary_and_differences(results: Results) -> None:
    card = facts(find_page(metric.build(results), "grade"))
    assert card["Summary"] == ["our own small substitute for GRADE, not the paper's method, fitted on ratings"]
    assert card["Differences from the paper"] == ["A <head> on a frozen encoder.", "No graph."]
    low = tuple(replace(entry, value=-0.5) if entry.metric == "bleu" and entry.rank else entry
                for entry in results.ranking)
    text = str(section(find_page(metric.build(replace(results, ranking=low)), "bleu"), "card").blocks[0])
    assert "For overall it is no better than counting words: −0.500 against −0.013." in text


def test_metric_page_has_published_values_of_its_columns(results: Results) -> None:
    head = ("column", "dataset", "quality in print", "printed as, in", "printed", "this run", "ours is of")
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
        limits = {(data["datasets"][target["dataset"]], target["quality"]): target["limit"]
                  for target in data["targets"]}
        assert (limits["fed-turn", "Overall"] is None) == (shown == "–")


def test_largest_errors_are_on_the_pages(full: Results) -> None:
    assert items(section(find_page(metric.build(full), "length"), "items")) == ["higher", "high", "low"]
    page = find_page(dataset.build(full), "dev-made-up-01")
    assert items(section(page, "underrated")) == ["three", "one"]
    assert items(section(page, "overrated")) == ["two"]


def test_dataset_page_has_systems_agreement_and_votes(full: Results) -> None:
    page, points = find_page(dataset.build(full), "dev-made-up-01"), full.points[1]
    of_three = np.array(points.systems) == "system-3"
    cells = row(table(page, "system-table"), "system-3")
    assert (cells["Items"].text, cells["Overall"].text) == (
        str(of_three.sum()), f"{points.human['Overall'][of_three].mean():.2f}")
    cells = row(table(page, "qualities"), "Interesting")
    assert [cells[name].text for name in ("One rater", "Reliability", "Limit")] == [
        "0.530", "0.680", f"{0.68 ** 0.5:.3f}"]
    two_systems = tuple(replace(own, systems=("a", "b") * 20) for own in full.points)
    made = replace(full, points=two_systems, datasets=tuple(replace(entry, votes=321) for entry in full.datasets))
    card = facts(find_page(dataset.build(made), "dev-made-up-01"))
    assert [card[term] for term in ("Rated", "Votes", "Systems")] == [
        ["360 pairs of an item and a quality"], ["321"], [dataset.TWO]]


def test_length_profile_equals_scipy(full: Results) -> None:
    points, quality = full.points[1], full.datasets[1].qualities[0]
    scores, words = points.scores["length", "length"][1:], points.words[1:]
    ratings = points.human[quality.name][1:]
    pairs = ((scores, words), (ratings, words), (ratings, scores))
    ranks = [stats.rankdata(values) for values in (scores, ratings, words)]
    left = [values - np.polyval(np.polyfit(ranks[2], values, 1), ranks[2]) for values in ranks[:2]]
    assert metric.length_profile(points, quality, ("length", "length")) == pytest.approx((
        *(stats.spearmanr(*pair).statistic for pair in pairs), np.corrcoef(left[0], left[1])[0, 1]))


def test_length_profile_of_constant_scores_is_missing(full: Results) -> None:
    points, quality = full.points[1], full.datasets[1].qualities[0]
    scored = {("a", "length"): points.words.astype(np.float64), ("a", "equal"): np.zeros(40)}
    length, equal = (metric.length_profile(replace(points, scores=scored), quality, column) for column in scored)
    assert math.isnan(length[3])
    assert math.isnan(equal[2])
