"""Analytic tests of two dependent correlations: does one metric correlate better with people than another?

With 1 the human rating, 2 and 3 the metrics, K = 1 - r12² - r13² - r23² + 2 r12 r13 r23 (the determinant of the three
correlations) and n rows, Williams' test (1959; Graham & Baldwin 2014; Sai et al. 2020 use it for DEB) is

    t = (r12 - r13) √( (n-1)(1+r23) / (2K (n-1)/(n-3) + (r12+r13)²/4 · (1-r23)³) ),    n-3 degrees of freedom.

Two more tests use Fisher's z = atanh r, normal under the null hypothesis: Steiger (1980, equation 14) with the
pooled r̄ = (r12+r13)/2, and Meng, Rosenthal & Rubin (1992, equation 1) with r̄² the mean of the squares. All three assume
Pearson's r of normal data; on ranks they are approximations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy

from harness.statistics.panel import Array, Codes, Mask, Pairs, Vector, by_known_rows, sums
from harness.statistics.ranks import INFLUENCE, ranks, standardised

Formula: TypeAlias = Callable[[npt.ArrayLike, npt.ArrayLike, npt.ArrayLike, npt.ArrayLike], tuple[Array, Array]]

TOLERANCE = 1e-12  # metrics whose correlation is this close to 1 count as identical


@dataclass(frozen=True, slots=True, eq=False)
class PairTests:
    """A test of each pair of metrics, [i, j] being i against j; NaN where a correlation does not exist.

    `delta` is the difference of their correlations with people, `value` the statistic of the test or NaN, `r` the
    correlation of the two metrics where the test uses it, `n` the number of shared rows, `least` the smallest possible
    p.
    """

    delta: Array
    value: Array
    p: Array
    r: Array
    n: Pairs
    least: Array

    @classmethod
    def empty(cls, size: int) -> PairTests:
        delta, value, p, r = np.full((4, size, size), np.nan)
        return cls(delta, value, p, r, np.zeros((size, size), dtype=np.int64), np.zeros((size, size)))

    def put(self, pairs: Pairs, delta: Vector, p: Array, n: int, value: Vector | float = np.nan,
            least: Vector | float = 0.0) -> None:
        """Set the results of pairs (k, 2) on n rows; p is (k,), or (2, k) for the two directions."""
        for (first, second), sign, tail in zip((pairs.T, pairs.T[::-1]), (1, -1), np.broadcast_to(p, (2, len(pairs))),
                                               strict=True):
            self.delta[first, second], self.value[first, second] = sign * delta, sign * np.asarray(value)
            self.p[first, second], self.n[first, second], self.least[first, second] = np.maximum(tail, least), n, least


def williams(r12: npt.ArrayLike, r13: npt.ArrayLike, r23: npt.ArrayLike, n: npt.ArrayLike) -> tuple[Array, Array]:
    """Return Williams' t and its p; identical metrics tie with t = 0 and p = 1."""
    a, b, c, rows = _floats(r12, r13, r23, n)
    rows = np.where(rows > 3, rows, np.nan)
    determinant = np.maximum(1 - (a**2 + b**2) - c**2 + 2 * (a * b) * c, 0)  # the same for (b, a)
    denominator = 2 * determinant * (rows - 1) / (rows - 3) + (a + b) ** 2 / 4 * (1 - c) ** 3
    with np.errstate(invalid="ignore", divide="ignore"):
        t = (a - b) * np.sqrt((rows - 1) * (1 + c) / denominator)
        opposite = a * np.sqrt((rows - 3) / (1 - a**2))
    t = np.where(1 + c <= TOLERANCE, opposite, t)  # the limit for opposite metrics: a test of r12 = 0
    return _tied(t, c, lambda x: scipy.special.stdtr(rows - 3, x))


def steiger(r12: npt.ArrayLike, r13: npt.ArrayLike, r23: npt.ArrayLike, n: npt.ArrayLike) -> tuple[Array, Array]:
    """Return Z = √(n-3) (z12 - z13) / √(2 - 2s), s = (r23 (1-2r̄²) - r̄²/2 · (1-2r̄²-r23²)) / (1-r̄²)², and its p."""
    a, b, c, rows = _floats(r12, r13, r23, n)
    square = ((a + b) / 2) ** 2
    with np.errstate(invalid="ignore", divide="ignore"):
        shared = (c * (1 - 2 * square) - square / 2 * (1 - 2 * square - c**2)) / (1 - square) ** 2
        z = np.sqrt(np.where(rows > 3, rows - 3, np.nan)) * (np.arctanh(a) - np.arctanh(b)) / np.sqrt(2 - 2 * shared)
    return _tied(z, c, scipy.special.ndtr)


def meng(r12: npt.ArrayLike, r13: npt.ArrayLike, r23: npt.ArrayLike, n: npt.ArrayLike) -> tuple[Array, Array]:
    """Return Z = (z12 - z13) √((n-3) / (2 (1-r23) h)) and its p; h = (1 - f r̄²)/(1-r̄²), f = min(1, (1-r23)/(2-2r̄²))."""
    a, b, c, rows = _floats(r12, r13, r23, n)
    square = (a**2 + b**2) / 2
    with np.errstate(invalid="ignore", divide="ignore"):
        factor = np.minimum((1 - c) / (2 * (1 - square)), 1)
        spread = 2 * (1 - c) * (1 - factor * square) / (1 - square)
        z = (np.arctanh(a) - np.arctanh(b)) * np.sqrt(np.where(rows > 3, rows - 3, np.nan) / spread)
    return _tied(z, c, scipy.special.ndtr)


