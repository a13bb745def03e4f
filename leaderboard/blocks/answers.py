"""The short answers as tables of the front page."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from leaderboard.blocks.boards import cost_cell, needs_cell
from leaderboard.blocks.cells import MISSING, count_cell, metric_cell, number_cell
from leaderboard.blocks.cells import table as table_of
from leaderboard.blocks.tables import Cell, Group, Heading, Row, Table
from leaderboard.model.answers import Question, raters, score
from leaderboard.model.cost import costs
from leaderboard.model.index import Column, Index

MEAN = Heading("Mean ρ", "number", title="Mean of its Spearman correlations with people")
HEADINGS = (
    Heading("Over", "stub"), Heading("Datasets", "number"), Heading("Best metric", "words"), MEAN,
    Heading("Next", "words", title="The best column of another metric"), MEAN,
    Heading("Really better?", "words",
            title="Over all qualities by the letters of the board, on one by Williams' test. Below: on how many "
                  "targets that test, adjusted by Holm over all pairs, finds the best better than the next"),
    Heading("People", "number", title="Mean Spearman correlation of one rater with the mean of the others"),
    Heading("Cost", "number", small="s per 1,000", title="Seconds per 1,000 items of the best metric"),
    Heading("Needs", "words", title="What the best metric needs beside the response"))


def answer_table(index: Index, origin: str, anchor: str, caption: str, groups: Sequence[tuple[str, Sequence[Row]]],
                 folded: str = "") -> Table:
    """Set answers below each other."""
    listed = (Group(tuple(rows), title) for title, rows in groups if rows)
    return replace(table_of(index, origin, anchor, caption, HEADINGS, listed), folded=folded)


def answer_row(index: Index, question: Question) -> Row | None:
    """Answer a question; None where no column has a mean."""
    order = question.best()
    if not order:
        return None
    best, cost = order[0], costs(index.results).get(order[0])
    return (Cell(question.title, link=question.link), count_cell(len(question.datasets)),
            *_named(index, question, best), *_next(index, question, *order), _people(index, question),
            cost_cell(cost), needs_cell(cost))


def _named(index: Index, question: Question, column: Column) -> Row:
    return (replace(metric_cell(index, column), model=""),
            replace(number_cell(question.means[column]), small=question.ranks.get(column, "")))


def _next(index: Index, question: Question, best: Column, following: Column | None = None) -> Row:
    if following is None:
        return (Cell("none"), Cell(MISSING, title="no other metric has every value"), Cell(""))
    return (*_named(index, question, following), _difference(index, question, best, following))


def _difference(index: Index, question: Question, best: Column, following: Column) -> Cell:
    """Say in one word whether the difference is real, and on how many targets it is significant."""
    counts, same = score(index, question, best, following), question.same_group(best, following)
    if not counts.tested and same is None:
        return Cell("not tested", title="the report has no comparisons of the two")
    small = f"significant on {counts.won} of {counts.tested}" + (
        f", the other way on {counts.lost}" if counts.lost else "")
    if same is not None:
        return Cell("no" if same else "yes", small=small,
                    title="by the letters of the board: the ranks of columns that share one do not differ "
                          "significantly")
    return Cell("yes" if counts.won == counts.tested else "in part" if counts.won > counts.lost else "no", small=small)


def _people(index: Index, question: Question) -> Cell:
    value, known = raters(index, question)
    if not math.isfinite(value):
        return Cell(MISSING, title="no item has votes of several people, or the report has no reliability")
    every = len(set(question.names))
    return replace(number_cell(value), small=f"{known} of {every} qualities" if known < every else "")
