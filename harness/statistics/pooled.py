"""Tests of all pairs of metrics on a target, or of their means over a board: PERM-BOTH on ranks.

    D     the difference of two means of correlations over targets, with the weights of a ranking rule
    p     two-sided: in each draw, a context randomly swaps or keeps its contributions to the two means, alike on all
          qualities of its dataset
    se^2  sum over datasets of n / (n - 1) times the sum of squares of the centred contributions of n contexts to D;
          the interval is D -+ t se, with (sum v)^2 / sum v^2 / (n - 1) degrees of freedom, v the terms of se^2
          (Welch 1947, Satterthwaite 1946)

A correlation is a sum over contexts of their influence on it (influence.py): Spearman's of the ranks, Pearson's of the
standardised values. So a draw needs one sum per metric, which serves all its pairs. Swapping the ranks themselves, with
new means and variances of both mixtures (permutation.py), gives nearly the same p. Draws depend only on the seed and
the dataset: the test of a pair is the same on every board of the same targets.

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

from harness.statistics.influence import INFLUENCE
from harness.statistics.panel import Array, Codes, Mask, Vector, by_known_rows
from harness.statistics.permutation import TOLERANCE, below_draws, extreme, mask_bits, put
from harness.statistics.rank_intervals import TargetScores
from harness.statistics.significance import Better, benjamini_hochberg, over_pairs
from harness.statistics.williams import PairTests

ALPHA = 0.05
MIN_CONTEXTS = 6
"""Number of contexts below which the two-sided p is never below ALPHA."""
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
        """Return True if the difference is significant at 5 %."""
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
    """The correlations of metrics on a target, as sums over contexts (metrics, contexts).

    `drawn` are these sums with random signs (metrics, draws), the same for all targets of the dataset. `rated` marks
    the contexts with a rating.
    """

    dataset: str
    values: Vector
    sums: Array
    drawn: Array
    rated: Mask

    def take(self, metrics: Sequence[int] | Codes) -> Swapped:
        chosen = list(metrics)
        return replace(self, values=self.values[chosen], sums=self.sums[chosen], drawn=self.drawn[chosen])


def generator(seed: int, dataset: str, quality: str) -> np.random.Generator:
    """Return a generator for a target, independent of other targets."""
    digest_of_target = hashlib.sha256(f"{dataset}\0{quality}".encode()).digest()[:8]
    return np.random.default_rng([seed, int.from_bytes(digest_of_target, "big")])


def weights(datasets: Sequence[str], rule: str) -> Vector:
    """Return the weight of each target by its dataset; `dev` weighs datasets equally, `test` targets."""
    counts = Counter(datasets)
    return np.array([1 / (len(counts) * counts[name]) if rule == "dev" else 1 / len(datasets) for name in datasets],
                    dtype=np.float64)


def swapped(target: TargetScores, seed: int, draws: int = DRAWS, statistic: str = "spearman") -> Swapped:
    units = target.contexts
    signs = 2.0 * np.unpackbits(mask_bits(units, draws, generator(seed, target.dataset, "")), axis=1)[:, :units].T - 1
    values, sums = contributions(target, "ranks" if statistic == "spearman" else statistic)
    rated = np.zeros(units, dtype=np.bool_)
    rated[target.context[np.isfinite(target.human)]] = True
    correction = math.sqrt(units / (units - 1)) if units > 1 else 1.0  # centred sums underestimate the variance
    return Swapped(target.dataset, values, sums, correction * (sums @ signs), rated)


def all_pairs(parts: Sequence[Swapped], weight: Vector, *, one_sided: bool = False) -> PairTests:
    """Test each pair of metrics' weighted means over targets; if `one_sided`, p[i, j] tests that i is better than j."""
    means = sum(w * part.values for w, part in zip(weight, parts, strict=True))
    drawn = sum(w * part.drawn for w, part in zip(weight, parts, strict=True))
    contexts = sum({part.dataset: part.sums.shape[1] for part in parts}.values())
    tests, draws = PairTests.empty(len(means)), drawn.shape[1]
    for row, of_row in enumerate(drawn):
        delta, swaps = means[row] - means[row:], of_row - drawn[row:]
        counts = extreme(swaps, delta, one_sided=one_sided), np.einsum("ij,ij->i", swaps, swaps), draws
        pairs = np.stack([np.full(len(delta), row), np.arange(row, len(means))], axis=1)
        put(tests, pairs, delta, counts, contexts, one_sided=one_sided)
    return tests


def adjusted(tests: PairTests, draws: int) -> Array:
    """Return p adjusted over all pairs."""
    return over_pairs(below_draws(tests, draws), benjamini_hochberg)


def better(parts: Sequence[Swapped], weight: Vector) -> Better:
    """Return a matrix, True where metric i has a significantly higher mean than metric j."""
    tests = all_pairs(parts, weight)
    return np.asarray((tests.delta > 0) & (adjusted(tests, parts[0].drawn.shape[1]) < ALPHA))


def difference(parts: Sequence[Swapped], weight: Vector, first: int, second: int, p: float) -> Difference:
    """Return the difference of two metrics' weighted means with its interval; `p` is the p of their test."""
    by_dataset: dict[str, Vector] = {}
    rated: dict[str, Mask] = {}
    for w, part in zip(weight, parts, strict=True):
        by_dataset[part.dataset] = by_dataset.get(part.dataset, 0) + w * (part.sums[first] - part.sums[second])
        rated[part.dataset] = rated.get(part.dataset, False) | part.rated
    groups = [values[rated[name]] for name, values in by_dataset.items()]
    value = float(sum(group.sum() for group in groups))
    freedom = np.array([len(group) - 1 for group in groups])
    if math.isnan(value) or (freedom < 1).any():
        return Difference(value, math.nan, math.nan, p)
    variance = np.array([np.square(group - group.mean()).sum() for group in groups]) * (freedom + 1) / freedom
    if variance.sum() < TOLERANCE**2:  # the same in every context
        return Difference(value, value, value, p)
    degrees = variance.sum() ** 2 / (variance**2 / freedom).sum()
    reach = float(scipy.special.stdtrit(degrees, 1 - ALPHA / 2)) * math.sqrt(variance.sum())
    return Difference(value, value - reach, value + reach, p)


def contributions(target: TargetScores, statistic: str) -> tuple[Vector, Array]:
    """Return the correlation of each metric, and the contribution of each context to it (metrics, contexts)."""
    values, sums = np.full(len(target.scores), np.nan), np.full((len(target.scores), target.contexts), np.nan)
    for rows, metrics in by_known_rows(np.isfinite(target.scores) & np.isfinite(target.human)):
        if rows.sum() >= 3:
            values[metrics], parts = INFLUENCE[statistic](target.scores[metrics][:, rows], target.human[rows])
            parts += values[metrics][:, None] / rows.sum()
            order = np.argsort(target.context[rows], kind="stable")
            present, starts = np.unique(target.context[rows][order], return_index=True)
            sums[metrics] = 0.0
            sums[np.ix_(metrics, present)] = np.add.reduceat(parts[:, order], starts, axis=1)
    return values, sums


def share_reached(values: Vector, reliability: Vector, weight: Vector) -> float:
    """Return a weighted mean of correlations as a share of the mean of an errorless metric, √reliability per target.

    Only targets with a reliability above 0 count; NaN if there are none. It may exceed 1 by chance.
    """
    reliable = np.isfinite(values) & (np.nan_to_num(reliability) > 0)
    errorless = float(weight[reliable] @ np.sqrt(reliability[reliable]))
    return float(weight[reliable] @ values[reliable]) / errorless if errorless else math.nan
