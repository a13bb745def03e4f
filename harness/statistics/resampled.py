"""Correlations of many metrics with the ratings on many resamples of the same items, without sorting a resample.

A resample is a row of counts w, how often it holds each item: (B, n) for B of them. N = Σ w.

- Pearson: the five sums of h, x, h², x², h x, each one matrix product for all metrics.
- Spearman: items sorted once; in a resample the middle rank of a run of equal scores is a running sum of w up to it,
  less half its own t = Σ w; and V = (N³ - Σ t³)/12 is the variance of the ranks (times N), ties and all. Twice the
  ranks are whole numbers, whose sums and products are exact. A metric's serve all qualities.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from harness.statistics.mixtures import standardised
from harness.statistics.panel import Array, Codes, Vector, alike

EXACT = 150_000
"""So many items have sums of products of ranks below 2^53, which floats hold."""

Counts: TypeAlias = npt.NDArray[np.int32]
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
        kind = np.float64 if counts.shape[1] <= EXACT else np.int64
        whole, total = counts.astype(np.int32), counts.sum(axis=1)[:, None]
        untied = _cubes(whole)
        rated = [row.middles(whole, untied) for row in ratings]
        weighted = np.stack([counts * (middles - total) for middles, _ in rated], axis=1).astype(kind)
        spreads = np.stack([spread for _, spread in rated], axis=1)
        values = np.empty((len(counts), len(ratings), len(metrics)))
        for number, metric in enumerate(metrics):
            middles, spread = metric.middles(whole, untied)
            top = (weighted @ middles.astype(kind)[:, :, None])[:, :, 0] / 4
            values[:, :, number] = top / np.sqrt(_above(spreads * spread[:, None]))
        return values

    return correlate


@dataclass(frozen=True, slots=True)
class _Sorted:
    """The order of the values, where each run of equal ones ends in it, and the run of each value."""

    order: Codes
    ends: Codes
    run: Codes

    def middles(self, counts: Counts, untied: Codes) -> tuple[Counts, Vector]:
        """Twice the middle rank, less 1, of each item (B, n), and V of each resample; `untied` is Σ w³."""
        sizes = np.take(counts, self.order, axis=1)
        ends = np.cumsum(sizes, axis=1, dtype=np.int32)
        cubes = untied
        if len(self.ends) < len(self.order):
            ends = np.take(ends, self.ends, axis=1)
            sizes = np.diff(ends, axis=1, prepend=np.int32(0))
            cubes = _cubes(sizes)
        spread: Vector = (ends[:, -1].astype(np.int64) ** 3 - cubes) / 12
        ends += ends
        ends -= sizes
        return np.take(ends, self.run, axis=1), spread


def _sorted(values: Vector) -> _Sorted:
    order = np.argsort(values, kind="stable")
    ends = np.append(values[order][1:] != values[order][:-1], True)
    run = np.empty(len(order), dtype=np.int64)
    run[order] = np.cumsum(ends) - ends
    return _Sorted(order, np.flatnonzero(ends), run)


def _cubes(sizes: Counts) -> Codes:
    """The sum of the cubes of each resample."""
    whole = sizes.astype(np.int64)
    cubes: Codes = np.einsum("ij,ij,ij->i", whole, whole, whole)
    return cubes


def _above(spread: Array, least: float = 0.0) -> Array:
    return np.where(spread > least, spread, np.nan)


QUICK: dict[str, Callable[[Vector, Array], Correlate]] = {"spearman": _spearman, "pearson": _pearson}
"""The statistics that have such a way."""
