"""First-order influence of each row on a correlation: how it changes if the row has slightly more weight.

    pearson     h z - r (h^2 + z^2) / 2, ratings h and scores z centred and of length 1
    spearman    h z of the row's centred ranks, plus its effect through the ranks of the other rows; the variance of
                ranks, (n^3 - sum t^3) / 12 over ties of t rows, changes by (n^2 - t^2) / 4
    ranks       Pearson's r of the ranks, each row keeping its rank

The influence of a context is the sum over its rows; williams.py and pooled.py use it to test whole contexts.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from harness.statistics.panel import Array, Vector
from harness.statistics.ranks import Runs, ranks, standardised

Influence: TypeAlias = Callable[[Array, Vector], tuple[Vector, Array]]
"""Takes scores (metrics, rows) and ratings; returns the correlation of each metric, and the influence of each row."""


def of_pearson(scores: Array, human: Vector) -> tuple[Vector, Array]:
    z, h = standardised(scores), standardised(human)
    r = (h * z).mean(axis=1)
    return r, (h * z - r[:, None] / 2 * (h**2 + z**2)) / len(human)


def of_ranks(scores: Array, human: Vector) -> tuple[Vector, Array]:
    return of_pearson(ranks(scores), ranks(human))


def of_spearman(scores: Array, human: Vector) -> tuple[Vector, Array]:
    """Return Spearman's rho and its influences.

    The effect of a row through the ranks of others is the sum of the ratings of rows with a higher score, plus the sum
    of the scores of rows with a higher rating.
    """
    runs, rated = Runs(scores), Runs(human)
    z, h = (side.expanded(side.start + (side.sizes - len(human)) / 2) for side in (runs, rated))
    tails = _tails(h[runs.order])
    parts = h * z + runs.expanded((tails[runs.row, runs.start] + tails[runs.row, runs.start + runs.sizes]) / 2)
    tails = _tails(z[:, rated.order])
    above = (tails[:, rated.start] + tails[:, rated.start + rated.sizes]) / 2
    parts[:, rated.order] += np.repeat(above, rated.sizes, axis=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        length = np.sqrt((h @ h) * (z**2).sum(axis=1))
        r = z @ h / length
        of_variance = _of_variance(rated, h) + _of_variance(runs, z)
        parts = parts / length[:, None] - r[:, None] / 2 * of_variance
        return r, parts - parts.mean(axis=1, keepdims=True)


def _of_variance(runs: Runs, centred_ranks: Array) -> Array:
    """Return the influence of each row on the logarithm of the variance of the ranks."""
    size = runs.expanded(runs.sizes)
    return np.asarray((size.shape[-1] ** 2 - size**2) / 4 / (centred_ranks**2).sum(axis=-1, keepdims=True))


def _tails(values: Array) -> Array:
    """Return the sum from each position of a row to its end, followed by 0."""
    tails = np.zeros((len(values), values.shape[1] + 1))
    tails[:, :-1] = np.cumsum(values[:, ::-1], axis=1)[:, ::-1]
    return tails


INFLUENCE: dict[str, Influence] = {"pearson": of_pearson, "spearman": of_spearman, "ranks": of_ranks}
