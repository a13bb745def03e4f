"""What each row adds to a correlation, to first order: how the correlation moves if the row counts a little more.

    Pearson     h z - r (h^2 + z^2) / 2, ratings h and scores z centred and of length 1
    Spearman    what a row's own ranks add, and its part in the ranks of the other rows

Sums over the rows of a context are what the context adds, by which whole contexts are tested (williams.py, pooled.py).
The scores are prepared once, for any ratings of the same rows.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from harness.statistics.panel import Array, Vector


class UnitRows:
    """The scores of metrics (metrics, rows) for Pearson's r with any ratings."""

    def __init__(self, scores: Array) -> None:
        self._z = unit(scores)

    def influence(self, human: Vector) -> tuple[Vector, Array]:
        """The correlation of each metric, and what each row adds to it: h z - r (h² + z²) / 2, both of length 1."""
        h = unit(human[None])
        r = (h * self._z).sum(axis=1)
        return r, h * self._z - r[:, None] / 2 * (h**2 + self._z**2)


class RankedRows:
    """The scores of metrics, sorted once, for Spearman's rho with any ratings.

    A run of equal scores has its row, where it starts in the order of that row, and its size.
    """

    def __init__(self, scores: Array) -> None:
        self._order = np.argsort(scores, axis=1)
        ordered, first = np.take_along_axis(scores, self._order, axis=1), np.ones(scores.shape, dtype=np.bool_)
        first[:, 1:] = ordered[:, 1:] != ordered[:, :-1]
        self._row, self._start = np.nonzero(first)
        self._sizes = np.diff(np.flatnonzero(first), append=first.size)
        self._z = self._placed(self._start + (self._sizes - scores.shape[1]) / 2)

    def influence(self, human: Vector) -> tuple[Vector, Array]:
        """The correlation of each metric, and what each row adds: its ranks, and its part in the ranks of others.

        The part in others' ranks is the sum over rows with a higher score of what people gave them, and the reverse.
        """
        people = RankedRows(human[None])
        h, z, order = people._z[0], self._z, people._order[0]
        tail = _tails(h[self._order])
        parts = h * z + self._placed((tail[self._row, self._start] + tail[self._row, self._start + self._sizes]) / 2)
        tail = _tails(z[:, order])
        above = (tail[:, people._start] + tail[:, people._start + people._sizes]) / 2
        parts[:, order] += np.repeat(above, people._sizes, axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            length = np.sqrt((h @ h) * (z**2).sum(axis=1))
            return z @ h / length, (parts - parts.mean(axis=1, keepdims=True)) / length[:, None]

    def _placed(self, of_runs: Vector) -> Array:
        """A number of each run, at the rows that are in it."""
        placed = np.empty(self._order.shape)
        np.put_along_axis(placed, self._order, np.repeat(of_runs, self._sizes).reshape(self._order.shape), axis=1)
        return placed


def _tails(values: Array) -> Array:
    """The sum from each place of a row to its end, and 0 at last."""
    tails = np.zeros((len(values), values.shape[1] + 1))
    tails[:, :-1] = np.cumsum(values[:, ::-1], axis=1)[:, ::-1]
    return tails


Influence: TypeAlias = UnitRows | RankedRows

INFLUENCE: dict[str, Callable[[Array], Influence]] = {"pearson": UnitRows, "spearman": RankedRows}
"""What a row adds to a correlation, to first order, by statistic."""


def unit(values: Array) -> Array:
    """Each row centred and of length 1; NaN for a constant one."""
    centred = values - values.mean(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        centred = centred / np.abs(centred).max(axis=1, keepdims=True)  # so that no square overflows
        return np.asarray(centred / np.sqrt((centred**2).sum(axis=1, keepdims=True)))
