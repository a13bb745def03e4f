"""Every two columns on a target, tested: which agrees better with people, and how sure that is.

The results have the comparisons with their p adjusted over all pairs of a target, by Holm and by Benjamini and
Hochberg. Here they are matrices whose rows are in the order of the correlations. Letters are a compact letter display
(harness/statistics/significance.py): columns that share one do not differ significantly.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from harness.results.rows import Comparisons, Results
from harness.statistics.significance import letters
from leaderboard.model.index import STATISTIC, Column, Index, Target, has_value, make_index, once

ALPHA = 0.05
HOLM, BENJAMINI_HOCHBERG = 2, 1
"""Significant by Holm's method, or only by that of Benjamini and Hochberg."""
NOT_TESTED, NO_DIFFERENCE, BETTER, WORSE = range(4)
"""How two columns compare, as the scripts of a page read it; significant by Holm's method."""

Test: TypeAlias = tuple[str, str]
"""A statistic and a test."""
WILLIAMS: Test = (STATISTIC, "williams")
Square: TypeAlias = npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class Matrix:
    """The comparisons on a target: columns from the highest correlation on, and `levels`, a row for each of them.

    In `levels`, 2 and 1 say that the row is better than the column by Holm or by the other method alone, −2 and −1 that
    it is worse, and 0 that they do not differ significantly or were not tested; `tested` says which.
    """

    columns: tuple[Column, ...]
    values: tuple[float, ...]
    levels: Square
    tested: npt.NDArray[np.bool_]
    pairs: int
    least_items: int
    most_items: int

    @property
    def by_holm(self) -> int:
        """How many pairs differ significantly by Holm."""
        return int((self.levels == HOLM).sum())

    @property
    def by_benjamini_hochberg(self) -> int:
        """How many differ significantly by the method of Benjamini and Hochberg alone."""
        return int((self.levels == BENJAMINI_HOCHBERG).sum())

    def beats(self, first: Column, second: Column) -> bool:
        """Tell whether a column is significantly better than another by Holm."""
        places = [self.columns.index(column) for column in (first, second) if column in self.columns]
        return len(places) == 2 and bool(self.levels[places[0], places[1]] == HOLM)

    def wins(self) -> list[int]:
        """How many columns each beats by Holm."""
        return [int(count) for count in (self.levels == HOLM).sum(axis=1)]

    def losses(self) -> list[int]:
        """How many columns beat each by Holm."""
        return [int(count) for count in (self.levels == -HOLM).sum(axis=1)]

    def best_match(self, row: int) -> int:
        """Return the best column that does not beat this one, at the last this one itself."""
        return int(np.flatnonzero(self.levels[row] != -HOLM)[0])

    def letters(self) -> tuple[str, ...]:
        """Return the letters of each column, `a` being that of the best."""
        return letters(-np.arange(len(self.columns), dtype=np.float64), self.levels == HOLM)


@dataclass(frozen=True, slots=True)
class Score:
    """On how many targets a column beats another, loses to it, and was tested against it."""

    won: int
    lost: int
    tested: int


@dataclass(frozen=True, slots=True)
class Pairs:
    """The matrices of all targets, by test."""

    matrices: Mapping[Target, Mapping[Test, Matrix]]

    @property
    def statistics(self) -> set[str]:
        """The statistics that Williams' test was made of."""
        return {statistic for tests in self.matrices.values() for statistic, test in tests if test == "williams"}

    def matrix(self, target: Target, test: Test = WILLIAMS) -> Matrix | None:
        """Return the matrix of a target, if the test was made there."""
        return self.matrices.get(target, {}).get(test)

    def score(self, targets: Iterable[Target], first: Column, second: Column) -> Score:
        """Count over targets how often Williams' test finds one column better than another."""
        levels = [int(matrix.levels[at]) for target in targets if (matrix := self.matrix(target)) is not None
                  and first in matrix.columns and second in matrix.columns
                  and matrix.tested[at := (matrix.columns.index(first), matrix.columns.index(second))]]
        return Score(levels.count(HOLM), levels.count(-HOLM), len(levels))

    def packed(self, statistic: str, targets: Sequence[Target], columns: Sequence[Column]) -> bytes:
        """Pack four pairs a byte, lowest bits first; target after target, the pairs (0, 1), (0, 2) ... (1, 2) ..."""
        position = {column: place for place, column in enumerate(columns)}
        upper = np.triu_indices(len(columns), 1)
        flat = np.zeros((len(targets), len(upper[0])), np.uint8)
        for row, target in enumerate(targets):
            if (matrix := self.matrix(target, (statistic, "williams"))) is not None:
                known = [place for place, column in enumerate(matrix.columns) if column in position]
                at = np.ix_(*[[position[matrix.columns[place]] for place in known]] * 2)
                square = np.zeros((len(columns), len(columns)), np.uint8)
                codes = np.select([matrix.levels == HOLM, matrix.levels == -HOLM], [BETTER, WORSE], matrix.tested)
                square[at] = codes[np.ix_(known, known)]
                flat[row] = square[upper]
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
    matrices: dict[Target, dict[Test, Matrix]] = defaultdict(dict)
    for own in sorted(results.comparisons, key=lambda own: (own.dataset, own.quality, own.statistic, own.test)):
        target = (own.dataset, own.quality)
        if (matrix := _matrix(index, target, columns[target], own)) is not None:
            matrices[target][own.statistic, own.test] = matrix
    return Pairs(dict(matrices))


def names(columns: Iterable[Column]) -> dict[str, Column]:
    """Name the columns of a target as comparisons do: the column, after its metric where two have that name."""
    listed = sorted(columns)
    shared = Counter(name for _, name in listed)
    return {name if shared[name] == 1 else f"{metric}/{name}": (metric, name) for metric, name in listed}


def _matrix(index: Index, target: Target, columns: set[Column], own: Comparisons) -> Matrix | None:
    values = {column: row.value for column in columns
              if (row := index.correlation(target, column, own.statistic)) is not None and has_value(row)}
    order = sorted(values, key=lambda column: (-values[column], column))
    position = {name: order.index(column) for name, column in names(columns).items() if column in values}
    places = np.array([position.get(name, -1) for name in own.names])
    better, worse = places[own.better], places[own.worse]
    known = (better >= 0) & (worse >= 0)
    if not known.any():
        return None
    better, worse, n = better[known], worse[known], own.n[known]
    level = np.select([own.holm < ALPHA, own.bh < ALPHA], [HOLM, BENJAMINI_HOCHBERG], 0)[known]
    levels, tested = np.zeros((len(order), len(order)), np.int8), np.zeros((len(order), len(order)), np.bool_)
    levels[better, worse], levels[worse, better] = level, -level
    tested[better, worse] = tested[worse, better] = True
    return Matrix(tuple(order), tuple(values[column] for column in order), levels, tested, len(n),
                  int(n.min()), int(n.max()))
