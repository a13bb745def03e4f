"""Correlations of many metrics with the ratings on many resamples of the same items, without sorting a resample.

A resample is a row of counts w, how often it holds each item: (B, n) for B of them. N = Σ w.

- Pearson: the five sums of h, x, h², x², h x, each one matrix product for all metrics.
- Spearman: items sorted once; in a resample the middle rank of a run of equal scores is a running sum of w up to it,
  less half its own t = Σ w; and V = (N³ - Σ t³)/12 is the variance of the ranks (times N), ties and all. Twice the
  ranks are whole numbers, which are summed several times as fast and exactly. A metric's serve all qualities.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from harness.statistics.mixtures import standardised
from harness.statistics.panel import Array, Codes, Vector, alike

Correlate: TypeAlias = Callable[[Array], Array]
"""Counts (B, n) to values (B, qualities, metrics); NaN where one does not exist."""


def correlator(human: Array, scores: Array, statistic: str) -> Correlate:
    """What correlates metrics, scores (metrics, n), with ratings (qualities, n) on resamples, where both are there."""
    if statistic not in QUICK:
        raise ValueError(f"statistic {statistic!r}: one of {', '.join(QUICK)}")
    parts = [(qualities[:, None], metrics, rows, QUICK[statistic](human[qualities][:, rows], scores[metrics][:, rows]))
             for rated, qualities in alike(np.isfinite(human)) for rows, metrics in alike(np.isfinite(scores) & rated)
             if rows.sum() >= 3]

    def correlate(counts: Array) -> Array:
        values = np.full((len(counts), len(human), len(scores)), np.nan)
        for qualities, metrics, rows, part in parts:
            values[:, qualities, metrics] = part(counts if rows.all() else np.ascontiguousarray(counts[:, rows]))
        return values

    return correlate


def _pearson(human: Array, scores: Array) -> Correlate:
    each = [_pearson_of_one(row, scores) for row in human]
    return lambda counts: np.stack([correlate(counts) for correlate in each], axis=1)


def _pearson_of_one(human: Vector, scores: Array) -> Correlate:
    h, z = standardised(human[None]), standardised(scores)
    parts = [np.ascontiguousarray(part.T) for part in (h, z, h**2, z**2, h * z)]

    def correlate(counts: Array) -> Array:
        total = counts.sum(axis=1)[:, None]
        with np.errstate(invalid="ignore"):
            mean_h, mean_z, square_h, square_z, both = (counts @ part / total for part in parts)
        spread = _above(square_h - mean_h**2, 1e-12) * _above(square_z - mean_z**2, 1e-12)
        return np.asarray((both - mean_h * mean_z) / np.sqrt(spread))

    return correlate


def _spearman(human: Array, scores: Array) -> Correlate:
    ratings, metrics = [_sorted(row) for row in human], [_sorted(row) for row in scores]

    def correlate(counts: Array) -> Array:
        whole = counts.astype(np.int64)
        total = whole.sum(axis=1)[:, None]
        rated = [(whole * (middle - total), spread) for middle, spread in (row.middles(whole) for row in ratings)]
        values = np.empty((len(counts), len(ratings), len(metrics)))
        for number, metric in enumerate(metrics):
            middle, own = metric.middles(whole)
            for quality, (weighted, spread) in enumerate(rated):
                top = np.einsum("ij,ij->i", weighted, middle) / 4
                values[:, quality, number] = top / np.sqrt(_above(spread * own))
        return values

    return correlate


@dataclass(frozen=True, slots=True)
class _Sorted:
    """The order of the values, where each run of equal ones ends in it, and the run of each value."""

    order: Codes
    ends: Codes
    run: Codes

    def middles(self, counts: Codes) -> tuple[Codes, Vector]:
        """Twice the middle rank, less 1, of each item (B, n), and V of each resample."""
        ends = np.cumsum(np.take(counts, self.order, axis=1), axis=1)
        if len(self.ends) < len(self.order):
            ends = np.take(ends, self.ends, axis=1)
        sizes = ends.copy()
        sizes[:, 1:] -= ends[:, :-1]
        spread: Vector = (ends[:, -1] ** 3 - np.einsum("ij,ij,ij->i", sizes, sizes, sizes)) / 12
        return np.take(2 * ends - sizes, self.run, axis=1), spread


def _sorted(values: Vector) -> _Sorted:
    order = np.argsort(values, kind="stable")
    ends = np.append(values[order][1:] != values[order][:-1], True)
    run = np.empty(len(order), dtype=np.int64)
    run[order] = np.cumsum(ends) - ends
    return _Sorted(order, np.flatnonzero(ends), run)


def _above(spread: Array, least: float = 0.0) -> Array:
    return np.where(spread > least, spread, np.nan)


QUICK: dict[str, Callable[[Vector, Array], Correlate]] = {"spearman": _spearman, "pearson": _pearson}
"""The statistics that have such a way."""
