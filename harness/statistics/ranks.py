"""Ranks, standard scores and influences along the last axis.

The influence of a row is how a correlation changes, to first order, if the row gets slightly more weight:

    pearson     h z - r (h^2 + z^2) / 2, ratings h and scores z centred and of length 1
    spearman    h z of the row's centred ranks, plus the row's effect on the ranks of the other rows; the variance of
                ranks, (n^3 - sum t^3) / 12 over ties of t rows, changes by (n^2 - t^2) / 4. The effect is the sum of
                the centred ratings of rows with a higher score, plus that of the scores of rows with a higher rating
    ranks       Pearson's r of the ranks, each row keeping its rank

The influence of a context is the sum over its rows; williams.py and pooled.py use it to test whole contexts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy

from harness.statistics.panel import Array, Codes, Vector

Influence: TypeAlias = Callable[[Array, Vector], tuple[Vector, Array]]
"""A function from scores (metrics, rows) and ratings to each metric's correlation and the influence of each row."""


def ranks(values: npt.NDArray[Any], ties: Literal["average", "min", "max"] = "average") -> Array:
    """Return ranks from 1, the lowest; ties share their mean, lowest or highest rank, and NaN stays NaN."""
    return np.asarray(scipy.stats.rankdata(values, ties, axis=-1, nan_policy="omit"), dtype=np.float64)


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
    """Return Spearman's rho and its influences."""
    rated = np.broadcast_to(human, scores.shape)
    z, h = ranks(scores) - (len(human) + 1) / 2, ranks(rated) - (len(human) + 1) / 2
    parts = h * z + _sums_above(scores, h) + _sums_above(rated, z)
    with np.errstate(invalid="ignore", divide="ignore"):
        length = np.sqrt((h**2).sum(axis=1) * (z**2).sum(axis=1))
        r = (h * z).sum(axis=1) / length
        variance_effect = _variance_influence(rated, h) + _variance_influence(scores, z)
        parts = parts / length[:, None] - r[:, None] / 2 * variance_effect
        return r, parts - parts.mean(axis=1, keepdims=True)


def _sums_above(side: Array, centred: Array) -> Array:
    """Return the sum of `centred`, whose sum is 0, over the rows with a higher value of `side`; ties count half."""
    ordered = np.take_along_axis(centred, np.argsort(side), axis=1)
    sums = np.insert(np.cumsum(ordered, axis=1), 0, 0, axis=1)
    below, up_to = (np.take_along_axis(sums, ends, axis=1) for ends in _ends(side))
    return np.asarray(-(below + up_to) / 2)


def _variance_influence(side: Array, centred_ranks: Array) -> Array:
    """Return the influence of each row on the logarithm of the variance of the ranks."""
    below, up_to = _ends(side)
    return np.asarray((side.shape[1] ** 2 - (up_to - below) ** 2) / 4 / (centred_ranks**2).sum(axis=1, keepdims=True))


def _ends(side: Array) -> tuple[Codes, Codes]:
    """Return the number of rows with a lower value, and of those with a lower or equal one."""
    return ranks(side, "min").astype(np.int64) - 1, ranks(side, "max").astype(np.int64)


INFLUENCE: dict[str, Influence] = {"pearson": pearson_influence, "spearman": spearman_influence,
                                   "ranks": lambda scores, human: pearson_influence(ranks(scores), ranks(human))}
