"""Reliability of human ratings: how well people agree with each other, which limits what any metric can reach.

    leave-one-out    agreement of one vote with the mean of the item's other votes, as if the rater were a metric
    leave-one-rater-out    the same for each rater over the items that others rated too, averaged over raters
    split-half       r between the means of two halves of the votes, stepped up to the mean of all votes by Spearman
                     (1910) and Brown (1910):  m r / (1 + (m - 1) r),  m = votes / votes in a half
    alpha            1 - D_observed / D_expected by chance (Krippendorff 2011); at most 1, 0 is chance
    disattenuated    r / sqrt(reliability of the ratings) (Spearman 1904): the r with error-free ratings

Higher is better throughout. All assume that raters err independently. Where raters are unknown, votes are held out and
split at random within each item, which assumes that raters are interchangeable. Items with one vote are left out; if no
items remain, the result is NaN with this reason.

Agreement of columns with people where raters disagree:

    spread       standard deviation of the votes on an item with two or more votes
    thirds       items up to the first tercile of the spread, up to the second, and above; equal spreads stay together
    divergence   Jensen-Shannon divergence in bits, 0 to 1, between (1 - s, s) and (1 - q, q); s is the score, q the
                 share of votes for the higher of the two values of a quality; mean over items. It takes scores as
                 probabilities of the higher value, and exists if all of them are from 0 to 1
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
import scipy

from harness.statistics.coefficients import where_known
from harness.statistics.panel import Array, Codes, Vector, rounded
from harness.statistics.ranks import ranks

SINGLE_VOTES = "no item has more than one vote"
CELLS = 1 << 20  # draws × votes that are held at once

OfRows: TypeAlias = Callable[[Array, Array], Vector]
"""A statistic of two sides (draws, items), row by row; NaN where it does not exist."""


@dataclass(frozen=True, slots=True)
class PeopleAgreement:
    """Agreement among people over `items` items; if NaN, `note` is the reason."""

    value: float
    items: int
    note: str = ""


def vote_table(rows: Iterable[Sequence[float]]) -> Array:
    """Return votes as a table (items, most votes of an item), each row padded with NaN at its end."""
    rows = list(rows)
    table = np.full((len(rows), max(map(len, rows), default=0)), math.nan)
    for index, row in enumerate(rows):
        table[index, :len(row)] = row
    return table


def multiply_rated(votes: Array) -> Array:
    """Return the votes (items, votes) on the items with at least two votes."""
    return np.asarray(votes[np.isfinite(votes).sum(axis=1) >= 2])


def leave_one_out(votes: Array, statistic: OfRows, rng: np.random.Generator, draws: int = 100) -> PeopleAgreement:
    """Return the mean over draws of the statistic of one random vote per item against the mean of the others."""
    totals, counts = np.nansum(votes, axis=1), np.isfinite(votes).sum(axis=1)
    rows = np.arange(len(votes))

    def draw(size: int) -> tuple[Array, Array]:
        held_out = votes[rows, rng.integers(0, counts, (size, len(votes)))]
        return rounded((totals - held_out) / (counts - 1), votes), held_out

    return _mean(draw, statistic, draws, votes)


def leave_one_rater_out(table: Array, statistic: OfRows) -> PeopleAgreement:
    """Return the mean over raters of the statistic of a rater's votes against the mean of the others' votes.

    `table` has the votes (raters, items), NaN if missing. Raters with fewer than three shared items, or for whom the
    statistic does not exist, are left out.
    """
    known = np.isfinite(table)
    totals, counts = np.where(known, table, 0).sum(axis=0), known.sum(axis=0)
    shared = known & (counts > 1)
    with np.errstate(invalid="ignore"):
        others = rounded((totals - table) / (counts - 1), table)
    values = np.array([statistic(means[None, items], votes[None, items])[0]
                       for means, votes, items in zip(others, table, shared, strict=True) if items.sum() >= 3])
    values = values[np.isfinite(values)]
    value, note = (values.mean(), "") if values.size else (math.nan, "no rater shares three items with others")
    return PeopleAgreement(float(value), int((counts > 1).sum()), note)


def split_half(votes: Array, statistic: OfRows, rng: np.random.Generator, draws: int = 100) -> PeopleAgreement:
    """Return the reliability of mean ratings: the mean agreement of random halves of each item's votes, stepped up.

    With an odd number of votes, one is left out of both halves. The result is for the mean number of votes per item.
    The theory is for Pearson's r, but Spearman's rho is common.
    """
    counts, columns = np.isfinite(votes).sum(axis=1), np.arange(votes.shape[1])
    halves = counts // 2
    first_half, second_half = columns < halves[:, None], (columns >= halves[:, None]) & (columns < 2 * halves[:, None])

    def draw(size: int) -> tuple[Array, Array]:
        keys = np.where(np.isfinite(votes), rng.random((size, *votes.shape)), 2.0)  # missing votes stay last
        shuffled = np.nan_to_num(np.take_along_axis(votes[None], np.argsort(keys, axis=2), axis=2))
        first, second = (np.where(half, shuffled, 0).sum(axis=2) / halves for half in (first_half, second_half))
        return rounded(first, votes), rounded(second, votes)

    half = _mean(draw, statistic, draws, votes)
    return half if math.isnan(half.value) else stepped_up(half, float(counts.mean() / halves.mean()))


def stepped_up(half: PeopleAgreement, times: float) -> PeopleAgreement:
    """Return the reliability of `times` as many votes by Spearman-Brown; NaN if halves disagree too much."""
    denominator = 1 + (times - 1) * half.value
    if denominator <= 0:
        return PeopleAgreement(math.nan, half.items, f"halves disagree (r = {half.value:.2f})")
    return replace(half, value=times * half.value / denominator)


def alpha(votes: Array, scale: str = "interval") -> PeopleAgreement:
    """Return Krippendorff's alpha of single votes by squared differences of votes (interval) or ranks (ordinal)."""
    if scale not in ("ordinal", "interval"):
        raise ValueError(f"unknown scale {scale!r}; known: ordinal, interval")
    if not len(votes):
        return PeopleAgreement(math.nan, 0, SINGLE_VOTES)
    known = np.isfinite(votes)
    values, item = votes[known], np.nonzero(known)[0]
    if np.ptp(values) == 0:
        return PeopleAgreement(math.nan, len(votes), "every vote is the same")
    values = ranks(values) if scale == "ordinal" else values
    values, n = values - values.mean(), len(values)
    # sums of squared differences over ordered pairs, within each item and over all: 2 (m sum v^2 - (sum v)^2)
    counts, sums, squares = (np.bincount(item, weights=part) for part in (np.ones(n), values, values**2))
    within = 2 * np.maximum(counts * squares - sums**2, 0)
    observed = float((within / (counts - 1)).sum()) / n
    expected = 2 * float((values**2).sum()) / (n - 1)
    return PeopleAgreement(1 - observed / expected, len(votes))


