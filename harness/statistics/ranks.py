"""Ranks from 1, the lowest; equals share the mean of their ranks.

As scipy.stats.rankdata of values without NaN, in a third of its time and without the second that scipy.stats takes to
import.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Ranks: TypeAlias = npt.NDArray[np.float64]


def ranks(values: npt.NDArray[np.floating | np.integer]) -> Ranks:
    """The rank of each value (n,)."""
    order = np.argsort(values)
    ordered = values[order]
    first = np.ones(ordered.size + 1, dtype=np.bool_)  # of its equals; one more where all end
    first[1:-1] = ordered[1:] != ordered[:-1]
    starts = np.flatnonzero(first)
    means = (starts[:-1] + 1 + starts[1:]) / 2
    ranked = np.empty(ordered.size)
    ranked[order] = means[np.cumsum(first[:-1]) - 1]
    return ranked


def row_ranks(values: npt.NDArray[np.floating]) -> Ranks:
    """The rank of each value in its row (rows, n)."""
    ranked = np.empty(values.shape)
    for row, own in enumerate(values):
        ranked[row] = ranks(own)
    return ranked
