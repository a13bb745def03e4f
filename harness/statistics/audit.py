"""Checks of a judge: is it consistent, are its scores biased, and do people agree with it?

Every statistic is a function of weighted means over items, so a bootstrap needs only matrix products: the first row
of the weights is 1 for every item, and each further row counts how often the context of each item was drawn.

A check is flagged if its interval lies wholly beyond its limit, so that a fair judge is rarely flagged. Agreement with
people is flagged unless its interval lies wholly above the limit; without an interval, only if the scores do not vary.
The limits were chosen by simulation; docs/judges.md states their error rates.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

import numpy as np

from harness.statistics.panel import Array, Codes, Mask, Vector
from harness.statistics.ranks import ranks

MIN_CONTEXTS = 5  # the fewest contexts from which an interval is estimated
TOO_FEW_CONTEXTS, TOO_FEW_ANSWERS, CONSTANT = "too few contexts", "too few readable answers", "scores do not vary"
UNRELIABLE = "reliability of ratings unknown or too low"
Rule: TypeAlias = Literal["at least", "at most", "within", "proved above"]


@dataclass(frozen=True, slots=True)
class Check:
    """A statistic with its limit and its 95 % interval, or in `note` the reason why it has no interval."""

    name: str
    value: float
    low: float
    high: float
    rule: Rule
    limit: float
    items: int
    note: str = ""

    @property
    def measured(self) -> bool:
        return all(map(math.isfinite, (self.value, self.low, self.high)))

    @property
    def flagged(self) -> bool:
        violated = {"at least": self.high < self.limit, "at most": self.low > self.limit,
                  "within": self.low > self.limit or self.high < -self.limit, "proved above": not self.low > self.limit}
        return violated[self.rule] if self.measured else self.rule == "proved above" and self.note == CONSTANT

    @property
    def within(self) -> bool:
        """Return True if the whole interval is within the limit."""
        satisfied = {"at least": self.low >= self.limit, "at most": self.high <= self.limit,
                     "within": -self.limit <= self.low and self.high <= self.limit,
                     "proved above": self.low > self.limit}
        return satisfied[self.rule]


RULES: dict[str, tuple[Rule, float]] = {
    "retest": ("at least", 0.9), "options": ("at least", 0.7), "paraphrase": ("at least", 0.7),
    "verbosity": ("within", 0.1), "position": ("within", 0.1), "length": ("within", 0.1), "family": ("at most", 0.1),
    "unread": ("at most", 0.02), "agreement": ("proved above", 0.0), "kappa": ("proved above", 0.0),
    "offset": ("within", 0.1)}
"""The rule and limit of each check, in the order in which checks are returned."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """Scores of a judge on the same items under different conditions; None for a condition that was not tried.

    `scores` and `ratings` (the mean of each item's votes) are on a scale of 0 to 1; `mean_squares` are the means
    of the squared votes, `vote_counts` the numbers of votes. `unread` is the share of each item's questions that got no
    readable answer. `family` marks replies by the judge's model family. For each pair of replies, `first_preferred` is
    the share of its two orders in which the first was preferred, `pair_contexts` its context. Missing scores are NaN.
    """

    scores: Vector
    unread: Vector
    ratings: Vector
    mean_squares: Vector
    vote_counts: Vector
    words: Vector
    contexts: Codes
    retest: Vector | None = None
    options: Vector | None = None
    paraphrase: Vector | None = None
    lengthened: Vector | None = None
    family: Mask | None = None
    first_preferred: Vector | None = None
    pair_contexts: Vector | None = None


def checks_of(evidence: Evidence, rng: np.random.Generator, draws: int = 400) -> list[Check]:
    """Return every check for which there is evidence."""
    scores, ratings = evidence.scores, evidence.ratings
    people = ratings, evidence.mean_squares, evidence.vote_counts
    checks = []
    by_context = resampling_weights(evidence.contexts, rng, draws)

    def add(name: str, statistic: Callable[..., Vector], *columns: Vector, weights: Array = by_context,
            groups: Codes | Vector = evidence.contexts, undefined: str = "no variation") -> None:
        known = np.isfinite(np.array(columns)).all(axis=0)
        values = np.full(1, np.nan)
        if known.sum() >= 3:
            with np.errstate(invalid="ignore", divide="ignore"):
                values = statistic(weights[:, known], *(column[known].astype(float) for column in columns))
        low, high, note = math.nan, math.nan, ""
        if len(np.unique(groups[known])) < MIN_CONTEXTS:
            note = TOO_FEW_CONTEXTS if len(np.unique(groups)) < MIN_CONTEXTS else TOO_FEW_ANSWERS
        elif np.isfinite(values[0]) and np.isfinite(values[1:]).any():
            low, high = np.nanpercentile(values[1:], (2.5, 97.5))
        else:
            note = CONSTANT if np.ptp(columns[0][known]) == 0 else undefined
        checks.append(Check(name, float(values[0]), float(low), float(high), *RULES[name], int(known.sum()), note))

    for name, statistic, other in (
            ("retest", rank_correlation, evidence.retest), ("options", rank_correlation, evidence.options),
            ("paraphrase", rank_correlation, evidence.paraphrase), ("verbosity", shift, evidence.lengthened)):
        if other is not None:
            add(name, statistic, scores, other)
    if evidence.first_preferred is not None and evidence.pair_contexts is not None:
        add("position", lambda weights, share: mean(weights, share - 0.5), evidence.first_preferred,
            weights=resampling_weights(evidence.pair_contexts, rng, draws), groups=evidence.pair_contexts)
    length = ranks(evidence.words)
    for name, trait, unit in (("length", length, length.std()), ("family", evidence.family, 1.0)):
        if trait is not None and len(np.unique(trait)) > 1:
            add(name, preference, scores, trait / unit, *people, undefined=UNRELIABLE)
    share, too_few = float(evidence.unread.mean()), len(np.unique(evidence.contexts)) < MIN_CONTEXTS
    low, high = (math.nan, math.nan) if too_few else wilson(share, len(scores))
    checks.append(Check("unread", share, low, high, *RULES["unread"], len(scores), TOO_FEW_CONTEXTS if too_few else ""))
    add("agreement", rank_correlation, scores, ratings)
    add("kappa", kappa, scores, ratings, evidence.mean_squares)
    add("offset", lambda weights, x, y: mean(weights, x - y), scores, ratings)
    return checks


def resampling_weights(groups: Codes | Vector, rng: np.random.Generator, draws: int) -> Array:
    """Return weights (draws + 1, items): a row of ones, then how often the group of each item was drawn."""
    _, codes = np.unique(groups, return_inverse=True)
    counts = rng.multinomial(codes.max() + 1, np.full(codes.max() + 1, 1 / (codes.max() + 1)), size=draws)
    return np.concatenate([np.ones((1, len(codes))), counts[:, codes].astype(float)])


def mean(weights: Array, x: Vector) -> Vector:
    """Return Σ wx / Σ w of each row of weights."""
    return np.asarray(weights @ x / weights.sum(axis=1), dtype=float)


def correlation(weights: Array, x: Vector, y: Vector) -> Vector:
    x, y = x - x.mean(), y - y.mean()
    covariance = mean(weights, x * y) - mean(weights, x) * mean(weights, y)
    return np.asarray(covariance / np.sqrt(variance(weights, x) * variance(weights, y)), dtype=float)


def wilson(share: float, items: int) -> tuple[float, float]:
    """Return Wilson's 95 % interval of a share, with each item as one trial."""
    z = 1.96**2 / items
    middle, half = share + z / 2, math.sqrt(z * (share * (1 - share) + z / 4))
    return max(0.0, middle - half) / (1 + z), (middle + half) / (1 + z)


def variance(weights: Array, x: Vector) -> Vector:
    x = x - x.mean()
    return np.asarray(np.maximum(mean(weights, x * x) - mean(weights, x) ** 2, 0.0), dtype=float)


def rank_correlation(weights: Array, x: Vector, y: Vector) -> Vector:
    """Return Spearman's ρ; items are ranked once, not within each resample."""
    return correlation(weights, ranks(x), ranks(y))


def shift(weights: Array, before: Vector, after: Vector) -> Vector:
    """Return the mean change of the scores, in standard deviations of the scores before the change."""
    return mean(weights, after - before) / np.sqrt(variance(weights, before))


def preference(weights: Array, scores: Vector, trait: Vector, ratings: Vector, squares: Vector,
               votes: Vector) -> Vector:
    """Return by how many standard deviations scores rise per unit of a trait, at equal quality.

    This is the coefficient of the trait in a regression of the scores on the trait and on the quality that the ratings
    measure with error; their reliability corrects for this error (Fuller 1987, 2.2). Without the correction, a fair
    judge seems to favour every trait of good replies.
    """
    score_rating_r, score_trait_r, rating_trait_r = (
        correlation(weights, *columns) for columns in ((scores, ratings), (scores, trait), (ratings, trait)))
    rating_reliability = reliability(weights, ratings, squares, votes)
    denominator = rating_reliability - rating_trait_r**2
    numerator = score_trait_r * rating_reliability - score_rating_r * rating_trait_r
    slope = numerator / np.where(denominator > 0, denominator, np.nan)
    return np.asarray(slope / np.sqrt(variance(weights, trait)), dtype=float)


def reliability(weights: Array, ratings: Vector, squares: Vector, votes: Vector) -> Vector:
    """Return the reliability of mean ratings: the share of their variance not due to raters' disagreement.

    The variance of votes on an item is estimated from the items with several votes; without any, the result is NaN.
    """
    vote_variance = mean(weights, votes * (squares - ratings**2)) / mean(weights, votes - 1)
    return 1 - vote_variance * mean(weights, 1 / votes) / variance(weights, ratings)


def kappa(weights: Array, scores: Vector, ratings: Vector, squares: Vector) -> Vector:
    """Return Cohen's κ with quadratic weights: 1 − E(s − v)² / E(s − v′)², v a vote on the item, v′ on any item.

    For numbers on a scale, this is Lin's concordance.
    """
    common = mean(weights, scores * scores) + mean(weights, squares)
    observed = common - 2 * mean(weights, scores * ratings)
    return 1 - observed / (common - 2 * mean(weights, scores) * mean(weights, ratings))


def kappa_of_votes(votes: Sequence[Vector]) -> float:
    """Return κ between two votes on an item, over all pairs of votes; NaN if no item has two votes."""
    rated = [row for row in votes if len(row) > 1]
    if not rated:
        return math.nan
    weights = np.ones((1, len(rated)))
    ratings, squares = (np.array([(row**power).mean() for row in rated]) for power in (1, 2))
    within = np.array([2 * row.var(ddof=1) for row in rated])
    return float((1 - mean(weights, within) / (2 * mean(weights, squares) - 2 * mean(weights, ratings) ** 2))[0])
