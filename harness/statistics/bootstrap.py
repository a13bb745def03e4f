"""The bootstrap of any statistic: intervals (BCa), and a paired test of every two metrics.

    BCa   the quantiles of the statistic over resamples at Phi(z0 + (z0 + z) / (1 - a (z0 + z))), z the normal quantile
          of each end of the level (Efron & Tibshirani 1993, ch. 14);
          z0 = Phi^-1(share of resamples below the value, equals counting half; equal up to rounding)
          a  = sum d^3 / (6 (sum d^2)^(3/2)), d the mean of the jackknife less each of its values
    test  p = min(1, 2 min(#{d <= 0} + 1, #{d >= 0} + 1) / (k + 1)) over k differences d of two metrics on the same
          resamples, never 0 (Koehn 2004). It needs no exchangeable metrics, unlike a permutation test

Contexts are drawn, with all their rows, since rows of one context are not independent; a context drawn twice is two.
Those that continue each other are drawn together.
Where no context is shared these are the rows. Contexts must be many for the interval to cover: 30 do. From more than
MOST, the jackknife leaves out MOST blocks in place of single contexts, which estimates the same acceleration. A
resample on which the statistic does not exist is left out; where most are such, there is no interval and no p.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

import numpy as np
import scipy

from harness.statistics.panel import Array, Codes, Panel, Statistic, Vector, panel
from harness.statistics.resampled import correlator
from harness.statistics.williams import PairTests, numbered, shared_rows

MOST = 1000
EQUAL = 1e-10
"""Values that differ by less are equal: the same rows in another order differ by rounding."""

CELLS = 1 << 17
"""Resamples are counted in batches of about so many numbers, which stay in the processor's cache."""


@dataclass(frozen=True, slots=True)
class Bootstrap:
    """A value with its interval, and the resamples it rests on; NaN where `note` says why."""

    value: float
    low: float
    high: float
    draws: Vector
    note: str = ""


def bootstrap(rows: Panel, statistic: str | Statistic, rng: np.random.Generator, draws: int = 1000,
              level: float = 0.95) -> Bootstrap:
    """The BCa interval of a statistic by resampling contexts; one given by its name in `resampled.QUICK` is quick."""
    units, size = _units(rows)
    sample = (rng.integers(size, size=size) for _ in range(draws))
    value = float(_values(rows, rows.metric[None], statistic, [np.arange(size)], units)[0, 0])
    if math.isnan(value) or size < 2:
        reason = "the statistic does not exist on the panel" if math.isnan(value) else f"{size} unit to resample"
        return Bootstrap(value, math.nan, math.nan, np.zeros(0), reason)
    every = _values(rows, rows.metric[None], statistic, sample, units)[:, 0]
    known = every[np.isfinite(every)]
    if 2 * len(known) < draws:
        reason = f"the statistic does not exist on {draws - len(known)} of {draws} resamples"
        return Bootstrap(value, math.nan, math.nan, known, reason)
    left_out = _values(rows, rows.metric[None], statistic, _jackknife(size), units)[:, 0]
    low, high = bca(value, known, left_out, level)
    lost = f"{draws - len(known)} of {draws} resamples left out" if len(known) < draws else ""
    return Bootstrap(value, low, high, known, lost if low == low else "every resample lies on one side of the value")


def paired_bootstrap(human: Vector, scores: Array, system: Codes, context: Codes, statistic: str | Statistic,
                     rng: np.random.Generator, draws: int = 1000, control: Vector | None = None,
                     conversation: Codes | None = None) -> PairTests:
    """Test every two metrics, scores (metrics, items), each on the rows in which all three values are there."""
    tests = PairTests.empty(len(scores))
    for chosen, pairs in shared_rows(human, scores):
        used, places = numbered(pairs)
        rows = panel(human, human, system, context, control, conversation).take(chosen[np.isfinite(human)])
        units, size = _units(rows)
        own = scores[used][:, chosen]
        (whole,) = _values(rows, own, statistic, [np.arange(size)], units)
        drawn = _values(rows, own, statistic, (rng.integers(size, size=size) for _ in range(draws)), units)
        first, second = places.T
        delta, apart = whole[first] - whole[second], (drawn[:, first] - drawn[:, second]).T
        p = np.where(np.isfinite(delta), list(map(two_sided, apart)), math.nan)
        tests.put(pairs, delta, p, int(chosen.sum()))
    return tests


