"""Ranks, standard scores and influences along the last axis, without scipy.stats, which takes 0.6 s to import.

The influence of a row is how a correlation changes, to first order, if the row gets slightly more weight:

    pearson     h z - r (h^2 + z^2) / 2, ratings h and scores z centred and of length 1
    spearman    h z of the row's centred ranks, plus the row's effect on the ranks of the other rows; the variance of
                ranks, (n^3 - sum t^3) / 12 over ties of t rows, changes by (n^2 - t^2) / 4
    ranks       Pearson's r of the ranks, each row keeping its rank

The influence of a context is the sum over its rows; williams.py and pooled.py use it to test whole contexts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from harness.statistics.panel import Array, Vector

Influence: TypeAlias = Callable[[Array, Vector], tuple[Vector, Array]]
"""A function from scores (metrics, rows) and ratings to each metric's correlation and the influence of each row."""


class Runs:
    """The runs of equal values in each sorted row of (..., n), with the row, first position and size of each run."""

    def __init__(self, values: npt.NDArray[Any]) -> None:
        self.order = np.argsort(values, axis=-1)
        ordered = np.take_along_axis(values, self.order, axis=-1)
        is_start = np.ones(values.shape, dtype=np.bool_)
        is_start[..., 1:] = ordered[..., 1:] != ordered[..., :-1]
        starts = np.flatnonzero(is_start)
        self.sizes = np.diff(starts, append=values.size)
        self.row, self.start = np.divmod(starts, max(1, values.shape[-1]))

    def expanded(self, run_values: Array) -> Array:
        """Repeat the value of each run for all its members, in their original order."""
        values = np.empty(self.order.shape)
        np.put_along_axis(values, self.order, np.repeat(run_values, self.sizes).reshape(values.shape), axis=-1)
        return values


def ranks(values: npt.NDArray[Any]) -> Array:
    """Return ranks from 1, the lowest; ties share their mean rank, as in scipy.stats.rankdata."""
    runs = Runs(values)
    return runs.expanded(runs.start + (runs.sizes + 1) / 2)


def lowest_ranks(values: npt.NDArray[Any]) -> Array:
    """Return ranks from 1, the lowest; ties share their lowest rank."""
    runs = Runs(values)
    return runs.expanded(runs.start + 1.0)


def standardised(values: Array) -> Array:
    """Scale to mean 0 and variance 1 without overflow; NaN for a constant row."""
    centred = values - values.mean(axis=-1, keepdims=True)
    largest = np.where(np.ptp(values, axis=-1) > 0, np.abs(centred).max(axis=-1), np.nan)
    with np.errstate(invalid="ignore"):
        centred = centred / largest[..., None]
    return np.asarray(centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True)))


def pearson_influence(scores: Array, human: Vector) -> tuple[Vector, Array]:
    z, h = standardised(scores), standardised(human)
    r = (h * z).mean(axis=1)
    return r, (h * z - r[:, None] / 2 * (h**2 + z**2)) / len(human)


def spearman_influence(scores: Array, human: Vector) -> tuple[Vector, Array]:
    """Return Spearman's rho and its influences.

    The effect of a row through the ranks of others is the sum of the ratings of rows with a higher score, plus the sum
    of the scores of rows with a higher rating.
    """
    runs, rated = Runs(scores), Runs(human)
    z, h = (side.expanded(side.start + (side.sizes - len(human)) / 2) for side in (runs, rated))
    tails = _tail_sums(h[runs.order])
    parts = h * z + runs.expanded((tails[runs.row, runs.start] + tails[runs.row, runs.start + runs.sizes]) / 2)
    tails = _tail_sums(z[:, rated.order])
    above = (tails[:, rated.start] + tails[:, rated.start + rated.sizes]) / 2
    parts[:, rated.order] += np.repeat(above, rated.sizes, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        length = np.sqrt((h @ h) * (z**2).sum(axis=1))
        r = z @ h / length
        variance_effect = _variance_influence(rated, h) + _variance_influence(runs, z)
        parts = parts / length[:, None] - r[:, None] / 2 * variance_effect
        return r, parts - parts.mean(axis=1, keepdims=True)


def _variance_influence(runs: Runs, centred_ranks: Array) -> Array:
    """Return the influence of each row on the logarithm of the variance of the ranks."""
    size = runs.expanded(runs.sizes)
    return np.asarray((size.shape[-1] ** 2 - size**2) / 4 / (centred_ranks**2).sum(axis=-1, keepdims=True))


def _tail_sums(values: Array) -> Array:
    """Return the sum from each position of a row to its end, followed by 0."""
    tails = np.zeros((len(values), values.shape[1] + 1))
    tails[:, :-1] = np.cumsum(values[:, ::-1], axis=1)[:, ::-1]
    return tails


INFLUENCE: dict[str, Influence] = {"pearson": pearson_influence, "spearman": spearman_influence,
                                   "ranks": lambda scores, human: pearson_influence(ranks(scores), ranks(human))}
