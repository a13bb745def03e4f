"""The front page: the recommended metric in a sentence and a plot, the board, and the answers to all questions."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import chain

from harness.results.rows import Results
from leaderboard.blocks.boards import MAX_QUALITIES, ranked_table
from leaderboard.blocks.cells import column_cell, number, number_cell
from leaderboard.blocks.pictures import cost_picture
from leaderboard.blocks.tables import Ask, Cell, Heading, Page, Prose, Section, Table
from leaderboard.model import sentences
from leaderboard.model.boards import Part, parts, plus_minus, why_no_board
from leaderboard.model.index import ColumnKey, Index, make_index, plural
from leaderboard.model.numbers import columns_of
from leaderboard.model.questions import (
    DEFAULT_CHOICE,
    Choice,
    Question,
    answers,
    best_of_each,
    default_question,
    questions,
)
from leaderboard.texts import TEXTS

BOARD = "Board"
OTHERS = "Other columns: not the best of their metric, fitted on ratings, or with missing values"


def build(results: Results) -> tuple[Page, ...]:
    """Build a front page for each era."""
    eras = parts(results)
    choices = tuple(_choice(part) for part in eras) if len(eras) > 1 else ()
    return tuple(_page(part, choices) for part in eras)


def _page(part: Part, choices: tuple[Cell, ...]) -> Page:
    index, all_questions = make_index(part.results), questions(part.results)
    question = default_question(all_questions)
    sections = [Section("nothing", "No ranking", (Prose(why_no_board(part.results)),))]
    if question is not None:
        best_columns = best_of_each(index, question, DEFAULT_CHOICE)
        sections = [Section("answer", "", (_answer(index, question),), boxed=True),
                    Section("metrics", "Board", (_board(index, all_questions, question, best_columns),
                                                 Prose(TEXTS["front"]["read"]))),
                    Section("answers", "All answers", (_answers(index, all_questions),))]
        if picture := cost_picture(index, question, best_columns):
            sections.append(Section(
                "costs", f"Correlation against cost: {question.subject}, without fitting on ratings", (picture,)))
    return Page(path=part.path, title="Which metric should I use?", label=part.era.title if part.suffix else BOARD,
                sections=tuple(sections), group=BOARD if part.suffix else "", choices=choices,
                numbers=f"numbers{part.suffix}.js" if question else "")


def _choice(part: Part) -> Cell:
    """Link to an era's front page, with its answer in a few words."""
    index, question = make_index(part.results), default_question(questions(part.results))
    if question is None or (answer := answers(part.results)(question.name).get(DEFAULT_CHOICE)) is None:
        return Cell(part.era.title, link=part.path)
    label = index.labels[answer.best]
    agrees = sentences.is_above_zero(question, answer.best)
    short_answer = (f"{sentences.no_metric(question)} agrees with people" if not agrees else
                    f"{sentences.no_metric(question)} beats {label}" if sentences.is_control(index, answer.best) else
                    f"{label}, {number(question.ranked[answer.best].value, 2)}")
    return Cell(part.era.title, link=part.path, small=short_answer)


def _answer(index: Index, question: Question) -> Ask:
    answer = answers(index.results)(question.name).get(DEFAULT_CHOICE)
    if answer is None:
        return Ask(sentences.question_text(question, DEFAULT_CHOICE), Cell(sentences.why_no_answer(question)), "", "",
                   sentences.rater_agreement(question))
    return Ask(sentences.question_text(question, DEFAULT_CHOICE, sentences.verdict(index, question, answer.best)),
               column_cell(index, answer.best), sentences.describe_answer(index, question, answer),
               sentences.evidence(index, question, answer), sentences.rater_agreement(question))


def _board(index: Index, all_questions: Sequence[Question], question: Question,
           best_columns: Sequence[ColumnKey]) -> Table:
    columns = columns_of(index.results)
    qualities = [other for other in all_questions if other.dimension and other.id.group == question.id.group]
    widespread = [quality for quality in qualities if quality.datasets > 1] or qualities
    other_columns = dict.fromkeys(column for column in (*question.ranked, *columns) if column not in best_columns)
    groups = {"": best_columns, OTHERS: list(other_columns)}
    return ranked_table(index, question, widespread[:MAX_QUALITIES], columns, groups)


def _answers(index: Index, all_questions: Sequence[Question]) -> Table:
    def cells(question: Question, choice: Choice) -> tuple[object, ...]:
        if (answer := answers(index.results)(question.name).get(choice)) is None:
            return "none", "", ""
        row = question.ranked[answer.best]
        score = number_cell(row.value)._replace(small=plus_minus(row).strip())
        if not sentences.is_above_zero(question, answer.best):
            highest = f"highest: {index.labels[answer.best]}"
            return Cell("none", small=f"{sentences.no_metric(question)} agrees with people; {highest}"), score, ""
        tied = next((row.tied for row in sentences.firmness_of(index, question, answer)), ())
        lead = "not tested" if answer.lead is None or answer.following is None else (
            f"{answer.lead.state} over {index.labels[answer.following]}")
        control = sentences.is_control(index, answer.best)
        remark = f"{sentences.no_metric(question)} beats this control" if control else ""
        return (column_cell(index, answer.best)._replace(small=remark), score,
                Cell(lead, small=f"tied with {sentences.abbreviated(tied)}" if tied else "", title=", ".join(tied)))

    choices = {"Best": DEFAULT_CHOICE} if all_questions[0].published else {
        "Not fitted on ratings": DEFAULT_CHOICE, "Any metric": (True, math.inf)}
    rows = [(question.title, question.datasets, *chain.from_iterable(
        cells(question, choice) for choice in choices.values())) for question in all_questions]
    headings = ("Quality", "Datasets", *chain.from_iterable(
        (Heading(words, "words"), Heading("Score", "number"), Heading("Lead", "words")) for words in choices))
    return Table.of("answers-table", "The best metric for each quality", headings, rows, index.describe_data(),
                    folded=f"Answers to all {plural(len(rows), 'question')}")
