"""The alternative annotator test: may a metric take the place of a rater?

Calderon, Reichart & Dror (2025), 'The Alternative Annotator Test for LLM-as-a-Judge'. On every item that rater j and at
least one other rated, metric and rater j are compared by their root mean squared difference from the others' votes; for
votes of two values, this gives the same order as the share of others who disagree:

    W        1 if the metric is at least as near to the others as rater j, else 0; for the rater vice versa
    rho      the mean of W over the items of a rater, averaged over raters; rater_rho likewise
    p_j      one-sided p by t for 'mean W of the metric > that of rater j - epsilon', adjusted by Benjamini & Yekutieli
    passes   True if p_j < .05 for at least half of the raters; their share is the winning rate

Departures. Scores are mapped to the rating scale by the nondecreasing function with the highest rho on the other folds
of contexts, and W is averaged over ten random divisions into five folds. If raters hardly differ, a constant passes
too, so the best constant of the other folds is tested in the same way, and a metric replaces a rater only if its rho is
also significantly above the constant's, by t. Standard errors are by whole contexts; if each item has its own context,
the test is the published one. Below 30 items the paper uses Wilcoxon's test, which with epsilon does not test the mean
and rejects too often; here t is always used. If raters are unknown, votes are exchangeable: W is averaged over the
votes of an item, and there is one p.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import scipy

from harness.statistics.panel import Array, Codes, Mask, Vector, sums
from harness.statistics.significance import benjamini_yekutieli

ALPHA = 0.05
MIN_ITEMS = 10  # minimum number of items of a compared rater; raters with fewer still count among the others
MAX_SCALE_VALUES = 21  # maximum number of values of a scale; a finer scale is represented by quantiles of its votes
TOLERANCE = 1e-9


@dataclass(frozen=True, slots=True)
class Replacement:
    """The test of each column; `raters` counts the raters compared, 0 if votes are exchangeable."""

    rho: Vector
    rater_rho: Vector
    constant_rho: float
    winning_rate: Vector
    passes: Mask
    replaces: Mask
    items: int
    raters: int


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Votes of compared raters on items with other votes, each with the mean of the `others`.

    `weight` is the share of a vote in its rater's mean. A cell has the votes of one rater in one context: `cell` gives
    the cell of each vote, `rater` and `unit` (context) those of each cell. `raters` is the number of raters, 0 if votes
    are exchangeable.
    """

    item: Codes
    value: Vector
    others: Vector
    weight: Vector
    cell: Codes
    rater: Codes
    unit: Codes
    raters: int

    @classmethod
    def from_votes(cls, votes: Array, units: Codes, *, exchangeable: bool = False) -> HeldOut:
        """Create from votes (raters, items), NaN if missing, and contexts; as of one rater if `exchangeable`."""
        known = np.isfinite(votes)
        counts, totals = known.sum(axis=0), np.where(known, votes, 0).sum(axis=0)
        known &= counts > 1
        rater, item = np.nonzero(known if exchangeable else known & (known.sum(axis=1) >= MIN_ITEMS)[:, None])
        value, weight = votes[rater, item], 1 / counts[item] if exchangeable else np.ones(len(item))
        rater = np.zeros_like(rater) if exchangeable else np.unique(rater, return_inverse=True)[1]
        weight /= np.bincount(rater, weights=weight)[rater]
        unit, size = np.unique(units, return_inverse=True)[1], len(units)
        cells, cell = np.unique(rater * size + unit[item], return_inverse=True)
        return cls(item, value, (totals[item] - value) / (counts[item] - 1), weight, cell, cells // size, cells % size,
                   0 if exchangeable else int(rater.max(initial=-1)) + 1)

    def wins(self, values: Array) -> Array:
        """Return W of values (rows, votes), and that of the raters against them: (2, rows, votes)."""
        value_distance, rater_distance = np.abs(values - self.others), np.abs(self.value - self.others)
        return np.array([value_distance <= rater_distance + TOLERANCE, rater_distance <= value_distance + TOLERANCE],
                        dtype=np.float64)

    def means(self, wins: Array) -> tuple[Array, Array]:
        """Return the mean of each rater (rows, raters), and the influence of each cell on it (rows, cells)."""
        parts = sums(wins * self.weight, self.cell)
        means = sums(parts, self.rater)
        return means, parts - np.bincount(self.cell, weights=self.weight) * means[:, self.rater]


