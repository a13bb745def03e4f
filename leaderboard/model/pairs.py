"""Tests of every two columns on each target, packed for the scripts; significant after Holm over all pairs there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from harness.results.item_scores import labels
from harness.results.rows import Comparisons
from leaderboard.model.index import STATISTIC, Column, Index, Target, has_value

ALPHA = 0.05
NOT_TESTED, NO_DIFFERENCE, BETTER, WORSE = range(4)
"""Codes that the scripts read."""


def packed(index: Index, targets: Sequence[Target], columns: Sequence[Column]) -> dict[str, bytes]:
    """Pack the results of each test: four pairs per byte, lowest bits first, one target after the other.

    The pairs of a target are (0, 1), (0, 2) ... (1, 2) ...
    """
    upper = np.triu_indices(len(columns), 1)
    by_test = {(rows.test, rows.dataset, rows.quality): rows for rows in index.results.comparisons
               if rows.statistic == STATISTIC}
    tests: dict[str, bytes] = {}
    for test in sorted({test for test, *_ in by_test}):
        flat = np.zeros((len(targets), len(upper[0])), np.uint8)
        for row, target in enumerate(targets):
            if comparisons := by_test.get((test, *target)):
                flat[row] = _square(index, columns, comparisons)[upper]
        four = np.zeros(-(-flat.size // 4) * 4, np.uint8)
        four[:flat.size] = flat.ravel()
        tests[test] = bytes(four.reshape(-1, 4) @ np.array([1, 4, 16, 64], np.uint8))
    return tests


def _square(index: Index, columns: Sequence[Column], comparisons: Comparisons) -> npt.NDArray[np.uint8]:
    """Return the code of each pair of columns on a target; columns without a correlation there are not tested."""
    position = {column: number for number, column in enumerate(columns)
                if has_value(index.correlation((comparisons.dataset, comparisons.quality), column))}
    scored = sorted(index.columns[comparisons.dataset])
    by_label = {name: position.get(column, -1) for name, column in zip(labels(scored), scored, strict=True)}
    positions = np.array([by_label.get(name, -1) for name in comparisons.names])
    better, worse = positions[comparisons.better], positions[comparisons.worse]
    listed = (better >= 0) & (worse >= 0)
    significant = comparisons.holm[listed] < ALPHA
    square = np.full((len(columns), len(columns)), NOT_TESTED, np.uint8)
    square[better[listed], worse[listed]] = np.where(significant, BETTER, NO_DIFFERENCE)
    square[worse[listed], better[listed]] = np.where(significant, WORSE, NO_DIFFERENCE)
    return square
