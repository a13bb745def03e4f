"""The short answers: the best column of a board or of a quality, the next one, and whether they really differ."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from leaderboard.blocks.boards import cost_cell, needs_cell
from leaderboard.blocks.cells import MISSING, count_cell, metric_cell, number_cell
from leaderboard.blocks.cells import table as table_of
from leaderboard.blocks.tables import Cell, Group, Heading, Row, Table
from leaderboard.model.boards import Board, rank_interval
from leaderboard.model.cost import costs
from leaderboard.model.index import Column, Index, Target, has_value
from leaderboard.model.numbers import TargetEntry
from leaderboard.model.pairs import make_pairs

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


@dataclass(frozen=True, slots=True)
class Question:
    """Which column is best: over which targets, and each column's mean there."""

    title: str
    link: str
    targets: tuple[TargetEntry, ...]
    means: Mapping[Column, float]
    ranks: Mapping[Column, str]
    letters: Mapping[Column, str]

    @property
    def names(self) -> list[Target]:
        """The targets by name."""
        return [(entry.name, quality.name) for entry, quality in self.targets]


def of_board(board: Board, targets: tuple[TargetEntry, ...], link: str) -> Question:
    """Ask for the best of a board, by its own rule."""
    rows = board.ranked
    ranks = {column: f"rank {rank_interval(row)}" for column, row in rows.items() if rank_interval(row)}
    return Question(board.title, link, targets, {column: row.value for column, row in rows.items()}, ranks,
                    {column: row.letters for column, row in rows.items()})


def of_qualities(index: Index, targets: Iterable[TargetEntry], columns: Sequence[Column]) -> list[Question]:
    """Ask for the best on each quality, by the name that datasets share for it: the one of most datasets first."""
    shared: dict[str, list[TargetEntry]] = defaultdict(list)
    for entry, quality in targets:
        shared[quality.dimension].append((entry, quality))
    means = {name: {column: value for column in columns if math.isfinite(value := _mean(index, own, column))}
             for name, own in shared.items()}
    return [Question(name, index.quality_paths[name], tuple(shared[name]), means[name], {}, {}) for name in
            sorted(shared, key=lambda name: (-len({entry.name for entry, _ in shared[name]}), name))]


def unfitted(index: Index, question: Question) -> Question:
    """Ask the same of the columns whose weights were not fitted on human ratings."""
    known = costs(index.results)
    means = {column: value for column, value in question.means.items()
             if column not in known or not known[column].fitted}
    return replace(question, title=f"{question.title}, not fitted on ratings", means=means)


def answer_table(index: Index, origin: str, anchor: str, caption: str, groups: Sequence[tuple[str, Sequence[Row]]],
                 folded: str = "") -> Table:
    """Set answers below each other."""
    listed = (Group(tuple(rows), title) for title, rows in groups if rows)
    return replace(table_of(index, origin, anchor, caption, HEADINGS, listed), folded=folded)


def answer_row(index: Index, question: Question) -> Row | None:
    """Answer a question with the best column and the best one of another metric; None where no column has a mean."""
    order = sorted(question.means, key=lambda column: (-question.means[column], column))
    if not order:
        return None
    best, cost = order[0], costs(index.results).get(order[0])
    following = next((column for column in order if column[0] != best[0]), None)
    first, second = ((metric_cell(index, column)._replace(model=""),
                      number_cell(question.means[column])._replace(small=question.ranks.get(column, "")))
                     if column else (Cell("none"), Cell(MISSING, title="no other metric has every value"))
                     for column in (best, following))
    return (Cell(question.title, link=question.link), count_cell(len({entry.name for entry, _ in question.targets})),
            *first, *second, _difference(index, question, best, following) if following else Cell(""),
            _people(index, question), cost_cell(cost), needs_cell(cost))


def _difference(index: Index, question: Question, best: Column, following: Column) -> Cell:
    """Say in one word whether the difference is real, and on how many targets Williams' test finds it significant."""
    counts = make_pairs(index.results).score(question.names, best, following)
    letters, others = question.letters.get(best, ""), question.letters.get(following, "")
    if not counts.tested and not (letters and others):
        return Cell("not tested", title="the report has no comparisons of the two")
    small = f"significant on {counts.won} of {counts.tested}" + (
        f", the other way on {counts.lost}" if counts.lost else "")
    if letters and others:
        return Cell("no" if set(letters) & set(others) else "yes", small=small,
                    title="by the letters of the board: the ranks of columns that share one do not differ "
                          "significantly")
    return Cell("yes" if counts.won == counts.tested else "in part" if counts.won > counts.lost else "no", small=small)


def _people(index: Index, question: Question) -> Cell:
    """Average how far one rater agrees with the others: over the qualities of a dataset, then over the datasets."""
    within: dict[str, list[float]] = defaultdict(list)
    names = sorted(set(question.names))
    for target in names:
        if math.isfinite(value := index.one_rater.get(target, math.nan)):
            within[target[0]].append(value)
    if not within:
        return Cell(MISSING, title="no item has votes of several people, or the report has no reliability")
    mean = math.fsum(math.fsum(part) / len(part) for part in within.values()) / len(within)
    known = sum(map(len, within.values()))
    return number_cell(mean)._replace(small=f"{known} of {len(names)} qualities" if known < len(names) else "")


def _mean(index: Index, targets: Sequence[TargetEntry], column: Column) -> float:
    """Average a column over targets; NaN unless each has a value whose weights were not fitted there."""
    rows = [None if index.is_fitted(column, entry.name) else index.correlation((entry.name, quality.name), column)
            for entry, quality in targets]
    values = [row.value for row in rows if row is not None and has_value(row)]
    return math.fsum(values) / len(values) if values and len(values) == len(rows) else math.nan
