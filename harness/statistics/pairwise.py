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
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from harness.statistics.panel import Array, Codes, Panel, Statistic, Vector

ALL_AT_ONCE = 2000
"""Up to so many rows, all pairs are kept in memory."""

MANTISSA, OCTAVES = 14, 40
"""A bin of differences is one step of the leading 14 bits of a double, down to 2^-40 of the largest score."""

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


def with_shared_threshold(groups: Sequence[Panel]) -> Statistic:
    """Accuracy at the threshold that is best for all groups together."""
    return functools.partial(accuracy, epsilon=shared_threshold((part.human[None], part.metric[None])
                                                                for part in groups if not why_not(part)))


def shared_threshold(groups: Iterable[tuple[Array, Array]]) -> float:
    """The smallest threshold with the best mean accuracy over groups: ratings and scores (G, s) of each size s."""
    gaps, steps = [np.zeros(1)], [np.zeros(1)]
    for human, metric in groups:
        first, second = np.triu_indices(human.shape[1], 1)
        rated, apart = human[:, first] - human[:, second], metric[:, first] - metric[:, second]
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
