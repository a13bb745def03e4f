"""Pairwise accuracy: in how many pairs of items metric and people agree on which is better, or that neither is.

    acc_eq(e) = (C + T) / (n (n - 1) / 2)        Deutsch, Foster & Freitag (2023), with tie calibration

C counts the pairs that both order alike, T those that both tie; the metric ties a pair whose scores differ by at most
e. The threshold is the smallest that maximises acc_eq on the panel itself, as in the paper, so that metrics which
rarely tie and metrics which often do are compared fairly. Range 0 to 1, higher is better; no scale is assumed.
A constant metric ties every pair and so has the share of pairs that people tie: no metric has less, and an informative
one must exceed it. Within groups there is one threshold, the smallest that maximises the mean over the groups.

All thresholds are tried. Where e grows past the difference d of a pair, a pair tied by people is won and a pair that
was ordered rightly is lost; so acc_eq(e) is a running sum of steps in order of d. For many rows the pairs are counted
in bins of d first, and only bins that can hold the maximum are looked into: O(n^2) time, O(n) memory.

Soft pairwise accuracy: whether a metric is as sure as people are that one system is better than another.

    SPA = 1 - mean over pairs of systems i < j of |p_human(i, j) - p_metric(i, j)|       Thompson et al. (2024)

p(i, j) is the one-sided p of a permutation test that system i is better than j. Systems that answered the same contexts
are compared on those, by swapping the two in random contexts; systems that share none, by dealing their rows anew.
Range 0 to 1, higher is better; 0.5 is what a p drawn at random has against people who are always sure.

Departure: a permutation that equals what was observed counts half, where the paper counts it whole. Then
p(j, i) = 1 - p(i, j), and the order of the systems is of no matter. People and metric meet the same permutations,
as in the authors' program, so that a metric that equals people has exactly 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from harness.statistics.panel import Array, Codes, Panel, Vector, undefined

ALL_AT_ONCE = 2000
"""Up to so many rows, all pairs are kept in memory."""

MANTISSA, OCTAVES = 14, 40
"""A bin of differences is one step of the leading 14 bits of a double, down to 2^-40 of the largest score."""

ROUNDING = 1e-12
"""Sums of the same numbers in another order differ by less than this share of their absolute sum."""

BINS = ((OCTAVES + 1) << MANTISSA) + 1


@dataclass(frozen=True, slots=True)
class Calibration:
    """The best pairwise accuracy, and the smallest threshold that has it."""

    value: float
    epsilon: float


class Steps(NamedTuple):
    """How many pairs are won (above 0) or lost where the threshold reaches each difference."""

    gaps: Vector
    sizes: Codes


def pairwise_accuracy(panel: Panel) -> float:
    """Accuracy over pairs with calibrated ties, 0 to 1, higher is better; NaN below two rows."""
    return calibrated(panel).value


def why_not(panel: Panel) -> str:
    """Why there is no pairwise accuracy; a constant metric has one, unlike a correlation."""
    return "" if panel.n >= 2 else f"{panel.n} rows have both a rating and a score"


def accuracy(panel: Panel, epsilon: float) -> float:
    """acc_eq at a threshold that was chosen elsewhere, such as on other data; 0 to 1, higher is better."""
    if why_not(panel):
        return math.nan
    return _right(*_sorted(panel, 0), epsilon) / math.comb(panel.n, 2)


def threshold(groups: Sequence[Panel]) -> float:
    """The threshold of ties that is best for all groups together."""
    known = [part for part in groups if not why_not(part)]
    if len(known) == 1:
        return calibrated(known[0]).epsilon
    return _shared_threshold(known) if known else math.nan


def _shared_threshold(groups: Sequence[Panel]) -> float:
    """The smallest threshold with the best mean accuracy over groups."""
    gaps, steps = [np.zeros(1)], [np.zeros(1)]
    for part in groups:
        first, second = np.triu_indices(part.n, 1)
        rated, apart = part.human[first] - part.human[second], part.metric[first] - part.metric[second]
        gained = (rated == 0).astype(np.float64) - (np.sign(rated) * np.sign(apart) > 0)
        untied = apart != 0
        gaps.append(np.abs(apart[untied]))
        steps.append(gained[untied] / len(first))
    order = np.argsort(flat := np.concatenate(gaps), kind="stable")
    ordered, gain = flat[order], np.round(np.cumsum(np.concatenate(steps)[order]), 10)
    last = np.append(ordered[1:] != ordered[:-1], True)
    return float(ordered[last][np.argmax(gain[last])])


def calibrated(panel: Panel) -> Calibration:
    """The best accuracy over all thresholds."""
    if why_not(panel):
        return Calibration(math.nan, math.nan)
    exponent = int(np.frexp(np.abs(panel.metric).max())[1])  # scores at most 1, by a power of two: exact
    human, metric = _sorted(panel, -exponent)
    steps = (_merged(list(_blocks(human, metric))) if panel.n <= ALL_AT_ONCE
             else _promising_steps(human, metric))
    start, gained = _right(human, metric, 0.0), np.cumsum(steps.sizes)
    best = int(np.argmax(gained)) if gained.size else 0
    if not gained.size or gained[best] <= 0:
        return Calibration(start / math.comb(panel.n, 2), 0.0)
    return Calibration((start + int(gained[best])) / math.comb(panel.n, 2),
                       math.ldexp(float(steps.gaps[best]), exponent))


def _sorted(panel: Panel, exponent: int) -> tuple[Vector, Vector]:
    """Ratings and scaled scores from the lowest score up, equal scores by rating."""
    order = np.lexsort((panel.human, panel.metric))
    return panel.human[order], np.ldexp(panel.metric[order], exponent)


def _right(human: Vector, metric: Vector, epsilon: float) -> int:
    """How many pairs are right at a threshold; rows from the lowest score up."""
    right = 0
    for place in range(len(human) - 1):
        tied = metric[place + 1:] - metric[place] <= epsilon
        later = human[place + 1:]
        right += int(np.count_nonzero(np.where(tied, later == human[place], later > human[place])))
    return right


def _promising_steps(human: Vector, metric: Vector) -> Steps:
    """The steps in bins that can hold the maximum; of each other bin the sum alone."""
    won, net = np.zeros(BINS, dtype=np.int64), np.zeros(BINS, dtype=np.int64)
    for gaps, sizes in _blocks(human, metric):
        bins, ties = _bins(gaps), sizes > 0
        gains = np.bincount(bins[ties], minlength=BINS)
        won += gains
        net += gains - np.bincount(bins[~ties], minlength=BINS)
    after = np.cumsum(net)
    looked_into = (won > 0) & (after - net + won >= max(0, int(after.max())))
    opened = []
    for gaps, sizes in _blocks(human, metric):
        chosen = looked_into[_bins(gaps)]
        opened.append(_merged([Steps(gaps[chosen], sizes[chosen])]))
    summed = np.flatnonzero(~looked_into & (net != 0))
    edges = (summed + ((1023 - OCTAVES) << MANTISSA)) << (52 - MANTISSA)
    return _merged([*opened, Steps(edges.view(np.float64), net[summed])])


def _blocks(human: Vector, metric: Vector) -> Iterator[Steps]:
    """The steps of all pairs, some rows against all later ones at a time; pairs that are wrong either way have none."""
    rows = max(1, ALL_AT_ONCE**2 // len(human))
    for start in range(0, len(human) - 1, rows):
        stop = start + rows
        gaps = metric[start + 1:] - metric[start:stop, None]  # (rows, later); 0 or less: no pair, or tied anyway
        mine, later = human[start:stop, None], human[start + 1:]
        sizes = (later == mine).astype(np.int8) - (later > mine)
        moving = (gaps > 0) & (sizes != 0)
        yield Steps(gaps[moving], sizes[moving].astype(np.int64))


def _merged(blocks: list[Steps]) -> Steps:
    """Steps from the smallest difference up, those at one difference as one."""
    gaps, sizes = (np.concatenate(part) for part in zip(*blocks, strict=True))
    order = np.argsort(gaps, kind="stable")
    gaps, reached = gaps[order], np.cumsum(sizes[order])
    last = np.append(gaps[1:] != gaps[:-1], True) if gaps.size else np.zeros(0, dtype=np.bool_)
    return Steps(gaps[last], np.diff(reached[last], prepend=0))


def _bins(gaps: Vector) -> Codes:
    """The bin of each difference, by the leading bits of its double: bins stand in the order of the differences."""
    bits: Codes = gaps.view(np.int64) >> (52 - MANTISSA)
    return np.maximum(bits - ((1023 - OCTAVES) << MANTISSA), 0)


def soft_pairwise_accuracy(panel: Panel, rng: np.random.Generator | None = None, draws: int = 1000) -> float:
    """Soft pairwise accuracy of a panel of items, 0 to 1, with `draws` permutations for each p.

    Its value varies with the generator by less than 1 / sqrt(draws), mostly by far less. Without one the permutations
    are those of seed 0, the same for every metric.
    """
    if why_not_soft(panel):
        return math.nan
    apart = [abs(human - metric) for human, metric in _p_values(panel, rng or np.random.default_rng(0), draws)]
    return float(1 - np.mean(apart))


def why_not_soft(panel: Panel) -> str:
    """Why there is no soft pairwise accuracy on this panel; empty where there is."""
    if not undefined(panel) and len(np.unique(panel.system)) < 2:
        return "there are fewer than two systems"
    return undefined(panel)


def _p_values(panel: Panel, rng: np.random.Generator, draws: int) -> Iterator[tuple[float, float]]:
    """One-sided p by people and by the metric, for each pair of systems."""
    human, metric = _means(panel, panel.human), _means(panel, panel.metric)  # (systems, contexts)
    swaps = rng.choice([-1.0, 1.0], size=(draws, human.shape[1]))
    systems = np.unique(panel.system)
    for i, j in zip(*np.triu_indices(len(systems), 1), strict=True):
        apart = np.stack([human[i] - human[j], metric[i] - metric[j]], axis=1)
        shared = np.isfinite(apart[:, 0])
        if shared.any():
            apart = apart[shared]
            yield _shares(swaps[:, shared] @ apart, apart.sum(axis=0), np.abs(apart).sum(axis=0))
        else:
            yield _dealt(panel.take(panel.system == systems[i]), panel.take(panel.system == systems[j]), rng, draws)


def _dealt(first: Panel, second: Panel, rng: np.random.Generator, draws: int) -> tuple[float, float]:
    """One-sided p of the difference of means, the rows of both systems being dealt to them at random."""
    values = np.stack([np.append(first.human, second.human), np.append(first.metric, second.metric)], axis=1)
    weights = np.repeat([1 / first.n, -1 / second.n], [first.n, second.n])
    dealt = rng.permuted(np.tile(weights, (draws, 1)), axis=1)
    values = values - values.mean(axis=0)
    return _shares(dealt @ values, weights @ values, np.abs(values).sum(axis=0))


def _shares(chance: Array, observed: Vector, size: Vector) -> tuple[float, float]:
    """The share of permutations above what was observed, equals counting half; for people and metric."""
    beyond = chance - observed
    equal = np.abs(beyond) <= ROUNDING * size
    human, metric = np.where(equal, 0.5, beyond > 0).mean(axis=0)
    return float(human), float(metric)


def _means(panel: Panel, values: Vector) -> Array:
    """The mean of each system in each context, NaN where it has none there: (systems, contexts)."""
    systems, system = np.unique(panel.system, return_inverse=True)
    contexts, context = np.unique(panel.context, return_inverse=True)
    place, size = system * len(contexts) + context, len(systems) * len(contexts)
    counts = np.bincount(place, minlength=size)
    sums = np.bincount(place, weights=values, minlength=size)
    means: Array = np.divide(sums, counts, out=np.full(size, math.nan), where=counts > 0)
    return means.reshape(len(systems), len(contexts))
