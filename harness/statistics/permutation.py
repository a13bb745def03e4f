"""PERM-BOTH, a permutation test of whether one metric correlates better with ratings than another.

Deutsch, Dror & Roth (2021), 'A Statistical Analysis of Summarization Evaluation Metrics Using Resampling Methods': both
metrics are standardised; in each draw every row swaps its two scores with probability 1/2; the difference of the two
correlations is one value under the hypothesis that the metrics are exchangeable. If c of k draws are at least as
extreme as the observed difference, p = (c + 1) / (k + 1), which is never 0. A draw in which a mixture is constant
counts as extreme. It assumes independent contexts and metrics that are exchangeable once standardised, which metrics of
very different distributions are not.

Rows that share a context are dependent; swapping them one by one would give too many false positives, so they are
swapped as one unit. If two metrics differ in m contexts, there are 2^m ways to swap; the observed one and its reverse
are always as extreme as observed, so p is at least 2^(1-m), one-sided 2^-m.

`mixtures` and `spearman_mixtures` compute all pairs and draws from a few matrix products. Masks depend only on the
generator and the number of rows, so the p of a pair does not depend on other metrics or their order.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import scipy

from harness.statistics.mixtures import TOLERANCE, AnyMixtures, Bits, Masks, PearsonMixtures
from harness.statistics.panel import Array, Codes, Pairs, Panel, Statistic, Vector
from harness.statistics.spearman_mixtures import SpearmanMixtures
from harness.statistics.williams import PairTests, numbered, shared_rows

PAIRS_AT_ONCE = 512

FEW = 10
"""With fewer draws as extreme as the observed difference, their count is too coarse for a small p."""

Mixtures = SpearmanMixtures | PearsonMixtures | AnyMixtures
MIXTURES: dict[str, Callable[[Vector, Array, Masks], Mixtures]] = {
    "spearman": SpearmanMixtures, "pearson": PearsonMixtures}
"""Fast implementations of the mixtures of a statistic."""


def all_pairs_by_permutation(human: Vector, scores: Array, statistic: str | Statistic = "spearman", draws: int = 1000,
                             *, rng: np.random.Generator, context: Codes | None = None, one_sided: bool = False,
                             system: Codes | None = None, control: Vector | None = None,
                             conversation: Codes | None = None) -> PairTests:
    """Test every pair of metrics, scores (metrics, items), each on the rows with a rating and both scores.

    Items of the same `conversation` (by default, of the same `context`) are swapped together. The statistic of the test
    is the difference over the root of its mean square in the draws. If `one_sided`, p[i, j] tests that i is better than
    j. `system` and `control` are passed to statistics that use them.
    """
    if isinstance(statistic, str) and statistic not in MIXTURES:
        raise ValueError(f"unknown statistic {statistic!r} for a permutation test; known: {', '.join(MIXTURES)}")
    tests, n = PairTests.empty(len(scores)), scores.shape[1]
    contexts = np.arange(n) if context is None else context
    groups = np.unique(contexts if conversation is None else conversation, return_inverse=True)[1].ravel()
    bits = mask_bits(int(groups.max(initial=-1)) + 1, draws, rng)
    for rows, pairs in shared_rows(human, scores):
        if rows.sum() < 3:
            continue
        used, positions = numbered(pairs)
        masks, table = Masks(bits, groups[rows]), scores[used][:, rows]
        if isinstance(statistic, str):
            mixtures = MIXTURES[statistic](human[rows], table, masks)
        else:
            systems = np.zeros(n, dtype=np.int64) if system is None else system
            mixtures = AnyMixtures(Panel(human, human, systems, contexts, control).take(rows), table, statistic, masks)
        for start in range(0, len(pairs), PAIRS_AT_ONCE):
            chunk = slice(start, start + PAIRS_AT_ONCE)
            observed = np.subtract(*mixtures.values[positions[chunk].T])
            above, below, square = _counted(mixtures, positions[chunk], observed, one_sided)
            p = np.where(np.isnan(observed), np.nan, (np.stack([above, below]) + 1) / (draws + 1))
            value = np.divide(observed, np.sqrt(square / draws), out=np.zeros_like(observed), where=square > 0)
            tests.put(pairs[chunk], observed, p, int(rows.sum()), np.where(np.isnan(observed), np.nan, value),
                      least_p(masks.differing(table, positions[chunk]), one_sided))
    return tests


def least_p(contexts: npt.ArrayLike, one_sided: bool) -> Vector:
    """Return the smallest possible p of two metrics that differ in this number of contexts."""
    return np.minimum(1, 2.0 ** (int(not one_sided) - np.asarray(contexts, dtype=np.float64)))


def below_draws(tests: PairTests, draws: int) -> Array:
    """Refine p-values that are too small for the number of draws, so that they can be adjusted over many pairs.

    If at most FEW draws are as extreme, the normal approximation of p is used if it is smaller, but never below the
    least p of the test. Ties aside, the difference in a draw is a sum over contexts with random signs, and its far tail
    is at most about three times the normal one (Bentkus & Dzindzalieta 2015).
    """
    normal = 2 * scipy.special.ndtr(-np.abs(tests.value))
    with np.errstate(invalid="ignore"):
        return np.where(tests.p * (draws + 1) <= FEW, np.maximum(np.fmin(tests.p, normal), tests.least), tests.p)


def mask_bits(groups: int, draws: int, rng: np.random.Generator) -> Bits:
    """Draw a bit for each draw and group (draws, groups/8): 1 keeps the scores of its rows, 0 swaps them."""
    return rng.integers(0, 256, size=(draws, -(-groups // 8)), dtype=np.uint8)


def _counted(mixtures: Mixtures, pairs: Pairs, observed: Vector, one_sided: bool) -> tuple[Pairs, Pairs, Vector]:
    """Count the draws as extreme in favour of the first metric and of the second, and sum the squares of all draws.

    Unless one-sided, both counts are the same. A draw whose difference is undefined counts as extreme.
    """
    above, below = np.zeros((2, len(pairs)), dtype=np.int64)
    square, least = np.zeros(len(pairs)), observed[:, None] - TOLERANCE
    for deltas in mixtures.deltas(pairs):
        square += np.einsum("ij,ij->i", deltas, deltas)
        if one_sided:
            above += (~(deltas < least)).sum(axis=1)  # a NaN is not below
            below += (~(deltas > least + 2 * TOLERANCE)).sum(axis=1)
        else:
            above += (~(np.abs(deltas) < np.abs(observed)[:, None] - TOLERANCE)).sum(axis=1)
    return above, below if one_sided else above, square
