"""Which of two columns agrees better with people on a quality, by the comparisons of the report: Williams' test, Holm.

Kept as a small matrix per statistic and cell, since a report has some hundred thousand comparisons.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.results.rows import Results
from leaderboard.blocks.matrix import names
from leaderboard.model.index import Key
from leaderboard.model.once import once

TEST = "williams"
LEVEL = 0.05
UNTESTED, LEVEL_WITH, BETTER, WORSE = range(4)

Cell = tuple[str, str]
"""A dataset and a quality."""


@dataclass(frozen=True, slots=True)
class Score:
    """On how many cells a column beats another, loses to it, and was tested against it."""

    won: int
    lost: int
    tested: int


@dataclass(frozen=True, slots=True, eq=False)
class Verdicts:
    """Of every two columns on a cell: one of UNTESTED, LEVEL_WITH, BETTER, WORSE, by statistic (cells, keys, keys)."""

    keys: dict[Key, int]
    cells: dict[Cell, int]
    found: dict[str, npt.NDArray[np.uint8]]

    def score(self, statistic: str, cells: Iterable[Cell], one: Key, other: Key) -> Score:
        """Count over cells how often one column beats another."""
        if statistic not in self.found or one not in self.keys or other not in self.keys:
            return Score(0, 0, 0)
        known = [self.cells[cell] for cell in cells if cell in self.cells]
        row = self.found[statistic][known, self.keys[one], self.keys[other]]
        return Score(int((row == BETTER).sum()), int((row == WORSE).sum()), int((row != UNTESTED).sum()))

    def packed(self, statistic: str, cells: Sequence[Cell], keys: Sequence[Key]) -> bytes:
        """Four verdicts a byte, the lowest bits first; cell after cell, with the pairs (0, 1), (0, 2) ... (1, 2) ..."""
        first, second = np.triu_indices(len(keys), 1)
        places = np.array([self.keys.get(key, -1) for key in keys])
        flat = np.zeros((len(cells), len(first)), np.uint8)
        for row, cell in enumerate(cells):
            if cell in self.cells and statistic in self.found:
                flat[row] = self.found[statistic][self.cells[cell]][places[first], places[second]]
        flat[:, (places[first] < 0) | (places[second] < 0)] = UNTESTED
        four = np.zeros(-(-flat.size // 4) * 4, np.uint8)
        four[:flat.size] = flat.ravel()
        return bytes(four.reshape(-1, 4) @ np.array([1, 4, 16, 64], np.uint8))


@once
def verdicts(results: Results) -> Verdicts:
    """Collect the comparisons of a report."""
    known = {(row.metric, row.column) for row in results.correlations}
    keys = {key: place for place, key in enumerate(sorted(known))}
    named_on = _named(results)
    cells = {cell: place for place, cell in enumerate(sorted(named_on))}
    found = {statistic: np.zeros((len(cells), len(keys), len(keys)), np.uint8)
             for statistic in sorted({row.statistic for row in results.comparisons if row.test == TEST})}
    places = {cell: {name: keys[key] for name, key in named.items()} for cell, named in named_on.items()}
    for row in results.comparisons:
        named = places.get((row.dataset, row.quality), {})
        if row.test == TEST and row.better in named and row.worse in named:
            sure = row.holm < LEVEL
            matrix = found[row.statistic][cells[row.dataset, row.quality]]
            matrix[named[row.better], named[row.worse]] = BETTER if sure else LEVEL_WITH
            matrix[named[row.worse], named[row.better]] = WORSE if sure else LEVEL_WITH
    return Verdicts(keys, cells, found)


def _named(results: Results) -> dict[Cell, dict[str, Key]]:
    """The columns of every cell by what comparisons call them."""
    there: dict[Cell, set[Key]] = defaultdict(set)
    for row in results.correlations:
        there[row.dataset, row.quality].add((row.metric, row.column))
    return {cell: names(keys) for cell, keys in there.items()}