def disattenuated(value: float, reliability: float) -> float:
    """Return r with error-free ratings, given the reliability of the mean of all votes; NaN if that is 0 or less.

    It may exceed 1 by chance.
    """
    return value / math.sqrt(reliability) if reliability > 0 else math.nan


def _mean(draw: Callable[[int], tuple[Array, Array]], statistic: OfRows, draws: int, votes: Array) -> PeopleAgreement:
    """Average the statistic over the draws of two sides in which it exists."""
    if not len(votes):
        return PeopleAgreement(math.nan, 0, SINGLE_VOTES)
    size = max(1, CELLS // votes.size)
    values = np.concatenate([statistic(*draw(min(size, draws - start))) for start in range(0, draws, size)])
    known = values[np.isfinite(values)]
    value, note = (known.mean(), "") if known.size else (math.nan, "votes are too few or all the same")
    return PeopleAgreement(float(value), len(votes), note)


def spread(votes: Array) -> Vector:
    """Return the standard deviation of the votes (votes, items) on each item; NaN below two votes."""
    deviations = np.ma.masked_invalid(votes).std(axis=0).filled(math.nan).round(12)
    return np.where(np.isfinite(votes).sum(axis=0) > 1, deviations, math.nan)


def parts(values: Vector, count: int) -> Codes:
    """Divide values into parts of about equal size, numbered from 0; equal values share a part, NaN is in part -1."""
    known = np.sort(values[np.isfinite(values)])
    ends = [known[math.ceil(len(known) * part / count) - 1] for part in range(1, count)] if len(known) else []
    return np.where(np.isfinite(values), np.searchsorted(ends, values), -1)


def by_third(human: Vector, scores: Array, spreads: Vector) -> Array:
    """Return Spearman's rho of each column on each third of the spread (columns, thirds)."""
    third = parts(spreads, 3)
    return np.column_stack([where_known(np.where(third == index, human, np.nan), scores) for index in range(3)])


def divergences(votes: Array, scores: Array) -> Vector:
    """Return the mean divergence of each column; NaN for votes of more than two values, or scores outside 0 to 1."""
    values = np.full(len(scores), math.nan)
    levels = np.unique(votes[np.isfinite(votes)])
    if len(levels) != 2:
        return values
    counts = np.isfinite(votes).sum(axis=0)
    share = (votes == levels[1]).sum(axis=0) / np.maximum(counts, 1)
    for column, row in enumerate(scores):
        rows = np.isfinite(row) & (counts > 0)
        if rows.any() and row[rows].min() >= 0 and row[rows].max() <= 1:
            s, q = row[rows], share[rows]
            values[column] = np.mean(_entropy((s + q) / 2) - (_entropy(s) + _entropy(q)) / 2)
    return values


def _entropy(p: Vector) -> Vector:
    """Return the entropy of (1 - p, p) in bits."""
    return np.asarray((scipy.special.entr(p) + scipy.special.entr(1 - p)) / math.log(2))
