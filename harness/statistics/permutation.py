"""PERM-BOTH, a permutation test of whether one metric correlates better with ratings than another.

Deutsch, Dror & Roth (2021), 'A Statistical Analysis of Summarization Evaluation Metrics Using Resampling Methods': both
metrics are standardised; in each draw every row swaps its two scores with probability 1/2; the difference of the two
correlations is one value under the hypothesis that the metrics are exchangeable. If c of k draws are at least as
extreme as the observed difference, p = (c + 1) / (k + 1), which is never 0. A draw in which one of the two swapped
series is constant counts as extreme. The test assumes independent contexts and metrics that are exchangeable once
standardised; metrics with very different distributions are not.

Rows that share a context are dependent; swapping them one by one would give too many false positives, so they are
swapped as one unit. If two metrics differ in m contexts, there are 2^m ways to swap; the observed one and its reverse
are always as extreme as observed, so p is at least 2^(1-m), one-sided 2^-m.

The random swaps depend only on the generator and the number of contexts, so the p of a pair does not depend on other
metrics or their order. Pearson's and Spearman's correlations are computed for many draws at once.
"""

from __future__ import annotations

import dataclasses
from functools import partial

import numpy as np
import numpy.typing as npt
import scipy

from harness.statistics.coefficients import OF_ROWS
from harness.statistics.panel import Array, Codes, Pairs, Panel, Statistic, Vector
from harness.statistics.ranks import standardised
from harness.statistics.williams import PairTests, shared_rows

TOLERANCE = 1e-10  # differences of correlations this close count as equal
STEPS = 2.0**40  # standardised scores are rounded to steps of 1/STEPS, so that values of two scales can tie
CELLS = 1 << 15  # rows × draws per block, small enough for the CPU's cache
MIN_EXTREME = 10  # with fewer extreme draws than this, p is too coarse to be adjusted over many pairs


def all_pairs_by_permutation(people: Panel, scores: Array, statistic: str | Statistic = "spearman", draws: int = 1000,
                             *, rng: np.random.Generator, one_sided: bool = False) -> PairTests:
    """Test each pair of metrics, scores (metrics, items), on the rows with a rating and both scores.

    The statistic of the test is the difference over the root of its mean square in the draws. If `one_sided`, p[i, j]
    tests that i is better than j.
    """
    if isinstance(statistic, str) and statistic not in OF_ROWS:
        raise ValueError(f"unknown statistic {statistic!r} for a permutation test; known: {', '.join(OF_ROWS)}")
    tests, groups = PairTests.empty(len(scores)), people.units
    masks = np.unpackbits(mask_bits(int(groups.max(initial=-1)) + 1, draws, rng), axis=1).astype(np.bool_)
    for rows, pairs, metrics, positions in shared_rows(people.human, scores):
        if rows.sum() < 3:
            continue
        panel, unit = people.take(rows), groups[rows]
        z = np.rint(standardised(scores[metrics][:, rows]) * STEPS) / STEPS
        values = partial(OF_ROWS[statistic], panel.human) if isinstance(statistic, str) else partial(
            _of_rows, statistic, panel)
        observed, square = np.subtract(*values(z)[positions.T]), np.zeros(len(pairs))
        counts = np.zeros((2, len(pairs)), dtype=np.int64)
        for start in range(0, draws, block := max(1, CELLS // len(unit))):
            is_kept = masks[start:start + block, unit]
            for index, (first, second) in enumerate(positions):
                drawn = values(np.where(is_kept, z[first], z[second])) - values(np.where(is_kept, z[second], z[first]))
                counts[:, index] += extreme(drawn, observed[index], one_sided=one_sided)
                square[index] += drawn @ drawn
        z = np.nan_to_num(z)
        differing = [len(np.unique(unit[np.abs(z[first] - z[second]) > TOLERANCE])) for first, second in positions]
        store_results(tests, pairs, observed, (counts, square, draws), differing, one_sided=one_sided,
                      n=int(rows.sum()))
    return tests


def store_results(tests: PairTests, pairs: Pairs, delta: Vector, drawn: tuple[Codes, Vector, int],
                  contexts: npt.ArrayLike, *, one_sided: bool, n: int = 0) -> None:
    """Store the test results of pairs, given the number of `contexts` in which the metrics of each pair differ.

    `drawn` holds the numbers of draws at least as extreme as observed (2, k), the sums of the squared differences (k,),
    and the number of draws.
    """
    counts, square, draws = drawn
    scale = np.sqrt(square / draws)
    value = np.divide(delta, scale, out=np.zeros_like(delta), where=scale > TOLERANCE)
    p, value = (np.where(np.isnan(delta), np.nan, row) for row in ((counts + 1) / (draws + 1), value))
    least = np.minimum(1, 2.0 ** (int(not one_sided) - np.asarray(contexts, dtype=np.float64)))
    tests.put(pairs, delta, p, n, value, least)


def refined_p(tests: PairTests, draws: int) -> Array:
    """Refine p-values that the number of draws makes too coarse, so that they can be adjusted over many pairs.

    If fewer than MIN_EXTREME draws are as extreme as observed, the normal approximation of p is used if it is smaller,
    but never below the least p of the test. Ties aside, the difference in a draw is a sum over contexts with random
    signs, and its far tail is at most about three times the normal one (Bentkus & Dzindzalieta 2015).
    """
    normal = 2 * scipy.special.ndtr(-np.abs(tests.value))
    with np.errstate(invalid="ignore"):
        smaller = np.maximum(np.fmin(tests.p, normal), tests.least)
        return np.where(tests.p * (draws + 1) <= MIN_EXTREME, smaller, tests.p)


def mask_bits(groups: int, draws: int, rng: np.random.Generator) -> npt.NDArray[np.uint8]:
    """Draw a bit for each draw and group (draws, groups/8): 1 keeps the scores of its rows, 0 swaps them."""
    return rng.integers(0, 256, size=(draws, -(-groups // 8)), dtype=np.uint8)


def _of_rows(statistic: Statistic, panel: Panel, scores: Array) -> Vector:
    return np.array([statistic(dataclasses.replace(panel, metric=row)) for row in scores])


def extreme(deltas: Array, observed: Vector | float, *, one_sided: bool) -> Codes:
    """Count the draws (..., draws) at least as extreme as observed, in favour of either metric: (2, ...).

    NaN counts as extreme. Unless one-sided, both counts are the same.
    """
    delta = np.asarray(observed)[..., None]
    if one_sided:
        less_extreme = np.stack([deltas < delta - TOLERANCE, deltas > delta + TOLERANCE])
    else:
        less_extreme = np.broadcast_to(np.abs(deltas) < np.abs(delta) - TOLERANCE, (2, *deltas.shape))
    return np.asarray((~less_extreme).sum(axis=-1))
