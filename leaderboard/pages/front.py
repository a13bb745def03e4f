"""The front page: the recommended metric in a sentence and a picture, the board, and the answers to all questions."""

from __future__ import annotations

import math
from collections.abc import Sequence

from harness.results.rows import Results
from leaderboard.blocks.boards import QUALITIES, ranked_table
from leaderboard.blocks.cells import column_cell, number_cell
from leaderboard.blocks.pictures import cost_picture
from leaderboard.blocks.tables import Ask, Cell, Heading, Page, Prose, Row, Section, Table
from leaderboard.model import sentences
from leaderboard.model.index import Column, Index, make_index, plural
from leaderboard.model.numbers import columns_of
from leaderboard.model.questions import Choice, Question, answers, best_of_each, default, questions

PLAIN: Choice = (False, math.inf)
"""The first choice shown: no ratings, any model."""
READ = ("Score: mean Spearman correlation with human ratings over the datasets; ± is half of its 95 % interval over "
        "resampled contexts. Rank: among all columns without missing values; its 95 % interval is over resampled "
        "contexts and, where a quality has several datasets, resampled datasets. A lead over the next metric is "
        "established if PERM-BOTH, which swaps whole contexts on all datasets, gives p < 0.05 after adjustment for "
        "five comparisons. Williams’ test, in the details of a metric, treats items as independent: its p-values are "
        "too small where several items share a context. Bold: best of the column; underlined: second best; ▽: no "
        "better than counting words. Below a name: how the metric relates to the system of its paper. Metrics fitted "
        "on ratings were also designed while looking at these datasets, so their scores are optimistic.")
OTHERS = "Other columns: not the best of their metric, fitted on ratings, or with missing values"


def build(results: Results) -> tuple[Page, ...]:
    index, all_questions = make_index(results), questions(results)
    first = default(all_questions)
    sections = [Section("nothing", "No ranking", (Prose(sentences.why_no_board(results)),))]
    if first is not None:
        shown = best_of_each(index, first, PLAIN)
        sections = [Section("answer", "", (_answer(index, first),), boxed=True),
                    Section("metrics", "Board", (_board(index, all_questions, first, shown), Prose(READ))),
                    Section("answers", "All answers", (_answers(index, all_questions),))]
        if picture := cost_picture(index, first, shown):
            title = f"Correlation against cost: {first.title}, without ratings"
            sections.append(Section("costs", title, (picture,)))
    return (Page(path="index.html", title="Which metric should I use?", label="Board", sections=tuple(sections),
                 ranked=first is not None),)


def _answer(index: Index, first: Question) -> Ask:
    answer = answers(index.results).get((first.name, PLAIN))
    text = sentences.question_text(first, PLAIN, answer is not None and sentences.is_control(index, answer.best))
    if answer is None:
        return Ask(text, Cell("every metric has a missing value"), "", "", sentences.people(first))
    return Ask(text, column_cell(index, answer.best), sentences.about(index, answer.best),
               sentences.evidence(index, first, answer), sentences.people(first))


def _board(index: Index, all_questions: Sequence[Question], first: Question, shown: Sequence[Column]) -> Table:
    columns = columns_of(index.results)
    qualities = [question for question in all_questions if question.dimension and question.id.group == first.id.group]
    widespread = [question for question in qualities if question.datasets > 1] or qualities
    others = dict.fromkeys(column for column in (*first.ranked, *columns) if column not in shown)
    return ranked_table(index, first, widespread[:QUALITIES], columns, {"": shown, OTHERS: list(others)})


def _answers(index: Index, all_questions: Sequence[Question]) -> Table:
    """Answer every question, without and with ratings."""
    all_answers = answers(index.results)

    def cells(question: Question, choice: Choice) -> Row:
        if (answer := all_answers.get((question.name, choice))) is None:
            return (Cell("none"), Cell(""), Cell(""))
        row, control = question.ranked[answer.best], sentences.is_control(index, answer.best)
        lead = "not tested" if answer.lead is None else "established" if answer.lead.established else "not established"
        return (column_cell(index, answer.best)._replace(small=f"{sentences.BEATEN} this control" if control else ""),
                number_cell(row.value)._replace(small=sentences.error(row.error).strip()),
                Cell(lead, title="" if answer.following is None else f"over {index.labels[answer.following]}"))

    rows = tuple((Cell(question.title), Cell(str(question.datasets)), *cells(question, PLAIN),
                  *cells(question, (True, math.inf))) for question in all_questions)
    headings = (Heading("Quality", "stub"), Heading("Datasets", "number"), *(
        heading for words in ("Without ratings", "With ratings")
        for heading in (Heading(words, "words"), Heading("Score", "number"), Heading("Lead", "words"))))
    return Table.of("answers-table", "The best metric for each quality", headings, rows, index.data(),
                    folded=f"Answers to all {plural(len(rows), 'question')}")
