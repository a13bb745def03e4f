"""The front page: the answer, the board, the numbers for its scripts, and costs."""

import math
import re
from collections.abc import Mapping
from dataclasses import replace
from importlib import resources
from itertools import combinations

import numpy as np
import pytest

from harness.results.decision_rows import Firmness
from harness.results.rows import Correlation, Example, ItemScores, Reliability, Results, Timing
from harness.statistics.pooled import TOO_FEW
from leaderboard.blocks.boards import cost_cell
from leaderboard.blocks.pictures import cost_picture
from leaderboard.blocks.tables import Ask
from leaderboard.model.cost import Cost, costs
from leaderboard.model.index import make_index, select_datasets
from leaderboard.model.numbers import BETTER, NO_DIFFERENCE, WORSE, worst
from leaderboard.model.questions import DEFAULT_CHOICE, answers, best_of_each, identical_columns, questions
from leaderboard.model.sentences import is_above_zero, rater_agreement, recommendation
from leaderboard.pages import front
from leaderboard.render.text import summary
from tests.leaderboard.conftest import CELLS, SCRIPT, altered, evidence, find_question, ranking, row, script_data, table


def with_values(results: Results, values: Mapping[tuple[str, str, str], float]) -> Results:
    """Replace Spearman values by dataset, metric and quality ("": all), and rank again."""
    def value(row: Correlation) -> float:
        names = ((row.dataset, row.metric, quality) for quality in (row.quality, ""))
        return next((values[name] for name in names if name in values and row.statistic == "spearman"), row.value)

    rows = tuple(replace(row, value=value(row)) for row in results.correlations)
    return replace(results, correlations=rows, ranking=tuple(row for row in ranking(rows) if row.origin == "real"))


def test_answer_names_leaders_without_each_dataset(results: Results) -> None:
    """The mean of 0.1, 0.5, 0.55 is below that of 0.3, 0.4, 0.5, but not if the first value is left out."""
    made = with_values(results, {("fed-turn", SCRIPT, "Overall"): 0.1, ("fed-dial", SCRIPT, "Overall"): 0.55,
                                 ("topical-usr", SCRIPT, "Overall quality"): 0.5})
    texts = {question.title: evidence(made, question) for question in questions(made)}
    assert f"in 2 of 3 cases; without fed-turn, {SCRIPT} / x|y leads." in texts["overall"]
    assert "left out" not in texts["interesting"]


def test_page_and_terminal_state_how_firm_a_lead_is(results: Results) -> None:
    question = find_question(results)
    best = answers(results)(question.name)[DEFAULT_CHOICE].best
    shown = replace(results, firmness=[
        Firmness(board, "real", "dev", "spearman", among, *best, unit, removed, 9000, "x", (), ("y", "length"))
        for board in (question.name, question.id.group) for among in ("all", "unfitted")
        for unit, removed in (("datasets", None), ("contexts", 12), ("votes", 1400))])
    printed, page = " ".join(summary(shown).split()), str(front.build(shown)[0])
    assert "Tied with the best: y, length." in printed
    assert f"{make_index(shown).labels[best]}, not shown to beat length" in printed
    for text in ("12 of 9,000 contexts or 1,400 of 9,000 votes", "not shown to beat length"):
        assert text in printed
        assert text in page
    assert "tied with y" in page


def test_firmness_is_that_among_the_metrics_of_the_choice(results: Results) -> None:
    question = find_question(results)
    best = answers(results)(question.name)[DEFAULT_CHOICE].best
    made = replace(results, firmness=[
        Firmness(question.name, "real", "dev", "spearman", among, *best, "contexts", removed, 90, "x", (), ())
        for among, removed in (("all", 7), ("unfitted", 12))])
    for choice, part in (((False, math.inf), "without 12 of 90"), ((True, math.inf), "without 7 of 90"),
                         ((False, 30e6), ""), ((True, 30e6), "")):
        text = evidence(made, question, choice)
        assert part in text
        assert ("of 90" in text) == bool(part)


def test_restrictions_are_the_reason_if_they_exclude_complete_metrics(results: Results) -> None:
    fitted = replace(results, metrics=tuple(replace(entry, fitted_on="ratings") for entry in results.metrics))
    for made, words in ((fitted, "no metric"), (altered(fitted, "bleu", fitted_on=""), "no other metric")):
        texts = {question.title: recommendation(make_index(made), question) for question in questions(made)}
        assert f" {words} meets" in texts["interesting"]
        for text in (texts["overall"], str(front.build(made))):
            assert re.search(f"{words} with [^.]* 3 targets", text)


