"""Tests of all pairs of metrics on a target, or of their means over a board: PERM-BOTH on ranks.

    D     the difference of two means of correlations over targets, with the weights of a ranking rule
    p     two-sided: in each draw, a context randomly swaps or keeps its contributions to the two means, alike on all
          qualities of its dataset
    se^2  sum over datasets of v, the sum over contexts of u^2 / (1 - s), u the influence of a context on D and s its
          share of the rated items (Bell & McCaffrey 2002); the interval is D -+ t se, with (sum v)^2 / sum (v^2 / f)
          degrees of freedom (Welch 1947, Satterthwaite 1946), f = 1 / sum s^2 - 1, at least 1

A context contributes its influence on a correlation (ranks.py), Spearman's of the ranks or Pearson's of the
standardised values, plus the correlation times its share of the rows; contributions add up to the correlation. A
draw thus needs one sum per metric for all its pairs. Swapping the ranks themselves, with new means and variances
of both swapped series (permutation.py), gives nearly the same p. Draws depend only on the seed and the dataset, so the
test of a pair is the same on every board of the same targets. Contexts without a rating do not count.

p is adjusted over all pairs by Benjamini & Hochberg (1995): at most 5 % of the differences reported on a target or
board are expected to be false. The datasets are fixed: results generalise to other contexts of the same datasets,
whereas rank intervals also cover other datasets.
"""

from __future__ import annotations

import hashlib
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy

from harness.statistics.panel import Array, Codes, Mask, Vector, by_known_rows, number_of_contexts
from harness.statistics.permutation import TOLERANCE, extreme, mask_bits, refined_p, store_results
from harness.statistics.rank_intervals import TargetScores
from harness.statistics.ranks import INFLUENCE
from harness.statistics.significance import Better, benjamini_hochberg, over_pairs
from harness.statistics.williams import PairTests

ALPHA = 0.05
MIN_CONTEXTS = 6  # number of contexts below which the two-sided p is never below ALPHA
TOO_FEW = "no lead can be established on so few contexts"
DRAWS = 1000


@dataclass(frozen=True, slots=True)
class Difference:
    """The mean of one metric minus that of another, its 95 % interval and adjusted p; NaN if either lacks a target."""

    value: float
    low: float
    high: float
    p: float

    @property
    def established(self) -> bool:
        return self.p < ALPHA

    @property
    def none(self) -> bool:
        """Return True for two metrics that are equal in every context."""
        return -TOLERANCE < self.low <= self.high < TOLERANCE

    @property
    def at_odds(self) -> bool:
        """Return True if the interval, which is not adjusted for other pairs, contradicts the test."""
        return math.isfinite(self.low) and self.established == (self.low <= 0 <= self.high)


@dataclass(frozen=True, slots=True, eq=False)
class Swapped:
    """The correlations of metrics on a target, and their changes when contexts are swapped at random.

    `influence` and `share` are per context (metrics, contexts). `drawn` are the sums of contributions with random
    signs (metrics, draws), the same for all targets of the dataset. `rated` marks the contexts with a rating.
    """

    dataset: str
    values: Vector
    influence: Array
    share: Array
    drawn: Array
    rated: Mask

    def take(self, metrics: Sequence[int] | Codes) -> Swapped:
        indices = list(metrics)
        return replace(self, values=self.values[indices], influence=self.influence[indices], share=self.share[indices],
                       drawn=self.drawn[indices])


def generator(seed: int, dataset: str, quality: str) -> np.random.Generator:
    """Return a generator for a target, independent of other targets."""
    digest = hashlib.sha256(f"{dataset}\0{quality}".encode()).digest()
    return np.random.default_rng([seed, int.from_bytes(digest[:8], "big")])


def weights(datasets: Sequence[str], rule: str) -> Vector:
    """Return the weight of each target by its dataset; `dev` weighs datasets equally, `test` targets."""
    counts = Counter(datasets)
    return np.array([1 / (len(counts) * counts[name]) if rule == "dev" else 1 / len(datasets) for name in datasets],
                    dtype=np.float64)


def swapped(target: TargetScores, seed: int, draws: int = DRAWS, statistic: str = "spearman") -> Swapped:
    units = target.contexts
    signs = 2.0 * np.unpackbits(mask_bits(units, draws, generator(seed, target.dataset, "")), axis=1)[:, :units].T - 1
    values, influence, share = by_context(target, "ranks" if statistic == "spearman" else statistic)
    size = target.rated.sum()
    correction = math.sqrt(size / (size - 1)) if size > 1 else 1.0  # centred sums underestimate the variance
    drawn = correction * ((influence + values[:, None] * share) @ signs)
    return Swapped(target.dataset, values, influence, share, drawn, target.rated)


