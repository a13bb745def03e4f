"""Correlations of many metrics with the ratings on many resamples of the same items, without sorting each resample.

A resample is a row of counts w, how often it has each item: (B, n) for B resamples. N = Σ w.

- Pearson: the five sums of h, x, h², x², h x, each one matrix product for all metrics.
- Spearman: items are sorted once; in a resample the mid-rank of a run of equal scores is a running sum of w up to it,
  less half of the run's t = Σ w; and V = (N³ - Σ t³)/12 is N times the variance of the ranks with ties. Doubled
  ranks are integers, so their sums and products are exact. The ranks of a metric are reused for all qualities.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from harness.statistics.panel import Array, Codes, Vector, by_known_rows
from harness.statistics.ranks import standardised

EXACT = 150_000
"""Up to this number of items, sums of products of ranks are below 2^53 and thus exact in floats."""

Counts: TypeAlias = npt.NDArray[np.int32]
Correlate: TypeAlias = Callable[[Array], Array]
"""A function from counts (B, n) to correlations (B, qualities, metrics); NaN where undefined."""


def correlator(human: Array, scores: Array, statistic: str) -> Correlate:
    """Return a function that correlates scores (metrics, n) with ratings (qualities, n) on resamples."""
    parts = [(qualities[:, None], metrics, rows, QUICK[statistic](human[qualities][:, rows], scores[metrics][:, rows]))
             for rated, qualities in by_known_rows(np.isfinite(human))
             for rows, metrics in by_known_rows(np.isfinite(scores) & rated) if rows.sum() >= 3]

    def correlate(counts: Array) -> Array:
        values = np.full((len(counts), len(human), len(scores)), np.nan)
        for qualities, metrics, rows, part in parts:
            values[:, qualities, metrics] = part(counts if rows.all() else np.ascontiguousarray(counts[:, rows]))
        return values

    return correlate


def _pearson(human: Array, scores: Array) -> Correlate:
    z = standardised(scores)
    sums = [[np.ascontiguousarray(part.T) for part in (h, z, h**2, z**2, h * z)]
            for h in (standardised(row[None]) for row in human)]

    def correlate(counts: Array) -> Array:
        total, values = counts.sum(axis=1)[:, None], []
        for parts in sums:
            with np.errstate(invalid="ignore"):
                mean_h, mean_z, square_h, square_z, both = (counts @ part / total for part in parts)
            spread = _above(square_h - mean_h**2, 1e-12) * _above(square_z - mean_z**2, 1e-12)
            values.append((both - mean_h * mean_z) / np.sqrt(spread))
        return np.stack(values, axis=1)

    return correlate


def _spearman(human: Array, scores: Array) -> Correlate:
    ratings, metrics = [_Sorted(row) for row in human], [_Sorted(row) for row in scores]

    def correlate(counts: Array) -> Array:
        dtype = np.float64 if counts.shape[1] <= EXACT else np.int64
        integers, total = counts.astype(np.int32), counts.sum(axis=1)[:, None]
        untied = _cubes(integers)
        rated = [row.ranks(integers, untied) for row in ratings]
        weighted = np.stack([counts * (doubled - total) for doubled, _ in rated], axis=1).astype(dtype)
        spreads = np.stack([spread for _, spread in rated], axis=1)
        values = np.empty((len(counts), len(ratings), len(metrics)))
        for index, metric in enumerate(metrics):
            doubled, spread = metric.ranks(integers, untied)
            top = (weighted @ doubled.astype(dtype)[:, :, None])[:, :, 0] / 4
            values[:, :, index] = top / np.sqrt(_above(spreads * spread[:, None]))
        return values

    return correlate


class _Sorted:
    """The order of values, the end of each run of equal values in it, and the run of each value."""

    def __init__(self, values: Vector) -> None:
        self.order = np.argsort(values, kind="stable")
        ends = np.append(values[self.order][1:] != values[self.order][:-1], True)
        self.ends, self.run = np.flatnonzero(ends), np.empty(len(values), dtype=np.int64)
        self.run[self.order] = np.cumsum(ends) - ends

    def ranks(self, counts: Counts, untied: Codes) -> tuple[Counts, Vector]:
        """Return twice the mid-rank, less 1, of each item (B, n), and V of each resample; `untied` is Σ w³."""
        sizes = np.take(counts, self.order, axis=1)
        ends = np.cumsum(sizes, axis=1, dtype=np.int32)
        if len(self.ends) < len(self.order):
            ends = np.take(ends, self.ends, axis=1)
            sizes = np.diff(ends, axis=1, prepend=np.int32(0))
            untied = _cubes(sizes)
        spread: Vector = (ends[:, -1].astype(np.int64) ** 3 - untied) / 12
        return np.take(2 * ends - sizes, self.run, axis=1), spread


def _cubes(sizes: Counts) -> Codes:
    """Return the sum of the cubes of each row."""
    wide = sizes.astype(np.int64)
    cubes: Codes = np.einsum("ij,ij,ij->i", wide, wide, wide)
    return cubes


def _above(spread: Array, least: float = 0.0) -> Array:
    return np.where(spread > least, spread, np.nan)


QUICK: dict[str, Callable[[Array, Array], Correlate]] = {"spearman": _spearman, "pearson": _pearson}
"""Statistics with a fast computation on resamples."""