def test_scripts_round_ranked_values_as_the_pages_do(results: Results) -> None:
    made = with_values(results, {(name, "bleu", ""): 0.14850004 for name, _ in CELLS})
    data = script_data(made)
    place = next(place for place, column in enumerate(data["columns"]) if column["metric"] == "bleu")
    assert {f"{question['ranks'][place][3]:.3f}" for question in data["questions"]} == {"0.149"}


def test_caption_mentions_fitted_metrics_only_if_some_are_ranked(results: Results) -> None:
    for made, clause in ((results, ""), (altered(results, "length", fitted_on="ratings"), ", including those fitted")):
        (page,) = front.build(made)
        assert table(page, "board").data.partition(" on ratings")[0] == f"Ranks count all columns{clause}"


def test_rater_noise_is_stated_with_the_targets_on_which_it_is_known(results: Results) -> None:
    known = replace(results, reliability=[Reliability(*CELLS[number], "split-half", 0.25, 90) for number in (0, 2, 4)])
    texts = {question.title: rater_agreement(question) for question in questions(known)}
    for title, part in (("all qualities", "0.50 on 3 of 5 qualities"), ("overall", "0.50 on 1 of 3 datasets"),
                        ("interesting", "0.50.")):
        assert texts[title].endswith(part.rstrip(".") + ".")


def test_leading_control_is_not_recommended(results: Results) -> None:
    made = with_values(results, {(name, "length", ""): 0.9 for name in ("fed-turn", "topical-usr", "fed-dial")})
    (page,) = front.build(made)
    (ask,) = (block for block in page.sections[0].blocks if isinstance(block, Ask))
    assert f"{ask.question} {ask.best.text}".endswith("3 targets beats length")
    assert row(table(page, "answers-table"), "overall")["Not fitted on ratings"].small.endswith("beats this control")


def test_sample_and_challenges_name_no_era(mixed: Results, results: Results) -> None:
    sample = {entry.name for entry in mixed.datasets if entry.kind == "sample"}
    challenge = replace(results, run=replace(results.run, options={"challenge": "mine"}))
    for made in (select_datasets(mixed, sample), challenge):
        assert {question.systems for question in questions(made)} == {""}


@pytest.mark.parametrize(("value", "error"), [(-0.02, math.nan), (0.04, 0.025)])
def test_best_column_near_zero_is_not_recommended(results: Results, value: float, error: float) -> None:
    made = with_values(results, {("fed-turn", name, "Interesting"): value for name in ("bleu", SCRIPT, "length")})
    made = replace(made, ranking=tuple(replace(row, error=error) for row in made.ranking))
    question = find_question(made, "interesting")
    assert not is_above_zero(question, answers(made)(question.name)[DEFAULT_CHOICE].best)
    assert "lead" not in evidence(made, question)


def test_leads_on_few_contexts_cannot_be_established(full: Results) -> None:
    for contexts, few in ((6, False), (1, True)):
        made = replace(full, points=tuple(replace(
            points, contexts=np.arange(len(points.items)) % contexts, conversations=None) for points in full.points))
        assert any(TOO_FEW in evidence(made, question) for question in questions(made)) == few


def test_scripts_have_every_rank(full: Results) -> None:
    data = script_data(full)
    for entry, question in zip(data["questions"], questions(full), strict=True):
        assert entry["board"] == question.name
        ranked = {column[1]: row for column, row in question.ranked.items()}
        for column, values in zip(data["columns"], entry["ranks"], strict=True):
            row = ranked.get(column["name"])
            assert values == (row and [row.rank, row.low, row.high, round(row.value, 10), 0.03919928])


def test_scripts_have_every_comparison(full: Results) -> None:
    data, name = script_data(full), "persona-usr"
    pairs = list(combinations([column["name"] for column in data["columns"]], 2))
    (comparisons,) = (rows for rows in full.comparisons if (rows.dataset, rows.quality, rows.statistic) == (
        name, "Overall", "spearman"))
    targets = [(data["datasets"][target["dataset"]], target["quality"]) for target in data["targets"]]
    tests = data["tests"]["perm-both"][targets.index((name, "Overall"))]
    codes = dict(zip(pairs, map(int, tests), strict=True))
    for comparison in comparisons:
        pair = comparison.better, comparison.worse
        expected = NO_DIFFERENCE if comparison.bh >= 0.05 else BETTER if pair in codes else WORSE
        assert codes.get(pair, codes.get(pair[::-1])) == expected
    assert len(set(codes.values())) > 1


