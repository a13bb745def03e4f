"""The ceiling: how well people agree with each other, and so what any metric can reach on these ratings.

    leave-one-out    agreement of one vote with the mean of the item's others: a person in the place of the metric
    split-half       r between the means of two halves of the votes; Spearman (1910) and Brown (1910) step it up to the
                     mean of all:  m r / (1 + (m - 1) r),  m = votes / votes in a half
    alpha            1 - D_observed / D_expected by chance (Krippendorff 2011); at most 1, 0 is chance
    disattenuated    r / sqrt(reliability of the ratings) (Spearman 1904): r were the ratings free of error

Higher is better throughout. All take annotators to err independently of each other. Votes may be ragged, and which
annotator gave which is mostly unknown; so votes are held out and split at random within each item, which assumes that
annotators are interchangeable. Where columns are annotators, `by_position` uses that. An item with one vote says
nothing about agreement and is left out; where all are such, the result is NaN with that reason.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from harness.statistics.panel import Codes, Panel, Statistic, Vector
from harness.statistics.product_moment import Matrix

SINGLE = "no item has more than one vote"


@dataclass(frozen=True, slots=True)
class Reliability:
    """Correlation among people over `items` items; NaN where `note` says why."""

    value: float
    items: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class Votes:
    """The votes of a quality, (items, most votes), from the left with NaN after the last; the groups as in a panel."""

    table: Matrix
    system: Codes
    context: Codes

    @property
    def counts(self) -> Codes:
        """How many votes each item has."""
        counts: Codes = np.isfinite(self.table).sum(axis=1)
        return counts

    def panel(self, human: Vector, metric: Vector) -> Panel:
        """One side of the votes against another, in the order of the items."""
        return Panel(human, metric, self.system, self.context)


def votes(given: Sequence[Sequence[float]], system: Codes | None = None, context: Codes | None = None) -> Votes:
    """The votes on items that have at least two; without `context`, each item is its own."""
    kept = np.array([row for row, some in enumerate(given) if len(some) >= 2], dtype=np.int64)
    table = np.full((len(kept), max((len(given[row]) for row in kept), default=2)), math.nan)
    for place, row in enumerate(kept):
        table[place, :len(given[row])] = given[row]
    return Votes(table, np.zeros_like(kept) if system is None else system[kept],
                 kept if context is None else context[kept])


def leave_one_out(given: Votes, statistic: Statistic, rng: np.random.Generator, draws: int = 100) -> Reliability:
    """The statistic of one random vote per item against the mean of the item's others, averaged over draws."""
    totals, counts = np.nansum(given.table, axis=1), given.counts
    rows, found = np.arange(len(counts)), np.full(draws, math.nan)
    for draw in range(draws):
        held = given.table[rows, rng.integers(0, counts)]
        found[draw] = statistic(given.panel((totals - held) / (counts - 1), held))
    return _mean(found, given)


def by_position(given: Votes, statistic: Statistic) -> Reliability:
    """The statistic of each annotator's votes against the means of the others', averaged over annotators.

    Position j of each item must be the same annotator, or it is `leave_one_out` with one fixed draw for each position.
    """
    totals, counts = np.nansum(given.table, axis=1), given.counts
    if len(counts) and counts.min() < given.table.shape[1]:
        return Reliability(math.nan, len(counts), "not every annotator voted on every item: hold out votes at random")
    return _mean(np.array([statistic(given.panel((totals - one) / (counts - 1), one)) for one in given.table.T]), given)


def split_half(given: Votes, statistic: Statistic, rng: np.random.Generator, draws: int = 100) -> Reliability:
    """The reliability of mean ratings: random halves of each item's votes, averaged over draws, then stepped up.

    Of an odd number of votes one is left out of both halves; the step up goes to all. With ragged votes it is that of
    their mean number. The statistic is Pearson's r in the theory; Spearman's rho is common.
    """
    halves = given.counts // 2
    columns, found = np.arange(given.table.shape[1]), np.full(draws, math.nan)
    first, second = columns < halves[:, None], (columns >= halves[:, None]) & (columns < 2 * halves[:, None])
    for draw in range(draws):
        keys = np.where(np.isfinite(given.table), rng.random(given.table.shape), 2.0)  # missing votes stay last
        dealt = np.nan_to_num(np.take_along_axis(given.table, np.argsort(keys, axis=1), axis=1))
        one, other = (np.where(half, dealt, 0).sum(axis=1) / halves for half in (first, second))
        found[draw] = statistic(given.panel(one, other))
    half = _mean(found, given)
    if math.isnan(half.value):
        return half
    return stepped_up(half, float(given.counts.mean() / halves.mean()))


