"""Bootstrap of any statistic: BCa intervals, and a paired test of each pair of metrics.

    BCa   the quantiles of the statistic over resamples at Phi(z0 + (z0 + z) / (1 - a (z0 + z))), z the normal quantile
          of 0.025 and 0.975 (Efron & Tibshirani 1993, ch. 14);
          z0 = Phi^-1(share of resamples below the value; those equal to it up to rounding count half)
          a  = sum d^3 / (6 (sum d^2)^(3/2)), d the mean of the jackknife values minus each of them
    test  p = min(1, 2 min(#{d <= 0} + 1, #{d >= 0} + 1) / (k + 1)) over k differences d of two metrics on the same
          resamples, never 0 (Koehn 2004). Unlike a permutation test, it does not assume exchangeable metrics

Contexts are drawn with all their rows, since rows of a context are dependent; a context drawn twice counts as two
contexts. Contexts of a conversation are drawn together. Intervals have good coverage from about 30 contexts on. With
more than MAX_BLOCKS contexts, the jackknife leaves out blocks of them, which estimates the same acceleration a.
Resamples on which the statistic does not exist are left out; if most are, there is neither interval nor p.

Two statistics are computed for many metrics and resamples at once, without sorting each resample. A resample is a row
of counts w, one for each item: (B, n) for B resamples. N = Σ w.

    Pearson     the five sums of h, x, h², x², h x, each one matrix product for all metrics
    Spearman    items are sorted once. In a resample, the mid-rank of a run of equal scores is 1/2 plus the sum of w up
                to the end of the run, minus half of the run's t = Σ w; V = (N³ - Σ t³)/12 is N times the variance of
                the ranks with ties. Doubled ranks are integers, so their sums and products are exact. The ranks of a
                metric are reused for all qualities
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import scipy

from harness.statistics.panel import Array, Codes, Panel, Statistic, Vector, by_known_rows
from harness.statistics.ranks import standardised
from harness.statistics.williams import PairTests, shared_rows

MAX_BLOCKS = 1000  # largest number of blocks of the jackknife
TOLERANCE = 1e-10  # values this close count as equal, since their rounding depends on the order of rows
CELLS = 1 << 17  # resamples × rows per batch, small enough for the CPU's cache
MAX_EXACT_ITEMS = 150_000  # up to this number, sums of products of ranks are below 2^53 and thus exact in floats

Counts: TypeAlias = npt.NDArray[np.int32]
Correlate: TypeAlias = Callable[[Array], Array]
"""A function from counts (B, n) to correlations (B, qualities, metrics); NaN where undefined."""


def bootstrap(rows: Panel, statistic: str | Statistic, rng: np.random.Generator, draws: int = 1000,
              ) -> tuple[float, float]:
    """Return the 95 % BCa interval of a statistic; those in QUICK are computed for many resamples at once.

    NaN for a single context, or if the statistic does not exist on the panel or on most resamples.
    """
    units, size = _units(rows)

    def values(samples: Iterable[Codes]) -> Vector:
        return _values(rows, rows.metric[None], statistic, samples, units)[:, 0]

    value = float(values([np.arange(size)])[0])
    if math.isnan(value) or size < 2:
        return math.nan, math.nan
    resampled = values(rng.integers(size, size=size) for _ in range(draws))
    known = resampled[np.isfinite(resampled)]
    block = np.arange(size) % min(size, MAX_BLOCKS)
    left_out = (np.flatnonzero(block != omitted) for omitted in range(min(size, MAX_BLOCKS)))
    return bca(value, known, values(left_out)) if 2 * len(known) >= draws else (math.nan, math.nan)


def paired_bootstrap(people: Panel, scores: Array, statistic: str | Statistic, rng: np.random.Generator,
                     draws: int = 1000) -> PairTests:
    """Test each pair of metrics, scores (metrics, items), on the rows with a rating and both scores."""
    tests = PairTests.empty(len(scores))
    for shared, pairs, metrics, positions in shared_rows(people.human, scores):
        rows, table = people.take(shared), scores[metrics][:, shared]
        units, size = _units(rows)
        (observed,) = _values(rows, table, statistic, [np.arange(size)], units)
        drawn = resampled_by_context(rows, table, statistic, rng, draws)
        first, second = positions.T
        delta, differences = observed[first] - observed[second], (drawn[:, first] - drawn[:, second]).T
        p = np.where(np.isfinite(delta), list(map(two_sided, differences)), math.nan)
        tests.put(pairs, delta, p, int(shared.sum()))
    return tests


def resampled_by_context(rows: Panel, scores: Array, statistic: str | Statistic, rng: np.random.Generator,
                         draws: int) -> Array:
    """Return the statistic of every metric, scores (metrics, rows), on the same resamples: (draws, metrics).

    Each value is over the rows of a resample with both a rating and a score.
    """
    units, size = _units(rows)
    samples = (rng.integers(size, size=size) for _ in range(draws))
    if isinstance(statistic, str):
        return _values(rows, scores, statistic, samples, units)
    return _values(rows, scores, lambda part: statistic(part.take(np.isfinite(part.human) & np.isfinite(part.metric))),
                   samples, units)


def two_sided(differences: Vector) -> float:
    """Return the two-sided p of resampled differences; NaN if most of them do not exist."""
    known = differences[np.isfinite(differences)]
    if not len(known) or 2 * len(known) < len(differences):
        return math.nan
    smaller_tail = min((known <= TOLERANCE).sum(), (known >= -TOLERANCE).sum())
    return min(1.0, 2 * (int(smaller_tail) + 1) / (len(known) + 1))


def bca(value: float, draws: Vector, left_out: Vector) -> tuple[float, float]:
    """Return the 95 % BCa interval, given the jackknife values; NaN if all resamples lie on one side of the value."""
    counts = np.count_nonzero(draws < value - TOLERANCE), np.count_nonzero(draws <= value + TOLERANCE)
    share_below = sum(counts) / (2 * len(draws))
    if share_below in (0, 1):
        return math.nan, math.nan
    bias, quantiles = scipy.special.ndtri(share_below), scipy.special.ndtri([0.025, 0.975])
    known = left_out[np.isfinite(left_out)]
    d = known.mean() - known if known.size else known
    spread = float((d**2).sum())
    acceleration = (d**3).sum() / (6 * spread**1.5) if spread > 0 else 0.0
    levels = bias + (bias + quantiles) / (1 - acceleration * (bias + quantiles))
    low, high = np.quantile(draws, scipy.special.ndtr(levels))
    return float(low), float(high)


def _units(rows: Panel) -> tuple[Codes, int]:
    return rows.units, int(rows.units.max(initial=-1)) + 1


def _values(rows: Panel, scores: Array, statistic: str | Statistic, samples: Iterable[Codes], units: Codes) -> Array:
    """Compute the statistic of scores (metrics, rows) on samples of units: (samples, metrics)."""
    if isinstance(statistic, str):
        correlate = correlator(rows.human[None], scores, statistic)
        size, batch = int(units.max(initial=-1)) + 1, max(1, CELLS // max(1, rows.n))
        remaining, parts = iter(samples), [np.zeros((0, len(scores)))]
        while counts := [np.bincount(sample, minlength=size) for sample in islice(remaining, batch)]:
            parts.append(correlate(np.array(counts, dtype=np.float64)[:, units])[:, 0])
        return np.concatenate(parts)
    return np.array([[statistic(dataclasses.replace(sample, metric=metric[indices])) for metric in scores]
                     for sample, indices in _clusters(rows, units, samples)]).reshape(-1, len(scores))


def _clusters(rows: Panel, units: Codes, samples: Iterable[Codes]) -> Iterator[tuple[Panel, Codes]]:
    """Yield the rows of all units of each sample, with their indices; copies of a unit have different contexts."""
    sizes = np.bincount(units)
    members = np.split(np.argsort(units, kind="stable"), np.cumsum(sizes)[:-1])
    for sample in samples:
        indices = np.concatenate([members[unit] for unit in sample])
        copies = np.repeat(np.arange(len(sample)), sizes[sample])
        contexts = copies * (rows.context.max(initial=0) + 1) + rows.context[indices]
        yield dataclasses.replace(rows.take(indices), context=contexts), indices


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
                mean_h, mean_z, square_h, square_z, products = (counts @ part / total for part in parts)
            spread = _nan_unless_above(square_h - mean_h**2, 1e-12) * _nan_unless_above(square_z - mean_z**2, 1e-12)
            values.append((products - mean_h * mean_z) / np.sqrt(spread))
        return np.stack(values, axis=1)

    return correlate


def _spearman(human: Array, scores: Array) -> Correlate:
    ratings, metrics = [_Sorted(row) for row in human], [_Sorted(row) for row in scores]

    def correlate(counts: Array) -> Array:
        dtype = np.float64 if counts.shape[1] <= MAX_EXACT_ITEMS else np.int64
        integers, total = counts.astype(np.int32), counts.sum(axis=1)[:, None]
        untied = _cubes(integers)
        rating_ranks = [row.ranks(integers, untied) for row in ratings]
        weighted = np.stack([counts * (doubled - total) for doubled, _ in rating_ranks], axis=1).astype(dtype)
        spreads = np.stack([spread for _, spread in rating_ranks], axis=1)
        values = np.empty((len(counts), len(ratings), len(metrics)))
        for index, metric in enumerate(metrics):
            doubled_ranks, spread = metric.ranks(integers, untied)
            covariance = (weighted @ doubled_ranks.astype(dtype)[:, :, None])[:, :, 0] / 4
            values[:, :, index] = covariance / np.sqrt(_nan_unless_above(spreads * spread[:, None]))
        return values

    return correlate


class _Sorted:
    """The sorted order of values, the end of each run of equal values, and the run of each value."""

    def __init__(self, values: Vector) -> None:
        self.order = np.argsort(values, kind="stable")
        ends = np.append(values[self.order][1:] != values[self.order][:-1], True)
        self.ends, self.run = np.flatnonzero(ends), np.empty(len(values), dtype=np.int64)
        self.run[self.order] = np.cumsum(ends) - ends

    def ranks(self, counts: Counts, cubes: Codes) -> tuple[Counts, Vector]:
        """Return twice the mid-rank, less 1, of each item (B, n), and V of each resample; `cubes` is Σ w³ of each."""
        sizes = np.take(counts, self.order, axis=1)
        ends = np.cumsum(sizes, axis=1, dtype=np.int32)
        if len(self.ends) < len(self.order):
            ends = np.take(ends, self.ends, axis=1)
            sizes = np.diff(ends, axis=1, prepend=np.int32(0))
            cubes = _cubes(sizes)
        spread: Vector = (ends[:, -1].astype(np.int64) ** 3 - cubes) / 12
        return np.take(2 * ends - sizes, self.run, axis=1), spread


def _cubes(sizes: Counts) -> Codes:
    """Return the sum of the cubes of each row."""
    integers = sizes.astype(np.int64)
    return np.asarray(np.einsum("ij,ij,ij->i", integers, integers, integers))


def _nan_unless_above(spread: Array, least: float = 0.0) -> Array:
    return np.where(spread > least, spread, np.nan)


QUICK: dict[str, Callable[[Array, Array], Correlate]] = {"spearman": _spearman, "pearson": _pearson}
"""Statistics with a fast computation on resamples."""
