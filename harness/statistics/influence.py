"""First-order influence of each row on a correlation: how it changes if the row has slightly more weight.

    Pearson     h z - r (h^2 + z^2) / 2, ratings h and scores z centred and of length 1
    Spearman    h z of the row's centred ranks, plus its effect through the ranks of the other rows
    ranks       Pearson's r of the ranks, each row keeping its rank

The influence of a context is the sum over its rows; williams.py and pooled.py use it to test whole contexts. Scores are
prepared once for any ratings of the same rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from harness.statistics.panel import Array, Vector
from harness.statistics.ranks import Runs, ranks, standardised


class PearsonInfluence:
    """Scores (metrics, rows) prepared for Pearson's r."""

    def __init__(self, scores: Array) -> None:
        self._z = standardised(scores)

    def of(self, human: Vector) -> tuple[Vector, Array]:
        """Return the correlation of each metric, and the influence of each row on it."""
        h = standardised(human)
        r = (h * self._z).mean(axis=1)
        return r, (h * self._z - r[:, None] / 2 * (h**2 + self._z**2)) / len(human)


class RankInfluence(PearsonInfluence):
    """Scores (metrics, rows), ranked for Pearson's r of the ranks."""

    def __init__(self, scores: Array) -> None:
        super().__init__(ranks(scores))

    def of(self, human: Vector) -> tuple[Vector, Array]:
        return super().of(ranks(human))


class SpearmanInfluence:
    """Scores (metrics, rows), sorted for Spearman's rho."""

    def __init__(self, scores: Array) -> None:
        self._runs = Runs(scores)
        self._z = self._runs.expanded(self._runs.start + (self._runs.sizes - scores.shape[1]) / 2)

    def of(self, human: Vector) -> tuple[Vector, Array]:
        """Return the correlation of each metric, and the influence of each row on it.

        The effect of a row through the ranks of others is the sum of the ratings of rows with a higher score, plus the
        sum of the scores of rows with a higher rating.
        """
        ratings, runs, z = SpearmanInfluence(human[None]), self._runs, self._z
        h, order, rated = ratings._z[0], ratings._runs.order[0], ratings._runs
        tails = _tails(h[runs.order])
        parts = h * z + runs.expanded((tails[runs.row, runs.start] + tails[runs.row, runs.start + runs.sizes]) / 2)
        tails = _tails(z[:, order])
        above = (tails[:, rated.start] + tails[:, rated.start + rated.sizes]) / 2
        parts[:, order] += np.repeat(above, rated.sizes, axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            length = np.sqrt((h @ h) * (z**2).sum(axis=1))
            return z @ h / length, (parts - parts.mean(axis=1, keepdims=True)) / length[:, None]


def _tails(values: Array) -> Array:
    """Return the sum from each position of a row to its end, followed by 0."""
    tails = np.zeros((len(values), values.shape[1] + 1))
    tails[:, :-1] = np.cumsum(values[:, ::-1], axis=1)[:, ::-1]
    return tails


Influence: TypeAlias = PearsonInfluence | SpearmanInfluence
INFLUENCE: dict[str, Callable[[Array], Influence]] = {
    "pearson": PearsonInfluence, "spearman": SpearmanInfluence, "ranks": RankInfluence}
