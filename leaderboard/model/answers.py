"""The short answers: the best column of a board or of a quality, the next one, and whether they really differ."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from leaderboard.model.boards import Board, rank_interval
from leaderboard.model.cost import costs
from leaderboard.model.index import Column, Index, Target, has_value
from leaderboard.model.numbers import TargetEntry
from leaderboard.model.pairs import Score, make_pairs


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
    def datasets(self) -> set[str]:
        """The datasets of the targets."""
        return {entry.name for entry, _ in self.targets}

    @property
    def names(self) -> list[Target]:
        """The targets by name."""
        return [(entry.name, quality.name) for entry, quality in self.targets]

    def best(self) -> list[Column]:
        """Return the best column, and the best one of another metric; empty where no column has a mean."""
        order = sorted(self.means, key=lambda column: (-self.means[column], column))
        return order[:1] + [column for column in order if column[0] != order[0][0]][:1]

    def same_group(self, first: Column, second: Column) -> bool | None:
        """Tell whether two columns share a letter; None where the board has no letters."""
        letters, other = self.letters.get(first, ""), self.letters.get(second, "")
        return bool(set(letters) & set(other)) if letters and other else None


def of_board(board: Board, targets: tuple[TargetEntry, ...], link: str) -> Question:
    """Ask for the best of a board, by its own rule."""
    rows = board.ranked
    ranks = {column: f"rank {rank_interval(row)}" for column, row in rows.items() if rank_interval(row)}
    return Question(board.title, link, targets, {column: row.value for column, row in rows.items()}, ranks,
                    {column: row.letters for column, row in rows.items()})


def of_quality(index: Index, dimension: str, targets: tuple[TargetEntry, ...], columns: Iterable[Column]) -> Question:
    """Ask for the best on a quality: the mean over all datasets that have it."""
    means = {column: value for column in columns if math.isfinite(value := _mean(index, targets, column))}
    return Question(dimension, index.quality_paths[dimension], targets, means, {}, {})


def unfitted(index: Index, question: Question) -> Question:
    """Ask the same of the columns whose weights were not fitted on human ratings."""
    known = costs(index.results)
    means = {column: value for column, value in question.means.items()
             if column not in known or not known[column].fitted}
    return replace(question, title=f"{question.title}, not fitted on ratings", means=means)


def score(index: Index, question: Question, best: Column, following: Column) -> Score:
    """Count on how many targets Williams' test finds the best better than the next."""
    return make_pairs(index.results).score(question.names, best, following)


def raters(index: Index, question: Question) -> tuple[float, int]:
    """Average how far one rater agrees with the others, and count the targets where that is known.

    The mean is over the qualities of a dataset, then over the datasets; NaN where it is known of none.
    """
    within: dict[str, list[float]] = defaultdict(list)
    for target in sorted(set(question.names)):
        if math.isfinite(value := index.one_rater.get(target, math.nan)):
            within[target[0]].append(value)
    if not within:
        return math.nan, 0
    mean = math.fsum(math.fsum(part) / len(part) for part in within.values()) / len(within)
    return mean, sum(map(len, within.values()))


def by_dimension(targets: Iterable[TargetEntry]) -> dict[str, tuple[TargetEntry, ...]]:
    """Collect targets by the name that datasets share for the quality: those of most datasets first."""
    shared: dict[str, list[TargetEntry]] = defaultdict(list)
    for entry, quality in targets:
        shared[quality.dimension].append((entry, quality))
    return {name: tuple(shared[name]) for name in
            sorted(shared, key=lambda name: (-len({entry.name for entry, _ in shared[name]}), name))}


def _mean(index: Index, targets: Sequence[TargetEntry], column: Column) -> float:
    """Average a column over targets; NaN unless each has a value whose weights were not fitted there."""
    rows = [None if index.is_fitted(column, entry.name) else index.correlation((entry.name, quality.name), column)
            for entry, quality in targets]
    values = [row.value for row in rows if row is not None and has_value(row)]
    return math.fsum(values) / len(values) if values and len(values) == len(rows) else math.nan
