"""The short answers: the best column of a board or of a quality, the next one, and how far both are from people."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from leaderboard.blocks.cells import MISSING, missing, number
from leaderboard.blocks.grid import metric_cell
from leaderboard.blocks.tables import Cell, Group, Heading, Row, Table
from leaderboard.model.boards import Board
from leaderboard.model.cost import FITTED, Profile, cost_cell, needs_cell
from leaderboard.model.index import Index, Key, there
from leaderboard.model.numbers import PEOPLE, Spot
from leaderboard.model.verdicts import Verdicts

STATISTIC = "spearman"
MEAN = Heading("Mean ρ", "number", title="Mean of its Spearman correlations with people")
HEADINGS = (
    Heading("Over", "stub"), Heading("Datasets", "number"), Heading("Best metric", "words"), MEAN,
    Heading("Next", "words", title="The best column of another metric"), MEAN,
    Heading("Really better?", "words",
            title="Over all qualities by the letters of the board, on one by Williams' test. Below: on how many "
                  "qualities of datasets that test, adjusted by Holm over all pairs, finds the best above the next"),
    Heading("People", "number", title="Mean Spearman correlation of one rater with the mean of the others"),
    Heading("Cost", "number", small="s per 1,000", title="Seconds per 1,000 items of the best metric"),
    Heading("Needs", "words", title="What the best metric needs beside the response"))


@dataclass(frozen=True, slots=True)
class Question:
    """What is asked: over which qualities of datasets, and each column's mean there."""

    title: str
    link: str
    spots: tuple[Spot, ...]
    means: Mapping[Key, float]
    ranks: Mapping[Key, str]
    letters: Mapping[Key, str]


@dataclass(frozen=True, slots=True)
class Answers:
    """Everything that answers are drawn from."""

    found: Index
    profiles: Mapping[Key, Profile]
    verdicts: Verdicts

    def row(self, question: Question) -> Row | None:
        """Answer a question; None where no column has a mean."""
        order = sorted(question.means, key=lambda key: (-question.means[key], key))
        if not order:
            return None
        best = order[0]
        following = next((key for key in order if key[0] != best[0]), None)
        profile = self.profiles.get(best)
        datasets = {entry.name for entry, _ in question.spots}
        return (
            Cell(question.title, link=question.link), Cell(str(len(datasets)), value=len(datasets)),
            *self._named(question, best), *self._next(question, best, following), self._people(question.spots),
            cost_cell(profile) if profile else missing("the metric is not in the report"),
            needs_cell(profile) if profile else Cell(MISSING, title="the metric is not in the report"))

    def unfitted(self, question: Question) -> Question:
        """Ask the same of the columns that learned nothing from human ratings."""
        means = {key: value for key, value in question.means.items()
                 if key not in self.profiles or FITTED not in self.profiles[key].needs}
        return replace(question, title=f"{question.title}, not fitted on ratings", means=means)

    def _named(self, question: Question, key: Key) -> Row:
        value = question.means[key]
        return (replace(metric_cell(self.found, key), model=""),
                Cell(number(value), value=value, small=question.ranks.get(key, "")))

    def _next(self, question: Question, best: Key, following: Key | None) -> Row:
        if following is None:
            return (Cell("none"), Cell(MISSING, title="no other metric has every value"), Cell(""))
        return (*self._named(question, following), self._difference(question, best, following))

    def _difference(self, question: Question, best: Key, following: Key) -> Cell:
        """Say in one word whether the difference is real, and on how many qualities it was found to be."""
        cells = [(entry.name, quality.name) for entry, quality in question.spots]
        score = self.verdicts.score(STATISTIC, cells, best, following)
        one, other = question.letters.get(best, ""), question.letters.get(following, "")
        if not score.tested and not (one and other):
            return Cell("not tested", title="the report has no comparisons of the two")
        counted = f"significant on {score.won} of {score.tested}" + (f", against it on {score.lost}"
                                                                   if score.lost else "")
        if one and other:
            return Cell("no" if set(one) & set(other) else "yes", small=counted,
                        title="by the letters of the board: columns that share one cannot be told apart")
        sure = "yes" if score.won == score.tested else "in part" if score.won > score.lost else "no"
        return Cell(sure, small=counted)

    def _people(self, spots: Iterable[Spot]) -> Cell:
        """Average how far one rater agrees with the others: over the qualities of a dataset, then over the datasets."""
        wanted = {(entry.name, quality.name) for entry, quality in spots}
        rows = [row for row in self.found.results.reliability if row.method == PEOPLE
                and (row.dataset, row.quality) in wanted and math.isfinite(row.value)]
        if not rows:
            return Cell(MISSING, title="no item has votes of several people, or the report has no reliability")
        within: dict[str, list[float]] = defaultdict(list)
        for row in sorted(rows, key=lambda row: (row.dataset, row.quality)):
            within[row.dataset].append(row.value)
        value = math.fsum(math.fsum(part) / len(part) for part in within.values()) / len(within)
        partly = f"{len(rows)} of {len(wanted)} qualities" if len(rows) < len(wanted) else ""
        return Cell(number(value), value=value, small=partly)


def of_board(board: Board, spots: tuple[Spot, ...], anchor: str) -> Question:
    """Ask for the best of a board, by its own rule."""
    rows = {key: row for key in board.keys if (row := board.complete(board.rules[0], key))}
    ranks = {key: f"rank {row.low:.0f}–{row.high:.0f}" for key, row in rows.items()
             if math.isfinite(row.low) and math.isfinite(row.high)}
    return Question(board.title, anchor, spots, {key: row.value for key, row in rows.items()}, ranks,
                    {key: row.letters for key, row in rows.items()})


def of_quality(index: Index, dimension: str, spots: tuple[Spot, ...], keys: Iterable[Key]) -> Question:
    """Ask for the best on a quality: the mean over all datasets that have it."""
    means = {key: value for key in keys if math.isfinite(value := mean(index, spots, key))}
    return Question(dimension, index.quality_paths[dimension], spots, means, {}, {})


def mean(index: Index, spots: Sequence[Spot], key: Key) -> float:
    """Average a column over qualities; NaN unless each has a value that was not learned there."""
    rows = [None if (key[0], entry.name) in index.learned
            else index.correlation(entry.name, quality.name, key, STATISTIC) for entry, quality in spots]
    values = [row.value for row in rows if row is not None and there(row)]
    return math.fsum(values) / len(values) if values and len(values) == len(rows) else math.nan


def by_dimension(spots: Iterable[Spot]) -> dict[str, tuple[Spot, ...]]:
    """Collect qualities by what datasets share for them: those of most datasets first."""
    found: dict[str, list[Spot]] = defaultdict(list)
    for entry, quality in spots:
        found[quality.dimension].append((entry, quality))
    return {name: tuple(found[name]) for name in
            sorted(found, key=lambda name: (-len({entry.name for entry, _ in found[name]}), name))}


def table(anchor: str, caption: str, groups: Sequence[tuple[str, Sequence[Row]]], data: str, *, sample: bool,
          folded: str = "") -> Table:
    """Set answers below each other."""
    return Table(anchor, caption, HEADINGS, tuple(Group(tuple(rows), title) for title, rows in groups if rows),
                 data=data, sample=sample, folded=folded)