def all_pairs(parts: Sequence[Swapped], weight: Vector, *, one_sided: bool = False) -> PairTests:
    """Test each pair of metrics' weighted means over targets; if `one_sided`, p[i, j] tests that i is better than j."""
    means = sum(w * part.values for w, part in zip(weight, parts, strict=True))
    drawn = sum(w * part.drawn for w, part in zip(weight, parts, strict=True))
    contexts = number_of_contexts((part.dataset, part.rated) for part in parts)
    tests, draws = PairTests.empty(len(means)), drawn.shape[1]
    for row, row_drawn in enumerate(drawn):
        delta, swaps = means[row] - means[row:], row_drawn - drawn[row:]
        counts = extreme(swaps, delta, one_sided=one_sided), np.einsum("ij,ij->i", swaps, swaps), draws
        pairs = np.stack([np.full(len(delta), row), np.arange(row, len(means))], axis=1)
        store_results(tests, pairs, delta, counts, contexts, one_sided=one_sided)
    return tests


def adjusted(tests: PairTests, draws: int) -> Array:
    return over_pairs(refined_p(tests, draws), benjamini_hochberg)


def better(parts: Sequence[Swapped], weight: Vector) -> Better:
    """Return a matrix, True where metric i has a significantly higher mean than metric j."""
    tests = all_pairs(parts, weight)
    return np.asarray((tests.delta > 0) & (adjusted(tests, parts[0].drawn.shape[1]) < ALPHA))


def difference(parts: Sequence[Swapped], weight: Vector, first: int, second: int, p: float) -> Difference:
    """Return the difference of two metrics' weighted means with its interval; `p` is the p of its test."""
    value = float(sum(w * (part.values[first] - part.values[second]) for w, part in zip(weight, parts, strict=True)))
    terms = list[tuple[float, float]]()
    for name in dict.fromkeys(part.dataset for part in parts):
        group = [(w, part) for w, part in zip(weight, parts, strict=True) if part.dataset == name]
        influence = sum(w * (part.influence[first] - part.influence[second]) for w, part in group)
        share = np.average([part.share[[first, second]].mean(axis=0) for _, part in group], axis=0,
                           weights=[w for w, _ in group])
        if not share.max() < 1:  # a single context, or a metric without a value
            return Difference(value, math.nan, math.nan, p)
        terms.append(((influence**2 / (1 - share)).sum(), max(1 / (share**2).sum() - 1, 1)))
    variance, freedom = np.array(terms).T
    if variance.sum() < TOLERANCE**2:  # the same in every context
        return Difference(value, value, value, p)
    degrees = variance.sum() ** 2 / (variance**2 / freedom).sum()
    reach = float(scipy.special.stdtrit(degrees, 1 - ALPHA / 2)) * math.sqrt(variance.sum())
    return Difference(value, value - reach, value + reach, p)


def contributions(target: TargetScores, statistic: str) -> tuple[Vector, Array]:
    """Return the correlation of each metric, and the contribution of each context to it (metrics, contexts)."""
    values, influence, share = by_context(target, statistic)
    return values, influence + values[:, None] * share


def by_context(target: TargetScores, statistic: str) -> tuple[Vector, Array, Array]:
    """Return the correlation of each metric, and each context's influence on it and share of its rows."""
    values, shape = np.full(len(target.scores), np.nan), (len(target.scores), target.contexts)
    influence, share = np.full((2, *shape), np.nan)
    for rows, metrics in by_known_rows(np.isfinite(target.scores) & np.isfinite(target.human)):
        if rows.sum() >= 3:
            values[metrics], parts = INFLUENCE[statistic](target.scores[metrics][:, rows], target.human[rows])
            order = np.argsort(target.context[rows], kind="stable")
            present, starts = np.unique(target.context[rows][order], return_index=True)
            influence[metrics] = 0.0
            influence[np.ix_(metrics, present)] = np.add.reduceat(parts[:, order], starts, axis=1)
            share[metrics] = np.bincount(target.context[rows], minlength=target.contexts) / rows.sum()
    return values, influence, share


def share_reached(values: Vector, reliability: Vector, weight: Vector) -> float:
    """Return a weighted mean of correlations as a share of the mean of an errorless metric, √reliability per target.

    Only targets with a reliability above 0 count; NaN if there are none. It may exceed 1 by chance.
    """
    reliable = np.isfinite(values) & (np.nan_to_num(reliability) > 0)
    errorless = float(weight[reliable] @ np.sqrt(reliability[reliable]))
    return float(weight[reliable] @ values[reliable]) / errorless if errorless else math.nan