def on_scale(votes: HeldOut, scores: Array, folds: Codes) -> Array:
    """Map scores (columns, items) to ratings, as learned on the other folds of each division (divisions, items).

    Return (divisions, columns + 1, items); the last row is the best constant.
    """
    scale = np.unique(votes.value)
    if len(scale) > MAX_SCALE_VALUES:
        scale = np.unique(np.quantile(votes.value, np.linspace(0, 1, MAX_SCALE_VALUES), method="nearest"))
    gains = votes.wins(np.repeat(scale[:, None], len(votes.item), axis=1))[0] * votes.weight
    gains = np.array([np.bincount(votes.item, weights=row, minlength=folds.shape[1]) for row in gains])
    values = np.empty((len(folds), len(scores) + 1, folds.shape[1]))
    tested = [(mapped, fold == number)
              for mapped, fold in zip(values, folds, strict=True) for number in np.unique(fold)]
    learned = (np.where(rows, 0.0, gains) for _, rows in tested)
    for (mapped, rows), index in zip(tested, steps(learned, scores), strict=True):
        mapped[:-1, rows] = scale[index[:, rows]]
        mapped[-1, rows] = scale[gains[:, ~rows].sum(axis=1).argmax()]
    return values


def replacement(votes: HeldOut, values: Array, epsilon: float = 0.1) -> Replacement:
    """Test values (divisions, columns + 1, items) on the rating scale; the last row is a constant."""
    wins, rater_wins = functools.reduce(np.add, (votes.wins(mapped[:, votes.item]) for mapped in values)) / len(values)
    (rho, _), (rater_rho, _) = votes.means(wins), votes.means(rater_wins)
    means, parts = votes.means(rater_wins[:-1] - wins[:-1])
    p = _p_below(means - epsilon, parts, votes.rater)
    winning_rate = np.array([(benjamini_yekutieli(row) < ALPHA).mean() for row in p])
    means, parts = votes.means(wins[-1] - wins[:-1])
    by_context = sums(parts, np.unique(votes.unit, return_inverse=True)[1]) / means.shape[1]
    p = _p_below(means.mean(axis=1, keepdims=True), by_context, np.zeros(by_context.shape[1], np.int64))
    passes = winning_rate >= 0.5
    return Replacement(rho[:-1].mean(axis=1), rater_rho[:-1].mean(axis=1), float(rho[-1].mean()), winning_rate, passes,
                       passes & (p[:, 0] < ALPHA), len(np.unique(votes.item)), votes.raters)


def steps(gains: Iterable[Array], scores: Array) -> Iterator[Codes]:
    """Yield the index of each item's value under the nondecreasing function of scores that maximises the sum of gains.

    `scores` is (columns, items); each of the `gains` (values, items) is the gain of giving an item a value.
    """
    order = np.argsort(scores, axis=1, kind="stable")
    place = np.argsort(order, axis=1)
    ordered = np.take_along_axis(scores, order, axis=1)
    edge = np.ones((len(scores), scores.shape[1] + 1), np.bool_)
    edge[:, 1:-1] = ordered[:, 1:] > ordered[:, :-1]
    position = np.arange(edge.shape[1])
    for gain in gains:
        totals = np.zeros((len(gain), *edge.shape))
        np.cumsum(gain[:, order], axis=2, out=totals[:, :, 1:])  # totals over the items before each edge
        best, advantages = totals[0], []
        for total in totals[1:]:
            advantages.append(np.where(edge, best - total, -np.inf))
            best = total + np.maximum.accumulate(advantages[-1], axis=1)
        start, index = np.full((len(scores), 1), edge.shape[1]), np.zeros(scores.shape, np.int64)
        for advantage in reversed(advantages):
            start = np.where(position <= start, advantage, -np.inf).argmax(axis=1)[:, None]
            index += position[:-1] >= start
        yield np.take_along_axis(index, place, axis=1)


def _p_below(means: Array, parts: Array, group: Codes) -> Array:
    """Return p of each mean (rows, groups) being below 0, from the influence of each cell or context of a group."""
    sizes = np.bincount(group)
    with np.errstate(divide="ignore", invalid="ignore"):
        p = scipy.special.stdtr(sizes - 1, means / np.sqrt(sums(parts**2, group) * sizes / (sizes - 1)))
    return np.where(sizes > 1, p, 1.0)