def test_tied_columns_are_both_shown(results: Results) -> None:
    tied = with_values(results, {(row.dataset, SCRIPT, row.quality): row.value for row in results.correlations
                                 if row.column == "bleu1" and row.statistic == "spearman"})
    best = best_of_each(make_index(tied), find_question(tied), DEFAULT_CHOICE)
    assert {name for name, _ in best[:2]} == {"bleu", SCRIPT}


@pytest.mark.parametrize(("change", "same"), [(1e-9, True), (1.0, False)])
def test_columns_are_identical_if_their_scores_are(full: Results, change: float, same: bool) -> None:
    """The second column differs from the first in one item, by a rounding error or by more."""
    length, random = ("length", "length"), ("random", "random")

    def copied(points: ItemScores) -> ItemScores:
        scores = points.scores[length].astype(np.float64)
        scores[0] += change
        return replace(points, scores={**points.scores, random: scores})

    made = replace(full, points=tuple(map(copied, full.points)))
    assert (random in identical_columns(made).get(length, ())) is same


def test_worst_reply_of_each_metric_is_in_worst_js(full: Results) -> None:
    near, far = (Example("persona-usr", "Overall", name, "b", ("One.", "Two.", "Three."), name, 4.5, people, 0.1, (),
                         "length") for name, people in (("near", 0.4), ("far", 0.9)))
    made = replace(full, examples=(near, replace(far, metric=""), far))
    assert worst(made) == (b'const Worst = {"length":{"dataset":"persona-usr","people":0.9,"position":0.1,'
                           b'"turns":["Two.","Three.","far"]}};\n')
    assert [script_data(part)["worst"] for part in (made, replace(full, examples=()))] == ["worst.js", ""]


def test_scripts_write_no_markup_and_load_nothing() -> None:
    scripts = [entry.read_text() for entry in (resources.files("leaderboard") / "static").iterdir()
               if entry.name.endswith(".js")]
    assert len(scripts) == 5
    for script in scripts:
        assert not re.search(r"innerHTML|outerHTML|insertAdjacent|document\.write|eval\(|Function\(|fetch\(|"
                             r"XMLHttp|import |https?://(?!www\.w3\.org/2000/svg)|\.style\b", script)


def test_cost_includes_inputs(results: Results) -> None:
    timings = (Timing("a", "bleu", 100, 1.0), Timing("b", "bleu", 300, 1.0), Timing("c", "bleu", 0, 9.0),
               Timing("a", "length", 100, 0.1))
    signature = {"metric": "length", "bleu1: metric": "bleu", "x: metric": "bleu"}
    cost = costs(altered(replace(results, timings=timings), "length", signature=signature))
    assert cost["bleu"].seconds == pytest.approx(5.0)  # 2 seconds for 400 items
    assert (cost["length"].seconds, cost["length"].inputs) == (pytest.approx(6.0), ("bleu",))
    assert cost_cell(cost["grade"]).text == "–"
    for value, text in ((0.0, "< 0.01"), (0.014, "0.01"), (0.62, "0.62"), (0.996, "1.0"), (9.94, "9.9"), (9.96, "10")):
        assert cost_cell(Cost(value)).text == text


def test_cost_picture_has_the_pareto_front_of_known_costs(full: Results) -> None:
    for unknown in ("", "random"):
        timed = replace(full, timings=[row for row in full.timings if row.metric != unknown])
        index, first = make_index(timed), find_question(timed)
        shown = best_of_each(index, first, DEFAULT_CHOICE)
        picture = cost_picture(index, first, shown)
        assert picture is not None
        points = {index.labels[column]: (costs(timed)[column[0]].seconds, first.ranked[column].value)
                  for column in shown if column[0] != unknown}
        best = {name for name, (cost, value) in points.items() if not any(
            other < cost and more >= value for other, more in points.values())}
        assert set(re.findall(r"([\w-]+), -?\d\.\d\d at", picture.text)) == best
        assert picture.text.startswith(f"Of {len(points)} metrics ")
        assert picture.svg.count("<circle") == len(points) == len(shown) - bool(unknown)