def resampled_by_context(rows: Panel, scores: Array, statistic: str | Statistic, rng: np.random.Generator,
                         draws: int) -> Array:
    """The statistic of every metric, scores (metrics, rows), on the same resamples: (draws, metrics).

    Each is on the rows of a resample that have both values.
    """
    units, size = _units(rows)
    drawn = (rng.integers(size, size=size) for _ in range(draws))
    if isinstance(statistic, str):
        return _values(rows, scores, statistic, drawn, units)
    return _values(rows, scores, lambda part: statistic(part.take(np.isfinite(part.human) & np.isfinite(part.metric))),
                   drawn, units)


def two_sided(differences: Vector) -> float:
    """The p of resampled differences, above 0 and at most 1; NaN where most of them do not exist."""
    known = differences[np.isfinite(differences)]
    if not len(known) or 2 * len(known) < len(differences):
        return math.nan
    tail = min((known <= EQUAL).sum(), (known >= -EQUAL).sum())
    return min(1.0, 2 * (int(tail) + 1) / (len(known) + 1))


def bca(value: float, draws: Vector, left_out: Vector, level: float = 0.95) -> tuple[float, float]:
    """The BCa interval; NaN where every resample lies on one side of the value."""
    below = (np.count_nonzero(draws < value - EQUAL) + np.count_nonzero(draws <= value + EQUAL)) / (2 * len(draws))
    if below in (0, 1):
        return math.nan, math.nan
    bias, ends = scipy.special.ndtri(below), scipy.special.ndtri([(1 - level) / 2, (1 + level) / 2])
    moved = bias + (bias + ends) / (1 - acceleration(left_out) * (bias + ends))
    low, high = np.quantile(draws, scipy.special.ndtr(moved))
    return float(low), float(high)


def acceleration(left_out: Vector) -> float:
    """How fast the spread of the value changes with it, from its jackknife values; 0 where they are all the same."""
    known = left_out[np.isfinite(left_out)]
    apart = known.mean() - known if known.size else known
    spread = float((apart**2).sum())
    return float((apart**3).sum() / (6 * spread**1.5)) if spread > 0 else 0.0


def _units(rows: Panel) -> tuple[Codes, int]:
    own = rows.context if rows.conversation is None else rows.conversation
    units = np.unique(own, return_inverse=True)[1].ravel()
    return units, int(units.max(initial=-1)) + 1


def _jackknife(size: int) -> Iterator[Codes]:
    """All units but one, or but one block of every MOST-th."""
    block = np.arange(size) % min(size, MOST)
    return (np.flatnonzero(block != number) for number in range(min(size, MOST)))


def _values(rows: Panel, scores: Array, statistic: str | Statistic, drawn: Iterable[Codes], units: Codes) -> Array:
    """The statistic of every metric, scores (metrics, rows), on resamples, each by its units: (resamples, metrics)."""
    if isinstance(statistic, str):
        correlate = correlator(rows.human[None], scores, statistic)
        size, batch = int(units.max(initial=-1)) + 1, max(1, CELLS // max(1, rows.n))
        left, parts = iter(drawn), [np.zeros((0, len(scores)))]
        while some := [np.bincount(one, minlength=size) for one in islice(left, batch)]:
            parts.append(correlate(np.array(some, dtype=np.float64)[:, units])[:, 0])
        return np.concatenate(parts)
    return np.array([[statistic(dataclasses.replace(sample, metric=metric[sample.metric.astype(np.int64)]))
                      for metric in scores] for sample in _clusters(rows, units, drawn)]).reshape(-1, len(scores))


def _clusters(rows: Panel, units: Codes, drawn: Iterable[Codes]) -> Iterator[Panel]:
    """All rows of the units of each resample, their place in `metric`; one drawn twice is of other contexts."""
    numbered = dataclasses.replace(rows, metric=np.arange(rows.n, dtype=np.float64))
    order, sizes = np.argsort(units, kind="stable"), np.bincount(units)
    starts = np.cumsum(sizes) - sizes
    for one in drawn:
        lengths = sizes[one]
        within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        sample = numbered.take(order[np.repeat(starts[one], lengths) + within])
        contexts = np.repeat(np.arange(len(one)), lengths) * (rows.context.max(initial=0) + 1) + sample.context
        yield dataclasses.replace(sample, context=contexts)
