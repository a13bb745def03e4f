"""Decisions on the pages: the table of a dataset, and the parts of the front page's answer."""

import math
import re
from dataclasses import replace

from harness.results.decision_rows import Decision, VoteCount
from harness.results.power import Power
from harness.results.rows import Reliability, Results
from leaderboard.blocks.decisions import MAX_ROWS
from leaderboard.blocks.pictures import power_picture, vote_picture
from leaderboard.blocks.tables import Cell, Dot, Dots, Picture
from leaderboard.model.index import make_index, without_value
from leaderboard.model.questions import DEFAULT_CHOICE, answers
from leaderboard.pages import dataset
from tests.leaderboard.conftest import CELLS, SCRIPT, altered, evidence, find_block, find_page, find_question, table
from tests.suite_run import SuiteRun


def decision(target: tuple[str, str], column: str, worth: float, **fields: object) -> Decision:
    row = Decision(*target, "bleu", column, 0.8, 0.7, 0.6, 1.0, True, True, worth, worth - 0.1, worth + 0.1, False, 0.2,
                   90, 3, "2 raters: each is compared with only one other")
    return replace(row, **fields)  # type: ignore[arg-type]


def test_dataset_page_lists_the_best_columns_of_each_quality(results: Results) -> None:
    made = replace(results, decisions=[
        decision(CELLS[0], "bleu1", 1.1), decision(CELLS[0], "bleu2", 1.2, replaces=False),
        decision(CELLS[1], "bleu2", math.nan, rho=math.nan, passes=False, replaces=False), *(
            decision(CELLS[1], f"other{number}", 1.0) for number in range(30))])
    drawn = table(find_page(dataset.build(made), "fed-turn"), "decisions-table")
    assert len(drawn.rows) == MAX_ROWS // 2 + 2
    assert {row[0].text for row in drawn.rows} == {"fed-turn"}
    assert [[cell.text for cell in row[1:]] for row in drawn.rows[:2]] == [
        ["Interesting", "bleu2", "0.200", "1.20", "1.10–1.30", "0.800", "0.700", "0.600", "as constant", ""],
        ["Interesting", "bleu1", "0.100", "1.10", "1.00–1.20", "0.800", "0.700", "0.600", "yes", ""]]
    assert "ε = 0.2" in drawn.caption


def test_one_rater_is_the_mean_of_the_known_ones(results: Results) -> None:
    known = Reliability("fed-turn", "Overall", "leave-one-rater-out", 0.625, 90)
    made = replace(results, reliability=(*results.reliability, known))
    cells = {row[0].text: row[4].text for row in table(find_page(dataset.build(made), "fed-turn"), "qualities").rows}
    assert (cells["Overall"], cells["Interesting"]) == ("0.625", "")


def test_answer_states_where_a_rater_is_replaced_and_the_worth(results: Results) -> None:
    question = find_question(results)
    assert "worth" not in evidence(results, question)
    metric, column = answers(results)(question.name)[DEFAULT_CHOICE].best
    made = replace(results, decisions=[
        decision(target, column, worth, metric=metric, replaces=worth > 1.3)
        for target, worth in zip(question.targets, (1.2, 1.4, 1.6), strict=True)])
    text = evidence(made, question)
    assert "on 2 of 3 qualities" in text
    assert "worth 1.40 " in text
    more = [decision(target, "length", 1.2, metric="length") for target in question.targets]
    where = " of ".join(reversed(question.targets[0]))
    for passed, others, part in ((2, more, "(ε = 0.2); length may, on 3."), (2, more[:2], "(ε = 0.2). "), (
            0, more[:1], f"; length does, on {where}.")):
        rows = [replace(row, replaces=row.replaces and passed > 0) for row in made.decisions]
        assert part in evidence(replace(made, decisions=[*rows, *others]), question)


def test_metrics_above_the_limit_are_not_named_as_replacements(results: Results) -> None:
    question = find_question(results)
    made = replace(altered(results, "length", models=("large",), parameters=40_000_000), decisions=[
        decision(target, name, 1.2, metric=metric, replaces=metric == "length")
        for target in question.targets for metric, name in (("bleu", "bleu1"), ("length", "length"))])
    for size, named in ((math.inf, True), (30e6, False)):
        assert answers(made)(question.name)[(False, size)].best == ("bleu", "bleu1")
        assert ("; length does" in evidence(made, question, (False, size))) == named


def test_missing_references_are_the_cause_of_missing_values(results: Results) -> None:
    spearman = next(row for row in results.correlations if row.statistic == "spearman")
    row = replace(spearman, value=math.nan, n=0, note="0 rows have both a rating and a score")
    for has, note in (((), "no item has references"), (("references",), row.note)):
        made = altered(replace(results, correlations=(row,)), row.dataset, has=has)
        assert make_index(made).reason_missing((row.dataset, row.quality), (row.metric, row.column)) == note
        assert [missing.reason for missing in without_value(made)] == [note]


def test_dataset_page_draws_its_power_by_contexts(suite_run: SuiteRun) -> None:
    page = find_page(dataset.build(suite_run.results), "persona-usr")
    assert find_block(page, Picture, "80 % power").svg.count('class="strokes"') > 1


def test_power_is_drawn_even_if_there_are_too_few_contexts() -> None:
    row = Power("a", "q", "columns", "x", "y", 4, 2, 1.0, math.inf, 0.5, 0.0, 6)
    assert "2 contexts" in power_picture([row]).text


def test_bounds_of_votes_fit_below_their_bars() -> None:
    rows = [VoteCount("a", "q", "m", "c", fifth, -0.0302, -1.23e-05, rating, 3)
            for fifth in (1, 2) for rating in (-1.0, 1.0)]
    picture = vote_picture(rows, "m")
    assert re.findall(">([^<]+)</text>", picture.svg) == ["−0.0302–", "−1.23e−05"] * 2
    assert "−0.0302–−1.23e−05: mean 0.00" in picture.text
    assert picture.caption.endswith(": −1, 1.")


def test_picture_extends_to_a_band_below_its_usual_start() -> None:
    assert [Dots([Dot(Cell("a"), 0.2)], "", {}, {"length": (low, 0.1)}).start for low in (math.nan, -0.1, -0.2)] == [
        -0.1, -0.1, -0.5]


def test_equal_columns_are_drawn_in_order_of_their_names(results: Results) -> None:
    made = replace(results, correlations=tuple(replace(row, value=0.25) for row in results.correlations))
    picture = find_block(find_page(dataset.build(made), "fed-dial"), Dots)
    assert [line.name.text for line in picture.lines] == [f"{SCRIPT} / x|y", "bleu1", "length"]
