"""Ranks from 1, the lowest; equals share the mean of their ranks.

As scipy.stats.rankdata of values without NaN, in a third of its time and without the second that scipy.stats takes to
import.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

Ranks: TypeAlias = npt.NDArray[np.float64]
Places: TypeAlias = npt.NDArray[np.int64]


def ranks(values: npt.NDArray[np.floating | np.integer]) -> Ranks:
    """The rank of each value, along the last axis."""
    return _ranked(values, lambda starts, sizes: starts + (sizes + 1) / 2)


def lowest_ranks(values: npt.NDArray[np.floating]) -> Ranks:
    """The rank of each value where equals share the lowest of theirs, along the last axis."""
    return _ranked(values, lambda starts, sizes: starts + 1.0)


def _ranked(values: npt.NDArray[np.floating | np.integer], rank: Callable[[Places, Places], Any]) -> Ranks:
    """The rank of each run of equal values, by its place and size, for each of them."""
    order = np.argsort(values, axis=-1)
    ordered = np.take_along_axis(values, order, axis=-1)
    first = np.ones(values.shape, dtype=np.bool_)
    first[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
    starts = np.flatnonzero(first)
    sizes = np.diff(starts, append=values.size)
    ranked = np.empty(values.shape)
    of_runs = np.repeat(rank(starts % max(1, values.shape[-1]), sizes), sizes)
    np.put_along_axis(ranked, order, of_runs.reshape(values.shape), axis=-1)
    return ranked
