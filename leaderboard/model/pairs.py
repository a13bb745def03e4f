"""Every two columns on a target, tested: which agrees better with people, significant by Holm over all pairs there."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from harness.results.rows import Comparisons, Results
from leaderboard.model.index import STATISTIC, Column, Index, Target, has_value, make_index, once

ALPHA = 0.05
NOT_TESTED, NO_DIFFERENCE, BETTER, WORSE = range(4)
"""How two columns compare, as the scripts of a page read it."""

Test: TypeAlias = tuple[str, str]
"""A statistic and a test."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """How each two columns compare, by target and test, as (columns, columns) of the codes above."""

    squares: Mapping[tuple[Target, Test], tuple[Sequence[Column], npt.NDArray[np.uint8]]]

    @property
    def tests(self) -> list[str]:
        """The tests that were made of the first statistic."""
        return sorted({test for _, (statistic, test) in self.squares if statistic == STATISTIC})

    def packed(self, test: Test, targets: Sequence[Target], columns: Sequence[Column]) -> bytes:
        """Pack four pairs a byte, lowest bits first; target after target, the pairs (0, 1), (0, 2) ... (1, 2) ..."""
        position = {column: place for place, column in enumerate(columns)}
        upper = np.triu_indices(len(columns), 1)
        flat = np.zeros((len(targets), len(upper[0])), np.uint8)
        for row, target in enumerate(targets):
            if (target, test) in self.squares:
                own, square = self.squares[target, test]
                known = [place for place, column in enumerate(own) if column in position]
                whole = np.zeros((len(columns), len(columns)), np.uint8)
                whole[np.ix_(*[[position[own[place]] for place in known]] * 2)] = square[np.ix_(known, known)]
                flat[row] = whole[upper]
        four = np.zeros(-(-flat.size // 4) * 4, np.uint8)
        four[:flat.size] = flat.ravel()
        return bytes(four.reshape(-1, 4) @ np.array([1, 4, 16, 64], np.uint8))


@once
def make_pairs(results: Results) -> Pairs:
    """Collect the comparisons of results; those of a column without a correlation are left out."""
    index = make_index(results)
    columns: dict[Target, set[Column]] = defaultdict(set)
    for dataset, quality, metric, name, _ in index.correlations:
        columns[dataset, quality].add((metric, name))
    return Pairs({((own.dataset, own.quality), (own.statistic, own.test)): _square(
        index, (own.dataset, own.quality), columns[own.dataset, own.quality], own) for own in results.comparisons})


def names(columns: Iterable[Column]) -> dict[str, Column]:
    """Name the columns of a target as comparisons do: the column, after its metric where two have that name."""
    listed = sorted(columns)
    shared = Counter(name for _, name in listed)
    return {name if shared[name] == 1 else f"{metric}/{name}": (metric, name) for metric, name in listed}


def _square(index: Index, target: Target, columns: set[Column], own: Comparisons,
            ) -> tuple[Sequence[Column], npt.NDArray[np.uint8]]:
    valued = sorted(column for column in columns if has_value(index.correlation(target, column, own.statistic)))
    place = {name: valued.index(column) for name, column in names(columns).items() if column in valued}
    places = np.array([place.get(name, -1) for name in own.names])
    better, worse = places[own.better], places[own.worse]
    known = (better >= 0) & (worse >= 0)
    sure = own.holm[known] < ALPHA
    square = np.zeros((len(valued), len(valued)), np.uint8)
    square[better[known], worse[known]] = np.where(sure, BETTER, NO_DIFFERENCE)
    square[worse[known], better[known]] = np.where(sure, WORSE, NO_DIFFERENCE)
    return valued, square
