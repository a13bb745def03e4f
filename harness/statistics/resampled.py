"""Correlations of many metrics with the ratings on many resamples of the same items, without sorting a resample.

A resample is a row of counts w, how often it holds each item: (B, n) for B of them. N = Σ w.

- Pearson: the five sums of h, x, h², x², h x, each one matrix product for all metrics.
- Spearman: items sorted once; in a resample the middle rank of a run of equal scores is a running sum of w up to it,
  less half its own t = Σ w; and V = (N³ - Σ t³)/12 is the variance of the ranks (times N), ties and all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from harness.statistics.mixtures import standardised
from harness.statistics.panel import Array, Codes, Mask, Vector

Correlate: TypeAlias = Callable[[Array], Array]
"""Counts (B, n) to the values of all metrics (B, metrics); NaN where one does not exist."""


def correlator(human: Vector, scores: Array, statistic: str) -> Correlate:
    """What correlates every metric, scores (metrics, n), on resamples; each on the items with a score and a rating."""
    if statistic not in QUICK:
        raise ValueError(f"statistic {statistic!r}: one of {', '.join(QUICK)}")
    known = np.isfinite(scores) & np.isfinite(human)
    kinds, kind = np.unique(known, axis=0, return_inverse=True)
    parts: list[tuple[Codes, Mask, Correlate]] = []
    for number, rows in enumerate(kinds):
        metrics = np.flatnonzero(kind.ravel() == number)
        if rows.sum() >= 3:
            parts.append((metrics, rows, QUICK[statistic](human[rows], scores[metrics][:, rows])))

    def correlate(counts: Array) -> Array:
        values = np.full((len(counts), len(scores)), np.nan)
        for metrics, rows, part in parts:
            values[:, metrics] = part(counts if rows.all() else np.ascontiguousarray(counts[:, rows]))
        return values

    return correlate


def _pearson(human: Vector, scores: Array) -> Correlate:
    h, z = standardised(human[None]), standardised(scores)
    parts = [np.ascontiguousarray(part.T) for part in (h, z, h**2, z**2, h * z)]

    def correlate(counts: Array) -> Array:
        total = counts.sum(axis=1)[:, None]
        with np.errstate(invalid="ignore"):
            mean_h, mean_z, square_h, square_z, both = (counts @ part / total for part in parts)
        spread = _above(square_h - mean_h**2, 1e-12) * _above(square_z - mean_z**2, 1e-12)
        return np.asarray((both - mean_h * mean_z) / np.sqrt(spread))

    return correlate


def _spearman(human: Vector, scores: Array) -> Correlate:
    ratings, metrics = _sorted(human), [_sorted(row) for row in scores]
    place = np.unique(human, return_inverse=True)[1]

    def correlate(counts: Array) -> Array:
        middle, spread = _middles(ratings.runs(counts))
        half = counts.sum(axis=1)[:, None] / 2
        weighted = counts * np.take(middle - half, place, axis=1)
        values = np.empty((len(counts), len(metrics)))
        for number, metric in enumerate(metrics):
            ranks, own = _middles(metric.runs(counts))
            top = np.einsum("ij,ij->i", metric.runs(weighted), ranks)
            values[:, number] = top / np.sqrt(_above(spread * own))
        return values

    return correlate


@dataclass(frozen=True, slots=True)
class _Sorted:
    """The order of the values and where each run of equal ones starts in it."""

    order: Codes
    starts: Codes

    def runs(self, columns: Array) -> Array:
        """The columns, in order, summed over each run: (B, runs)."""
        ordered = np.take(columns, self.order, axis=1)
        return ordered if len(self.starts) == len(self.order) else np.add.reduceat(ordered, self.starts, axis=1)


def _sorted(values: Vector) -> _Sorted:
    order = np.argsort(values, kind="stable")
    ordered = values[order]
    return _Sorted(order, np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1])))


def _middles(sizes: Array) -> tuple[Array, Vector]:
    """Of runs, the middle rank less 1/2 of each (B, runs), and V of each resample."""
    middle = np.cumsum(sizes, axis=1)
    spread: Vector = (middle[:, -1] ** 3 - np.einsum("ij,ij,ij->i", sizes, sizes, sizes)) / 12
    middle -= sizes / 2
    return middle, spread


def _above(spread: Array, least: float = 0.0) -> Array:
    return np.where(spread > least, spread, np.nan)


QUICK: dict[str, Callable[[Vector, Array], Correlate]] = {"spearman": _spearman, "pearson": _pearson}
"""The statistics that have such a way."""
