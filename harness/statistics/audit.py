"""Checks of a judge: is it consistent, are its scores biased, and do people agree with it?

Every statistic is a function of weighted means over items, so that a bootstrap is a product of matrices: the first row
of the weights is 1 for every item, each further row counts how often each item was drawn with its context.

A check is flagged if its interval lies wholly beyond its limit, so that a fair judge is rarely flagged. Agreement with
people is flagged unless its interval lies wholly above the limit. The limits were chosen by simulation: docs/judges.md
has their error rates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np
import scipy

from harness.statistics.panel import Array, Codes, Mask, Vector
from harness.statistics.ranks import ranks

CONTEXTS = 5
"""The fewest contexts from which an interval is estimated."""
Rule: TypeAlias = Literal["at least", "at most", "within", "proved above"]


@dataclass(frozen=True, slots=True)
class Check:
    """A statistic with its 95 % interval, the limit that it should keep, and whether it breaks that limit."""

    name: str
    value: float
    low: float
    high: float
    rule: Rule
    limit: float
    items: int

    @property
    def measured(self) -> bool:
        return all(map(math.isfinite, (self.value, self.low, self.high)))

    @property
    def flagged(self) -> bool:
        broken = {"at least": self.high < self.limit, "at most": self.low > self.limit,
                  "within": self.low > self.limit or self.high < -self.limit, "proved above": not self.low > self.limit}
        return self.measured and broken[self.rule]


RULES: dict[str, tuple[Rule, float]] = {
    "retest": ("at least", 0.9), "options": ("at least", 0.7), "paraphrase": ("at least", 0.7),
    "verbosity": ("within", 0.1), "length": ("within", 0.2), "position": ("within", 0.1), "family": ("at most", 0.1),
    "unread": ("at most", 0.02), "agreement": ("proved above", 0.0), "kappa": ("proved above", 0.0),
    "offset": ("within", 0.1)}
"""The rule and limit of each check, in the order of the card."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Scores of a judge on the same items under different conditions; None for a condition that was not tried.

    `scores` and `ratings` (the mean of each item's votes) are on a scale of 0 to 1; `squares` are the means of the
    votes' squares. `family` marks replies by the judge's model family. `first` has for each pair of replies the share
    of its two orders in which the first was preferred, `pairs` the context of each pair. NaN is a missing score.
    """

    scores: Vector
    ratings: Vector
    squares: Vector
    words: Vector
    contexts: Codes
    again: Vector | None = None
    options: Vector | None = None
    paraphrase: Vector | None = None
    longer: Vector | None = None
    family: Mask | None = None
    first: Vector | None = None
    pairs: Vector | None = None


def card(evidence: Evidence, rng: np.random.Generator, draws: int = 400) -> list[Check]:
    """Return every check for which there is evidence."""
    scores, ratings, words = evidence.scores, evidence.ratings, evidence.words
    checks = []
    by_context = resampled(evidence.contexts, rng, draws)

    def add(name: str, figure: Callable[..., Vector], *columns: Vector, weights: Array = by_context,
            groups: Codes | Vector = evidence.contexts) -> None:
        known = np.isfinite(np.array(columns)).all(axis=0)
        values = np.full(1, np.nan)
        if known.sum() >= 3:
            with np.errstate(invalid="ignore", divide="ignore"):
                values = figure(weights[:, known], *(column[known].astype(float) for column in columns))
        low, high = math.nan, math.nan
        if np.isfinite(values[1:]).any() and len(np.unique(groups[known])) >= CONTEXTS:
            low, high = np.nanpercentile(values[1:], (2.5, 97.5))
        checks.append(Check(name, float(values[0]), float(low), float(high), *RULES[name], int(known.sum())))

    for name in ("again", "options", "paraphrase"):
        if (other := getattr(evidence, name)) is not None:
            add("retest" if name == "again" else name, rank_correlation, scores, other)
    if evidence.longer is not None:
        add("verbosity", shift, scores, evidence.longer)
    add("length", partial, scores, words, ratings)
    if evidence.first is not None and evidence.pairs is not None:
        add("position", lambda weights, first: mean(weights, first - 0.5), evidence.first,
            weights=resampled(evidence.pairs, rng, draws), groups=evidence.pairs)
    if evidence.family is not None and 0 < evidence.family.sum() < len(scores):
        add("family", preference, scores, ratings, evidence.family.astype(float))
    unread = (~np.isfinite(scores)).astype(float)
    low, high = scipy.stats.binomtest(int(unread.sum()), len(unread)).proportion_ci(method="wilson")
    checks.append(Check("unread", float(unread.mean()), low, high, *RULES["unread"], len(unread)))
    add("agreement", rank_correlation, scores, ratings)
    add("kappa", kappa, scores, ratings, evidence.squares)
    add("offset", lambda weights, x, y: mean(weights, x - y), scores, ratings)
    return checks


def resampled(groups: Codes | Vector, rng: np.random.Generator, draws: int) -> Array:
    """Return weights (draws + 1, items): a row of ones, then how often the group of each item was drawn."""
    _, codes = np.unique(groups, return_inverse=True)
    counts = rng.multinomial(codes.max() + 1, np.full(codes.max() + 1, 1 / (codes.max() + 1)), size=draws)
    return np.concatenate([np.ones((1, len(codes))), counts[:, codes].astype(float)])


def mean(weights: Array, x: Vector) -> Vector:
    """Return Σ wx / Σ w of each row of weights."""
    return np.asarray(weights @ x / weights.sum(axis=1), dtype=float)


def correlation(weights: Array, x: Vector, y: Vector) -> Vector:
    """Return Pearson's r."""
    x, y = x - x.mean(), y - y.mean()
    covariance = mean(weights, x * y) - mean(weights, x) * mean(weights, y)
    return np.asarray(covariance / np.sqrt(variance(weights, x) * variance(weights, y)), dtype=float)


def variance(weights: Array, x: Vector) -> Vector:
    x = x - x.mean()
    return np.asarray(np.maximum(mean(weights, x * x) - mean(weights, x) ** 2, 0.0), dtype=float)


def rank_correlation(weights: Array, x: Vector, y: Vector) -> Vector:
    """Return Spearman's ρ, with the ranks among all items in every resample."""
    return correlation(weights, ranks(x), ranks(y))


def partial(weights: Array, x: Vector, y: Vector, held: Vector) -> Vector:
    """Return the rank correlation of x and y with a third variable held constant."""
    both, of_x, of_y = (rank_correlation(weights, *two) for two in ((x, y), (x, held), (y, held)))
    return np.asarray((both - of_x * of_y) / np.sqrt((1 - of_x**2) * (1 - of_y**2)), dtype=float)


def shift(weights: Array, before: Vector, after: Vector) -> Vector:
    """Return the mean change of the scores, in standard deviations of the scores before."""
    return mean(weights, after - before) / np.sqrt(variance(weights, before))


def preference(weights: Array, scores: Vector, ratings: Vector, family: Vector) -> Vector:
    """Return by how many standard deviations the family's items are scored above what their ratings explain.

    This is the coefficient of the family's indicator in a regression of the scores on it and on the ratings.
    """
    of_ratings, of_family, between = (correlation(weights, *two)
                                   for two in ((scores, ratings), (scores, family), (ratings, family)))
    slope = (of_family - of_ratings * between) / (1 - between**2)
    return np.asarray(slope / np.sqrt(variance(weights, family)), dtype=float)


def kappa(weights: Array, scores: Vector, ratings: Vector, squares: Vector) -> Vector:
    """Return Cohen's κ with quadratic weights between scores and single votes: 1 − E(s − v)² / E(s − v′)².

    v is a vote on the item, v′ a vote on any item. For numbers on a scale it is Lin's concordance.
    """
    common = mean(weights, scores * scores) + mean(weights, squares)
    observed = common - 2 * mean(weights, scores * ratings)
    return 1 - observed / (common - 2 * mean(weights, scores) * mean(weights, ratings))


def kappa_of_votes(votes: Sequence[Vector]) -> float:
    """Return κ between two votes on an item, over all pairs of votes; NaN if no item has two."""
    rated = [row for row in votes if len(row) > 1]
    if not rated:
        return math.nan
    weights = np.ones((1, len(rated)))
    ratings, squares = (np.array([(row**power).mean() for row in rated]) for power in (1, 2))
    within = np.array([2 * row.var(ddof=1) for row in rated])
    return float((1 - mean(weights, within) / (2 * mean(weights, squares) - 2 * mean(weights, ratings) ** 2))[0])
