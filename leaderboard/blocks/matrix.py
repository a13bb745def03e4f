"""Every column against every other on one quality of a dataset, by one test: who is ahead, and how sure that is.

The report has the comparisons with their p adjusted over all pairs of a quality, by Holm and by Benjamini and Hochberg.
Here they are put into a square whose rows are in the order of their correlations. Letters are a compact letter display
(Piepho 2004), as `harness report --clusters` prints it: columns that share one cannot be told apart.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from string import ascii_letters
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from harness.results.rows import Comparison
from leaderboard.model.index import Index, Key, there

ALPHA = 0.05
SURE, LIKELY = 2, 1
"""Significant by Holm's method, or only by that of Benjamini and Hochberg."""

Place: TypeAlias = tuple[str, str]
"""A dataset and a quality."""
Way: TypeAlias = tuple[str, str]
"""A statistic and a test."""
Square: TypeAlias = npt.NDArray[np.int8]


@dataclass(frozen=True, slots=True)
class Matrix:
    """The comparisons of a quality: columns from the highest correlation on, and `ahead`, a row for each of them.

    In `ahead`, 2 and 1 say that the row is better than the column by Holm or by the other method alone, −2 and −1 that
    it is worse, and 0 that they cannot be told apart or were not tested.
    """

    keys: tuple[Key, ...]
    values: tuple[float, ...]
    ahead: Square
    pairs: int
    least: int
    most: int

    @property
    def sure(self) -> int:
        """How many pairs are told apart by Holm."""
        return int((self.ahead == SURE).sum())

    @property
    def likely(self) -> int:
        """How many are told apart by the method of Benjamini and Hochberg alone."""
        return int((self.ahead == LIKELY).sum())

    def beats(self) -> list[int]:
        """How many columns each beats by Holm."""
        return [int(count) for count in (self.ahead == SURE).sum(axis=1)]

    def beaten(self) -> list[int]:
        """How many columns beat each by Holm."""
        return [int(count) for count in (self.ahead == -SURE).sum(axis=1)]

    def match(self, row: int) -> int:
        """The best column that one is not beaten by, itself at the last."""
        return int(np.flatnonzero(self.ahead[row] != -SURE)[0])

    def letters(self) -> tuple[str, ...]:
        """The letters of each column, `a` being that of the best."""
        return letters([[int(other) for other in np.flatnonzero(abs(row) == SURE)] for row in self.ahead])


def matrices(index: Index) -> dict[Place, dict[Way, Matrix]]:
    """Put every contest of the report where it belongs; those of a column without a value are left out."""
    comparisons: dict[tuple[Place, Way], list[Comparison]] = defaultdict(list)
    for row in index.results.comparisons:
        comparisons[(row.dataset, row.quality), (row.statistic, row.test)].append(row)
    keys: dict[Place, set[Key]] = defaultdict(set)
    for dataset, quality, metric, column, _ in index.correlations:
        keys[dataset, quality].add((metric, column))
    squares: dict[Place, dict[Way, Matrix]] = defaultdict(dict)
    for (place, way), rows in sorted(comparisons.items(), key=lambda entry: entry[0]):
        if (one := _matrix(index, place, way[0], keys[place], rows)) is not None:
            squares[place][way] = one
    return dict(squares)


def names(keys: Iterable[Key]) -> dict[str, Key]:
    """The columns of a quality as comparisons name them: the column, after its metric where two have that name."""
    listed = sorted(keys)
    shared = Counter(column for _, column in listed)
    return {column if shared[column] == 1 else f"{metric}/{column}": (metric, column) for metric, column in listed}


def letters(apart: Sequence[Sequence[int]]) -> tuple[str, ...]:
    """The letters of rows from the best on, given with which others each is told apart.

    They cover all pairs that are alike by groups without a pair that is not, taken greedily from the best row on. Sets
    of rows are bits of a number, because there are some thousand pairs on each of some fifty qualities.
    """
    every = (1 << len(apart)) - 1
    alike = [every & ~sum(1 << other for other in others) for others in apart]
    covered = [0] * len(apart)
    groups: list[int] = []
    for row, own in enumerate(alike):
        for other in range(row, len(apart)):
            wanted = own >> other & 1 and not covered[row] >> other & 1
            if wanted and (other != row or not covered[row]):
                groups.append(_grown(row, other, alike))
                for member in _members(groups[-1]):
                    covered[member] |= groups[-1]
    return tuple("".join(_letter(number) for number, group in enumerate(groups) if group >> row & 1)
                 for row in range(len(apart)))


def _grown(row: int, other: int, alike: Sequence[int]) -> int:
    """Two rows, and from the best on every other that is like all in the group so far."""
    group, open_to = 1 << row | 1 << other, alike[row] & alike[other]
    while rest := open_to & ~group:
        member = (rest & -rest).bit_length() - 1
        group |= 1 << member
        open_to &= alike[member]
    return group


def _members(group: int) -> Iterable[int]:
    while group:
        yield (group & -group).bit_length() - 1
        group &= group - 1


def _letter(number: int) -> str:
    return ascii_letters[number % 52] + "'" * (number // 52)


def _matrix(index: Index, place: Place, statistic: str, keys: set[Key], rows: Sequence[Comparison]) -> Matrix | None:
    values = {key: row.value for key in keys
              if (row := index.correlation(*place, key, statistic)) is not None and there(row)}
    order = sorted(values, key=lambda key: (-values[key], key))
    position = {name: order.index(key) for name, key in names(keys).items() if key in values}
    known = [row for row in rows if row.better in position and row.worse in position]
    if not known:
        return None
    better = np.array([position[row.better] for row in known])
    worse = np.array([position[row.worse] for row in known])
    level = np.array([SURE if row.holm < ALPHA else LIKELY if row.bh < ALPHA else 0 for row in known], dtype=np.int8)
    ahead = np.zeros((len(order), len(order)), dtype=np.int8)
    ahead[better, worse] = level
    ahead[worse, better] = -level
    sizes = [row.n for row in known]
    return Matrix(tuple(order), tuple(values[key] for key in order), ahead, len(known), min(sizes), max(sizes))