def stepped_up(half: Reliability, times: float) -> Reliability:
    """Spearman-Brown: the reliability of `times` as many votes; NaN where that would be below any reliability."""
    below = 1 + (times - 1) * half.value
    if below <= 0:
        return Reliability(math.nan, half.items, f"halves disagree (r = {half.value:.2f})")
    return Reliability(times * half.value / below, half.items)


def alpha(given: Votes, scale: str = "interval") -> Reliability:
    """Krippendorff's alpha of single votes, at most 1, 0 at chance; `scale` is nominal, ordinal or interval.

    Squared differences of votes (interval), of their ranks among all votes (ordinal), or whether they differ (nominal).
    """
    if scale not in DISAGREEMENTS:
        raise ValueError(f"unknown scale {scale!r}; known: {', '.join(DISAGREEMENTS)}")
    if not len(given.table):
        return Reliability(math.nan, 0, SINGLE)
    there = np.isfinite(given.table)
    values, item = given.table[there], np.nonzero(there)[0]
    within, overall = DISAGREEMENTS[scale](values, item)
    if overall == 0:
        return Reliability(math.nan, len(given.table), "every vote is the same")
    observed = float((within / (given.counts - 1)).sum()) / len(values)
    return Reliability(1 - observed / (overall / (len(values) * (len(values) - 1))), len(given.table))


def disattenuated(value: float, reliability: Reliability) -> Reliability:
    """A correlation with ratings as it were without their error: r / sqrt(reliability); may exceed 1 by chance.

    `reliability` must be that of the mean of all votes, as `split_half` gives it; alpha is that of a single vote.
    """
    if not reliability.value > 0:
        return Reliability(math.nan, reliability.items, reliability.note or "the ratings have no reliability above 0")
    return Reliability(value / math.sqrt(reliability.value), reliability.items)


def _interval(values: Vector, item: Codes) -> tuple[Vector, float]:
    """Sums of squared differences over ordered pairs, of each item and of all votes: 2 (m sum v^2 - (sum v)^2)."""
    values = values - values.mean()
    counts, sums, squares = (np.bincount(item, weights=part) for part in (np.ones_like(values), values, values**2))
    within = 2 * np.maximum(counts * squares - sums**2, 0)
    return within, 2 * len(values) * float((values**2).sum()) if np.ptp(values) else 0.0


def _ordinal(values: Vector, item: Codes) -> tuple[Vector, float]:
    """Krippendorff's sum over the categories between two votes is the difference of their mean ranks."""
    return _interval(stats.rankdata(values), item)


def _nominal(values: Vector, item: Codes) -> tuple[Vector, float]:
    """Ordered pairs that differ: m^2 - sum over categories of (votes in it)^2."""
    counts, (kinds, sizes) = np.bincount(item), np.unique(values, return_inverse=True, return_counts=True)[1:]
    cells, size = np.unique(item * len(sizes) + kinds, return_counts=True)
    same = np.bincount(cells // len(sizes), weights=size.astype(np.float64) ** 2)
    return counts.astype(np.float64) ** 2 - same, float(len(values) ** 2 - (sizes**2).sum())


DISAGREEMENTS = {"nominal": _nominal, "ordinal": _ordinal, "interval": _interval}


def _mean(found: npt.NDArray[np.float64], given: Votes) -> Reliability:
    """The mean over draws in which the statistic exists."""
    there = found[np.isfinite(found)]
    if not len(given.table):
        return Reliability(math.nan, 0, SINGLE)
    if not there.size:
        return Reliability(math.nan, len(given.table), "votes are too few or all the same")
    return Reliability(float(there.mean()), len(given.table))