FORMULAS: dict[str, Formula] = {"williams": williams, "steiger": steiger, "meng": meng}


def all_pairs_by_formula(human: Vector, scores: Array, statistic: str = "pearson", formula: Formula = williams,
                         ) -> PairTests:
    """Test each pair of metrics, scores (metrics, items), on the rows with a rating and both scores.

    `statistic` is pearson, spearman or kendall.
    """
    tests = PairTests.empty(len(scores))
    for rows, pairs, metrics, positions in shared_rows(human, scores):
        r = correlation_matrix(np.vstack([human[rows], scores[metrics][:, rows]]), statistic)
        ahead = (r[0, positions[:, 0] + 1] >= r[0, positions[:, 1] + 1])[:, None]
        pairs, (i, j) = np.where(ahead, pairs, pairs[:, ::-1]), np.where(ahead, positions, positions[:, ::-1]).T + 1
        value, p = formula(r[0, i], r[0, j], r[i, j], n := int(rows.sum()))
        tests.put(pairs, r[0, i] - r[0, j], p, n, value)
        tests.r[tuple(pairs.T)] = tests.r[tuple(pairs.T[::-1])] = r[i, j]
    return tests


def all_pairs_by_context(human: Vector, scores: Array, context: Codes, statistic: str = "pearson") -> PairTests:
    """Test each pair of metrics with a variance from whole contexts, whose rows may depend on each other.

    With d the influence of a context on r12 - r13 (ranks.py), over the m contexts:
    t = (r12 - r13) / √(m/(m-1) Σ d²) with m-1 degrees of freedom.
    """
    tests = PairTests.empty(len(scores))
    for rows, pairs, metrics, positions in shared_rows(human, scores):
        if rows.sum() < 3:
            continue
        r, influence = INFLUENCE[statistic](scores[metrics][:, rows], human[rows])
        by_context = sums(influence, np.unique(context[rows], return_inverse=True)[1])
        m, delta = by_context.shape[1], np.subtract(*r[positions.T])
        square = np.array([np.square(by_context[a] - by_context[b]).sum() for a, b in positions])
        with np.errstate(invalid="ignore", divide="ignore"):
            t = delta / np.sqrt(square * m / (m - 1)) if m > 1 else np.full(len(delta), np.nan)
        t = np.where(square <= TOLERANCE**2, np.where(np.isnan(delta), np.nan, 0.0), t)
        tests.put(pairs, delta, 2 * scipy.special.stdtr(m - 1, -np.abs(t)), int(rows.sum()), t)
    return tests


def shared_rows(human: Vector, scores: Array) -> Iterator[tuple[Mask, Pairs, Codes, Pairs]]:
    """Yield, for each group of pairs with the same rows: the rows with a rating and both scores, and the pairs (k, 2).

    Then the metrics of these pairs, and the pairs as indices into these metrics.
    """
    kinds = by_known_rows(np.isfinite(scores) & np.isfinite(human))
    kind, numbers = np.empty(len(scores), dtype=np.int64), dict[bytes, int]()
    for number, (_, metrics) in enumerate(kinds):
        kind[metrics] = number
    shared = np.array([[numbers.setdefault((rows & others).tobytes(), len(numbers)) for others, _ in kinds]
                       for rows, _ in kinds], dtype=np.int64)
    pairs = np.stack(np.triu_indices(len(scores), 1), axis=1)
    number_of = shared[kind[pairs[:, 0]], kind[pairs[:, 1]]] if len(pairs) else kind[:0]
    for start in np.sort(np.unique(number_of, return_index=True)[1]):
        first, second = pairs[start]
        group = pairs[number_of == number_of[start]]
        metrics, positions = np.unique(group, return_inverse=True)
        yield kinds[kind[first]][0] & kinds[kind[second]][0], group, metrics, positions.reshape(group.shape)


def correlation_matrix(values: Array, statistic: str) -> Array:
    """Return the correlation of each pair of rows; NaN for constant rows, or fewer than three values per row."""
    size, n = values.shape
    if n < 3:
        return np.full((size, size), np.nan)
    if statistic == "kendall":
        matrix = np.eye(size)
        for row, other in zip(*np.triu_indices(size, 1), strict=True):
            matrix[row, other] = matrix[other, row] = scipy.stats.kendalltau(values[row], values[other]).statistic
    elif statistic in ("pearson", "spearman"):
        z = standardised(ranks(values) if statistic == "spearman" else values)
        matrix = np.clip(z @ z.T / n, -1, 1)
    else:
        raise ValueError(f"unknown statistic {statistic!r}; known: pearson, spearman, kendall")
    constant = np.ptp(values, axis=1) == 0
    matrix[constant], matrix[:, constant] = np.nan, np.nan
    return matrix


def _floats(*values: npt.ArrayLike) -> tuple[Array, ...]:
    return tuple(np.broadcast_arrays(*(np.asarray(value, dtype=np.float64) for value in values)))


def _tied(statistic: Array, r23: Array, below: Callable[[Array], Any]) -> tuple[Array, Array]:
    """Return the statistic and its two-sided p by the distribution function `below`; identical metrics tie."""
    identical = 1 - r23 <= TOLERANCE
    return np.where(identical, 0.0, statistic), np.where(identical, 1.0, np.asarray(2 * below(-np.abs(statistic))))
