"""Is one metric's correlation with people higher than another's? A permutation test without a distribution of scores.

PERM-BOTH (Deutsch, Dror & Roth 2021, 'A Statistical Analysis of Summarization Evaluation Metrics Using Resampling
Methods'): both metrics are standardised; in each draw every row swaps its two scores with probability 1/2; the
difference of the two correlations so found is one value under the hypothesis that the metrics are exchangeable.
c of k draws being at least as extreme as what was observed, p = (c + 1) / (k + 1), which is never 0.
A draw in which a mixture is constant, so that it has no correlation, counts as extreme. It assumes independent contexts
and metrics that are exchangeable once standardised, which those of very different shape are not.

Rows that share a context are not independent: taken one by one they make the test find too much. Swapped together, as
one unit, they do not. Over m contexts in which two metrics differ there are 2^m ways to swap, of which the observed one
and its reverse are as extreme: no p is below 2^(1-m), one-sided 2^-m.

`mixtures` and `spearman_mixtures` say how all pairs and draws come from a few matrix products. The masks depend on the
generator and the number of rows alone, so a pair's p is the same whatever other metrics there are, in whatever order.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
import scipy

from harness.statistics.mixtures import TOLERANCE, AnyMixtures, Bits, Masks, Mixtures, PearsonMixtures
from harness.statistics.panel import Array, Codes, Pairs, Panel, Statistic, Vector
from harness.statistics.spearman_mixtures import SpearmanMixtures
from harness.statistics.williams import PairTests, numbered, shared_rows

PAIRS_AT_ONCE = 512

FEW = 10
"""With fewer draws as extreme as what was observed, how many they are says little of a small p."""

MIXTURES: dict[str, Callable[[Vector, Array, Masks, Executor], Mixtures]] = {
    "spearman": SpearmanMixtures,
    "pearson": lambda human, scores, masks, pool: PearsonMixtures(human, scores, masks),
}
"""The statistics that have a quick way."""


def all_pairs_by_permutation(human: Vector, scores: Array, statistic: str | Statistic = "spearman", draws: int = 1000,
                             *, rng: np.random.Generator, context: Codes | None = None, one_sided: bool = False,
                             system: Codes | None = None, control: Vector | None = None,
                             conversation: Codes | None = None) -> PairTests:
    """Test every pair of metrics, scores (metrics, items), each on the rows in which all three values are.

    With `context`, the group of each item, the items of a group are swapped together, because they are not independent;
    with `conversation`, whose contexts continue each other, those of a conversation.
    The statistic is the difference over the root of its mean square in the draws. One-sided, p[i, j] is of i being
    better than j. `system` and `control` are for statistics that read them.
    """
    if isinstance(statistic, str) and statistic not in MIXTURES:
        raise ValueError(f"statistic {statistic!r}: a permutation test of all pairs knows {', '.join(MIXTURES)}")
    tests, n = PairTests.empty(len(scores)), scores.shape[1]
    contexts = np.arange(n) if context is None else context
    groups = np.unique(contexts if conversation is None else conversation, return_inverse=True)[1].ravel()
    bits = mask_bits(int(groups.max(initial=-1)) + 1, draws, rng)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for rows, pairs in shared_rows(human, scores):
            if rows.sum() < 3:
                continue
            used, places = numbered(pairs)
            masks, own = Masks(bits, groups[rows]), scores[used][:, rows]
            if isinstance(statistic, str):
                mixtures = MIXTURES[statistic](human[rows], own, masks, pool)
            else:
                alone = np.zeros(n, dtype=np.int64) if system is None else system
                panel = Panel(human, human, alone, contexts, control).take(rows)
                mixtures = AnyMixtures(panel, own, statistic, masks, pool)
            for start in range(0, len(pairs), PAIRS_AT_ONCE):
                some = slice(start, start + PAIRS_AT_ONCE)
                observed = np.subtract(*mixtures.values[places[some].T])
                above, below, square = _counted(mixtures, places[some], observed, one_sided)
                p = (np.stack([above, below]) + 1) / (draws + 1)
                p[:, np.isnan(observed)] = np.nan
                value = np.divide(observed, np.sqrt(square / draws), out=np.zeros_like(observed), where=square > 0)
                tests.put(pairs[some], observed, p, int(rows.sum()), np.where(np.isnan(observed), np.nan, value),
                          least_p(masks.differing(own, places[some]), one_sided))
    return tests


def least_p(contexts: npt.ArrayLike, one_sided: bool) -> Vector:
    """The least p of swaps of so many contexts in which two metrics differ."""
    return np.minimum(1, 2.0 ** (int(not one_sided) - np.asarray(contexts, dtype=np.float64)))


def below_draws(tests: PairTests, draws: int) -> Array:
    """The p with those that the draws cannot tell made finer, so that they can be adjusted over many pairs.

    Where fewer than FEW draws are as extreme, it is that of the statistic as a normal deviate, if that is smaller: the
    difference of a draw is, ties aside, a sum over contexts with random signs, whose far tail is at most some three
    times the normal one (Bentkus & Dzindzalieta 2015), and ends: with few contexts the least p of the test is larger.
    """
    normal = 2 * scipy.special.ndtr(-np.abs(tests.value))
    with np.errstate(invalid="ignore"):
        return np.where(tests.p * (draws + 1) <= FEW, np.maximum(np.fmin(tests.p, normal), tests.least), tests.p)


def mask_bits(groups: int, draws: int, rng: np.random.Generator) -> Bits:
    """A bit for each draw and group (draws, groups/8): 1 where its rows keep their scores, 0 where they swap them."""
    return rng.integers(0, 256, size=(draws, -(-groups // 8)), dtype=np.uint8)


def _counted(mixtures: Mixtures, pairs: Pairs, observed: Vector, one_sided: bool) -> tuple[Pairs, Pairs, Vector]:
    """How many draws are as extreme, (pairs,), for the first metric and for the second, and the sum of their squares.

    Two-sided both are the same. A draw in which there is no difference is as extreme as any.
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
