"""Reliability: how well people agree with each other, and so what any metric can reach on these ratings.

    leave-one-out    agreement of one vote with the mean of the item's others: a person in the place of the metric
    split-half       r between the means of two halves of the votes; Spearman (1910) and Brown (1910) step it up to the
                     mean of all:  m r / (1 + (m - 1) r),  m = votes / votes in a half
    alpha            1 - D_observed / D_expected by chance (Krippendorff 2011); at most 1, 0 is chance
    disattenuated    r / sqrt(reliability of the ratings) (Spearman 1904): r were the ratings free of error

Higher is better throughout. All take annotators to err independently of each other. Votes may be ragged, and which
annotator gave which is mostly unknown; so votes are held out and split at random within each item, which assumes that
annotators are interchangeable. An item with one vote says nothing about agreement and is left out; where all are such,
the result is NaN with that reason.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from harness.statistics.panel import Array, Codes, Vector
from harness.statistics.ranks import ranks

SINGLE = "no item has more than one vote"


CELLS = 1 << 20
"""Draws × items of which the statistic is taken at once."""

OfRows: TypeAlias = Callable[[Array, Array], Vector]
"""A statistic of two sides (draws, items), row by row; NaN where it does not exist."""


@dataclass(frozen=True, slots=True)
class PeopleAgreement:
    """Agreement among people over `items` items; NaN where `note` says why."""

    value: float
    items: int
    note: str = ""


@dataclass(frozen=True, slots=True)
class Votes:
    """The votes of a quality, (items, most votes), from the left with NaN after the last."""

    table: Array

    @property
    def counts(self) -> Codes:
        """How many votes each item has."""
        counts: Codes = np.isfinite(self.table).sum(axis=1)
        return counts


def votes(rows: Iterable[Sequence[float]]) -> Votes:
    """The votes on items that have at least two."""
    several = [row for row in rows if len(row) >= 2]
    table = np.full((len(several), max(map(len, several), default=2)), math.nan)
    for place, row in enumerate(several):
        table[place, :len(row)] = row
    return Votes(table)


def leave_one_out(votes: Votes, statistic: OfRows, rng: np.random.Generator, draws: int = 100) -> PeopleAgreement:
    """The statistic of one random vote per item against the mean of the item's others, averaged over draws."""
    totals, counts = np.nansum(votes.table, axis=1), votes.counts
    rows = np.arange(len(counts))

    def drawn() -> tuple[Vector, Vector]:
        held = votes.table[rows, rng.integers(0, counts)]
        return (totals - held) / (counts - 1), held

    return _mean(_values(drawn, statistic, draws, len(rows)), votes)


def split_half(votes: Votes, statistic: OfRows, rng: np.random.Generator, draws: int = 100) -> PeopleAgreement:
    """The reliability of mean ratings: random halves of each item's votes, averaged over draws, then stepped up.

    Of an odd number of votes one is left out of both halves; the step up goes to all. With ragged votes it is that of
    their mean number. The statistic is Pearson's r in the theory; Spearman's rho is common.
    """
    halves = votes.counts // 2
    columns = np.arange(votes.table.shape[1])
    first, second = columns < halves[:, None], (columns >= halves[:, None]) & (columns < 2 * halves[:, None])

    def drawn() -> tuple[Vector, Vector]:
        keys = np.where(np.isfinite(votes.table), rng.random(votes.table.shape), 2.0)  # missing votes stay last
        dealt = np.nan_to_num(np.take_along_axis(votes.table, np.argsort(keys, axis=1), axis=1))
        return np.where(first, dealt, 0).sum(axis=1) / halves, np.where(second, dealt, 0).sum(axis=1) / halves

    half = _mean(_values(drawn, statistic, draws, len(votes.table)), votes)
    if math.isnan(half.value):
        return half
    return stepped_up(half, float(votes.counts.mean() / halves.mean()))


def stepped_up(half: PeopleAgreement, times: float) -> PeopleAgreement:
    """Spearman-Brown: the reliability of `times` as many votes; NaN where that would be below any reliability."""
    below = 1 + (times - 1) * half.value
    if below <= 0:
        return PeopleAgreement(math.nan, half.items, f"halves disagree (r = {half.value:.2f})")
    return PeopleAgreement(times * half.value / below, half.items)


def alpha(votes: Votes, scale: str = "interval") -> PeopleAgreement:
    """Krippendorff's alpha of single votes, at most 1, 0 at chance; `scale` is ordinal or interval.

    Squared differences of votes (interval), or of their ranks among all votes (ordinal).
    """
    if scale not in ("ordinal", "interval"):
        raise ValueError(f"unknown scale {scale!r}; known: ordinal, interval")
    if not len(votes.table):
        return PeopleAgreement(math.nan, 0, SINGLE)
    known = np.isfinite(votes.table)
    values, item = votes.table[known], np.nonzero(known)[0]
    within, overall = _disagreement(ranks(values) if scale == "ordinal" else values, item)
    if overall == 0:
        return PeopleAgreement(math.nan, len(votes.table), "every vote is the same")
    observed = float((within / (votes.counts - 1)).sum()) / len(values)
    return PeopleAgreement(1 - observed / (overall / (len(values) * (len(values) - 1))), len(votes.table))


def disattenuated(value: float, reliability: float) -> float:
    """A correlation with ratings as it were without their error: r / sqrt(reliability); may exceed 1 by chance.

    `reliability` must be that of the mean of all votes, as `split_half` gives it; alpha is that of a single vote. NaN
    where it is not above 0.
    """
    return value / math.sqrt(reliability) if reliability > 0 else math.nan


def _disagreement(values: Vector, item: Codes) -> tuple[Vector, float]:
    """Sums of squared differences over ordered pairs, of each item and of all votes: 2 (m sum v^2 - (sum v)^2)."""
    values = values - values.mean()
    counts, sums, squares = (np.bincount(item, weights=part) for part in (np.ones_like(values), values, values**2))
    within = 2 * np.maximum(counts * squares - sums**2, 0)
    return within, 2 * len(values) * float((values**2).sum()) if np.ptp(values) else 0.0


def _values(drawn: Callable[[], tuple[Vector, Vector]], statistic: OfRows, draws: int, n: int) -> Vector:
    """The statistic of so many draws of two sides, of several draws at once."""
    blocks, size = [np.zeros(0)], max(1, CELLS // max(1, n))
    for start in range(0, draws, size):
        sides = zip(*(drawn() for _ in range(min(size, draws - start))), strict=True)
        blocks.append(statistic(*map(np.array, sides)))
    return np.concatenate(blocks)


def _mean(values: Vector, votes: Votes) -> PeopleAgreement:
    """The mean over draws in which the statistic exists."""
    known = values[np.isfinite(values)]
    if not len(votes.table):
        return PeopleAgreement(math.nan, 0, SINGLE)
    if not known.size:
        return PeopleAgreement(math.nan, len(votes.table), "votes are too few or all the same")
    return PeopleAgreement(float(known.mean()), len(votes.table))
