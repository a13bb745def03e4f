"""Is one metric's correlation with people higher than another's? A permutation test without assumptions on the scores.

PERM-BOTH (Deutsch, Dror & Roth 2021, 'A Statistical Analysis of Summarization Evaluation Metrics Using Resampling
Methods'): both metrics are standardised; in each draw every row swaps its two scores with probability 1/2; the
difference of the two correlations so found is one value under the hypothesis that the metrics are exchangeable.
c of k draws being at least as extreme as what was observed, p = (c + 1) / (k + 1), which is never 0.
A draw in which a mixture is constant, so that it has no correlation, counts as extreme.

Rows that share a context are not independent: taken one by one they make the test find too much. Swapped together, as
one unit, they do not.

`mixtures` says how all pairs and draws come from a few matrix products. The masks depend on the
generator and the number of rows alone, so a pair's p is the same whatever other metrics there are, in whatever order.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Executor, ThreadPoolExecutor

import numpy as np
import numpy.typing as npt

from harness.statistics.mixtures import TOLERANCE, Mixtures, PearsonMixtures, SpearmanMixtures
from harness.statistics.panel import Array, Codes, Pairs, Vector
from harness.statistics.williams import PairTests, shared_rows

Bits = npt.NDArray[np.uint8]

MASK_CELLS = 2**23
"""Rows × draws that are looked at together."""

PAIRS_AT_ONCE = 512


MIXTURES: dict[str, Callable[[Vector, Array, Pairs, Executor], Mixtures]] = {
    "spearman": SpearmanMixtures,
    "pearson": lambda human, scores, pairs, pool: PearsonMixtures(human, scores, pairs),
}


def all_pairs_by_permutation(human: Vector, scores: Array, statistic: str = "spearman", draws: int = 1000, *,
              rng: np.random.Generator, context: Codes | None = None) -> PairTests:
    """Test every pair of metrics, scores (metrics, items), two-sided, each on the rows in which all three values are.

    With `context`, the group of each item, the items of a group are swapped together, because they are not independent.
    """
    if statistic not in MIXTURES:
        raise ValueError(f"statistic {statistic!r}: a permutation test of all pairs knows {', '.join(MIXTURES)}")
    tests, n = PairTests.empty(len(scores)), scores.shape[1]
    groups = np.arange(n) if context is None else np.unique(context, return_inverse=True)[1]
    bits = mask_bits(int(groups.max(initial=-1)) + 1, draws, rng)
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        portions = ((rows, pairs[start : start + PAIRS_AT_ONCE]) for rows, pairs in shared_rows(human, scores)
                    for start in range(0, len(pairs), PAIRS_AT_ONCE))
        for rows, pairs in portions:
            mixtures = MIXTURES[statistic](human[rows], np.ascontiguousarray(scores[:, rows]), pairs, pool)
            extreme = _extreme(mixtures, bits, groups[rows])
            p = np.where(np.isnan(mixtures.observed), np.nan, (extreme + 1) / (draws + 1))
            tests.put(pairs, mixtures.observed, p, int(rows.sum()))
    return tests


def mask_bits(groups: int, draws: int, rng: np.random.Generator) -> Bits:
    """A bit for each draw and group (draws, groups/8): 1 where its rows keep their scores, 0 where they swap them."""
    return rng.integers(0, 256, size=(draws, -(-groups // 8)), dtype=np.uint8)


def _extreme(mixtures: Mixtures, bits: Bits, groups: Codes) -> Pairs:
    """How many draws are as extreme as what was observed, on either side: (pairs,)."""
    counts = np.zeros(len(mixtures.observed), dtype=np.int64)
    observed = np.abs(mixtures.observed)[:, None]
    block = max(8, min(256, MASK_CELLS // max(1, len(groups))))
    for start in range(0, len(bits), block):
        mask = np.unpackbits(bits[start : start + block], axis=1)
        deltas = mixtures.deltas(mask.T[groups].astype(np.float64, order="C"))
        counts += (~(np.abs(deltas) < observed - TOLERANCE)).sum(axis=1)  # a NaN is not inside
    return counts
