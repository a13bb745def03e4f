"""Bootstrap of any statistic: BCa intervals, and a paired test of each pair of metrics.

    BCa   the quantiles of the statistic over resamples at Phi(z0 + (z0 + z) / (1 - a (z0 + z))), z the normal quantile
          of 0.025 and 0.975 (Efron & Tibshirani 1993, ch. 14);
          z0 = Phi^-1(share of resamples below the value; those equal to it up to rounding count half)
          a  = sum d^3 / (6 (sum d^2)^(3/2)), d the mean of the jackknife less each of its values
    test  p = min(1, 2 min(#{d <= 0} + 1, #{d >= 0} + 1) / (k + 1)) over k differences d of two metrics on the same
          resamples, never 0 (Koehn 2004). Unlike a permutation test, it does not assume exchangeable metrics

Contexts are drawn with all their rows, since rows of a context are dependent; a context drawn twice counts as two.
Contexts of a conversation are drawn together. Coverage is good from about 30 contexts on. Beyond MOST units
the jackknife leaves out blocks of them, which estimates the same acceleration. Resamples on which the statistic does
not exist are left out; if most are, there is neither interval nor p.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator
from itertools import islice

import numpy as np
import scipy

from harness.statistics.panel import Array, Codes, Panel, Statistic, Vector
from harness.statistics.resampled import correlator
from harness.statistics.williams import PairTests, shared_rows

MOST = 1000
EQUAL = 1e-10
"""Values this close count as equal, since the order of rows changes the rounding."""

CELLS = 1 << 17
"""Resamples × rows per batch, small enough for the CPU's cache."""


def bootstrap(rows: Panel, statistic: str | Statistic, rng: np.random.Generator, draws: int = 1000,
              ) -> tuple[float, float]:
    """Return the 95 % BCa interval of a statistic by resampling contexts; fast if it is named in `resampled.QUICK`.

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
    return bca(value, known, values(_jackknife(size))) if 2 * len(known) >= draws else (math.nan, math.nan)


def paired_bootstrap(people: Panel, scores: Array, statistic: str | Statistic, rng: np.random.Generator,
                     draws: int = 1000) -> PairTests:
    """Test each pair of metrics, scores (metrics, items), on the rows with a rating and both scores."""
    tests = PairTests.empty(len(scores))
    for chosen, pairs, used, positions in shared_rows(people.human, scores):
        rows, table = people.take(chosen), scores[used][:, chosen]
        units, size = _units(rows)
        (observed,) = _values(rows, table, statistic, [np.arange(size)], units)
        drawn = resampled_by_context(rows, table, statistic, rng, draws)
        first, second = positions.T
        delta, differences = observed[first] - observed[second], (drawn[:, first] - drawn[:, second]).T
        p = np.where(np.isfinite(delta), list(map(two_sided, differences)), math.nan)
        tests.put(pairs, delta, p, int(chosen.sum()))
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
    """Return the p of resampled differences; NaN where most of them do not exist."""
    known = differences[np.isfinite(differences)]
    if not len(known) or 2 * len(known) < len(differences):
        return math.nan
    tail = min((known <= EQUAL).sum(), (known >= -EQUAL).sum())
    return min(1.0, 2 * (int(tail) + 1) / (len(known) + 1))


def bca(value: float, draws: Vector, left_out: Vector) -> tuple[float, float]:
    """Return the 95 % BCa interval; NaN where every resample lies on one side of the value."""
    below = (np.count_nonzero(draws < value - EQUAL) + np.count_nonzero(draws <= value + EQUAL)) / (2 * len(draws))
    if below in (0, 1):
        return math.nan, math.nan
    bias, ends = scipy.special.ndtri(below), scipy.special.ndtri([0.025, 0.975])
    moved = bias + (bias + ends) / (1 - acceleration(left_out) * (bias + ends))
    low, high = np.quantile(draws, scipy.special.ndtr(moved))
    return float(low), float(high)


def acceleration(left_out: Vector) -> float:
    """Return the acceleration a from the jackknife values; 0 if they are all the same."""
    known = left_out[np.isfinite(left_out)]
    d = known.mean() - known if known.size else known
    spread = float((d**2).sum())
    return float((d**3).sum() / (6 * spread**1.5)) if spread > 0 else 0.0


def _units(rows: Panel) -> tuple[Codes, int]:
    return rows.units, int(rows.units.max(initial=-1)) + 1


def _jackknife(size: int) -> Iterator[Codes]:
    """Yield all units except one, or except one block of every MOST-th unit."""
    block = np.arange(size) % min(size, MOST)
    return (np.flatnonzero(block != number) for number in range(min(size, MOST)))


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
