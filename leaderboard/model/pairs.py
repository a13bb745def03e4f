"""Every two columns on a target, tested: which agrees better with people, significant by Holm over all pairs there."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from harness.results.item_scores import labels
from harness.results.rows import Comparisons
from leaderboard.model.index import STATISTIC, Column, Index, Target, has_value

ALPHA = 0.05
NOT_TESTED, NO_DIFFERENCE, BETTER, WORSE = range(4)
"""How two columns compare, as the scripts of a page read it."""


def packed(index: Index, targets: Sequence[Target], columns: Sequence[Column]) -> dict[str, bytes]:
    """Pack how each two columns compare, by test: four pairs a byte, lowest bits first; one target after the other.

    The pairs of a target are (0, 1), (0, 2) ... (1, 2) ...
    """
    upper = np.triu_indices(len(columns), 1)
    known = {(own.test, own.dataset, own.quality): own for own in index.results.comparisons
             if own.statistic == STATISTIC}
    tests: dict[str, bytes] = {}
    for test in sorted({test for test, *_ in known}):
        flat = np.zeros((len(targets), len(upper[0])), np.uint8)
        for row, target in enumerate(targets):
            if own := known.get((test, *target)):
                flat[row] = _square(index, columns, own)[upper]
        four = np.zeros(-(-flat.size // 4) * 4, np.uint8)
        four[:flat.size] = flat.ravel()
        tests[test] = bytes(four.reshape(-1, 4) @ np.array([1, 4, 16, 64], np.uint8))
    return tests


def _square(index: Index, columns: Sequence[Column], own: Comparisons) -> npt.NDArray[np.uint8]:
    """How each two columns compare on a target; one without a correlation there compares with none."""
    position = {column: place for place, column in enumerate(columns)
                if has_value(index.correlation((own.dataset, own.quality), column))}
    listed = sorted(index.columns[own.dataset])
    place = {name: position.get(column, -1) for name, column in zip(labels(listed), listed, strict=True)}
    places = np.array([place.get(name, -1) for name in own.names])
    better, worse = places[own.better], places[own.worse]
    known = (better >= 0) & (worse >= 0)
    sure = own.holm[known] < ALPHA
    square = np.full((len(columns), len(columns)), NOT_TESTED, np.uint8)
    square[better[known], worse[known]] = np.where(sure, BETTER, NO_DIFFERENCE)
    square[worse[known], better[known]] = np.where(sure, WORSE, NO_DIFFERENCE)
    return square
