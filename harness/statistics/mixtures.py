"""Correlations of mixtures of two metrics, for every pair of metrics and a block of masks at once.

A mask of zeros and ones, `keep` (n, B), makes of metrics a and b the mixture x, a where it is 1 and b where it is 0,
and its complement y. Wanted is r(x, h) - r(y, h), h being the human rating. All that is needed is linear in the mask:

- Pearson: the sums of x h, x and x². One matrix product per metric serves all its pairs.
- Spearman: the difference of the two numerators. One matrix product per pair.

For Spearman, rho = N / √(V V(h)) with N = Σ h · rank, h the centred
mid-ranks of the rating, and V = (n³ - Σ t³)/12 for runs of t equal scores. Let c(u, v) be 1, 1/2 or 0 as u <, = or > v:
the rank of v is Σ_u c(u, v) + 1/2, so that N(x) = Σ_ik h_i c(x_k, x_i), of second degree in the mask. But y being the
complement, every product of two bits cancels in D = N(x) - N(y). With p(a in b)_i = h_i Σ_k c(b_k, a_i) + Σ_k h_k
c(a_i, b_k) there is left

    D = Σ_i (2 keep_i - 1) w_i,    w = (p(a in a) + p(a in b) - p(b in a) - p(b in b)) / 2.

So w comes once per pair from sorted scores, and all draws of all pairs from one matrix product. Mid-ranks are multiples
of 1/2: the sums are exact in float64 up to some 100,000 rows, whatever their order.

V(x) and V(y) differ by ties alone. As |N| <= √(V V(h)), the difference is D (V(x)^-1/2 + V(y)^-1/2) / 2√V(h) give or
take |V(x) - V(y)| / 2√(V(x) V(y)). Only a draw nearer than that to the observed difference, on either side, is ranked
in full, by one cumulative sum of its mask along the merged order of both metrics. So the counts are exact.
"""

from __future__ import annotations

import dataclasses
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import scipy

from harness.statistics.panel import Array, Codes, Pairs, Vector
from harness.statistics.ranks import ranks

TOLERANCE = 1e-10
"""Differences of correlations that are nearer than this are equal, so that rounding decides nothing."""

FINEST = 2.0**40
"""Ranked are standardised scores to 1/FINEST, so that rounding does not part what two metrics, or scales, say alike."""

COLUMNS_IN_FULL = 32


class PearsonMixtures:
    """Pearson's r: x is b + keep (a - b), so its sums are b's and the difference of two products with the mask."""

    def __init__(self, human: Vector, scores: Array, pairs: Pairs) -> None:
        self._first, self._second = pairs.T
        h = standardised(human[None])[0]
        z = standardised(scores)
        parts = np.stack([z * h, z, z**2])  # (3, m, n)
        self._whole = np.ascontiguousarray(parts.sum(axis=2)[:, :, None])  # (3, m, 1)
        self._parts = np.nan_to_num(parts.reshape(-1, z.shape[1]))
        r = self._whole[0, :, 0] / z.shape[1]
        self.observed: Vector = r[self._first] - r[self._second]

    def deltas(self, keep: Array) -> Array:
        """The differences (P, B), all exact."""
        n, size = keep.shape[0], self._whole.shape[1]
        sums = (self._parts @ keep).reshape(3, size, -1)
        change = sums[:, self._first] - sums[:, self._second]  # (3, P, B)
        x, y = self._whole[:, self._second] + change, self._whole[:, self._first] - change
        return np.asarray((_from_sums(x, n) - _from_sums(y, n)) / np.sqrt(n))


def _from_sums(sums: Array, n: int) -> Array:
    product_sum, plain, square = sums
    variance = square - plain**2 / n
    return np.asarray(product_sum / np.sqrt(np.where(variance > TOLERANCE * n, variance, np.nan)))


def standardised(values: Array) -> Array:
    """Each row with mean 0 and variance 1, without a square that overflows; NaN where it is constant."""
    centred = values - values.mean(axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        centred = centred / np.where(np.ptp(values, axis=1) > 0, np.abs(centred).max(axis=1), np.nan)[:, None]
    standardised: Array = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True))
    return standardised


@dataclass(frozen=True, slots=True)
class _Ordered:
    """A metric in the order of its scores: `tail` sums the ratings from each place on, `own` is p(a in a)."""

    scores: Vector
    values: Vector
    order: Codes
    tail: Vector
    own: Vector
    groups: Any
    sizes: Vector


def _ordered(z: Vector, h: Vector) -> _Ordered:
    order = np.argsort(z, kind="stable")
    tail = np.append(np.cumsum(h[order][::-1])[::-1], 0.0)
    codes, sizes = np.unique(z, return_inverse=True, return_counts=True)[1:]
    alone = _Ordered(z, z[order], order, tail, z, *_indicator(np.where(sizes[codes] > 1, codes, -1)))
    return dataclasses.replace(alone, own=_places(alone, alone, h)[0])


def _indicator(codes: Codes) -> tuple[Any, Vector]:
    """A sparse (groups, n) of ones that sums a mask by group, and the sizes; rows with the code -1 are in none."""
    rows = np.flatnonzero(codes >= 0)
    kinds, kind, sizes = np.unique(codes[rows], return_inverse=True, return_counts=True)
    matrix = scipy.sparse.csr_array((np.ones(len(rows)), (kind, rows)), shape=(len(kinds), len(codes)))
    return matrix, sizes.astype(np.float64)


def _places(a: _Ordered, b: _Ordered, h: Vector) -> tuple[Vector, bool]:
    """p(a in b), and whether a score of a is also one of b."""
    low = np.searchsorted(b.values, a.values)
    high = np.searchsorted(b.values, a.values, side="right")
    place = np.empty_like(h)
    place[a.order] = h[a.order] * (low + high) / 2 + (b.tail[low] + b.tail[high]) / 2
    return place, bool((high > low).any())


class SpearmanMixtures:
    """Spearman's rho: differences by one product with the weights w, put right for ties where it matters."""

    def __init__(self, human: Vector, scores: Array, pairs: Pairs, pool: Executor) -> None:
        n = len(human)
        self._pool, self._pairs, self._h = pool, pairs, ranks(human) - (n + 1) / 2
        self._spread = float(self._h @ self._h)
        centred = ranks(scores) - (n + 1) / 2
        squares = (centred**2).sum(axis=1) * self._spread
        rho = centred @ self._h / np.sqrt(np.where((squares > 0) & (n > 2), squares, np.nan))
        self.observed: Vector = rho[pairs[:, 0]] - rho[pairs[:, 1]]
        z = np.rint(np.nan_to_num(standardised(scores)) * FINEST) / FINEST
        self._metrics = list(pool.map(lambda row: _ordered(row, self._h), z))
        weighted = list(pool.map(self._weights, pairs))
        self._stacked = np.stack([weights for weights, _ in weighted])
        self._sums = np.array([weights.sum() for weights, _ in weighted])[:, None]
        self._crossed = np.flatnonzero([crossed for _, crossed in weighted])

    def deltas(self, keep: Array) -> Array:
        """The differences (P, B), exact where it could matter on which side of the observed they are."""
        difference = 2 * (self._stacked @ keep) - self._sums
        x, y = self._variances(keep)
        deltas: Array = difference * (x**-0.5 + y**-0.5) / 2
        reach = np.abs(x - y) / (2 * np.sqrt(x * y))
        observed = self.observed[:, None]
        off = np.minimum(np.abs(deltas - observed), np.abs(deltas + observed))
        near = (off <= reach + TOLERANCE) & (reach > 0)

        def rank(pair: int) -> None:
            draws = np.flatnonzero(near[pair])
            top = _numerators(*self._ends(pair), self._h, keep, draws)
            deltas[pair, draws] = (top * x[pair, draws] ** -0.5
                                   - (top - difference[pair, draws]) * y[pair, draws] ** -0.5)

        list(self._pool.map(rank, np.flatnonzero(near.any(axis=1))))
        return deltas

    def _ends(self, pair: int) -> tuple[_Ordered, _Ordered]:
        first, second = self._pairs[pair]
        return self._metrics[first], self._metrics[second]

    def _weights(self, pair: Pairs) -> tuple[Vector, bool]:
        a, b = self._metrics[pair[0]], self._metrics[pair[1]]
        (a_in_b, crossed), (b_in_a, _) = _places(a, b, self._h), _places(b, a, self._h)
        weights: Vector = (a.own + a_in_b - b_in_a - b.own) / 2
        return weights, crossed

    def _variances(self, keep: Array) -> tuple[Array, Array]:
        """V(x) V(h) and V(y) V(h) of every pair; NaN where a mixture is constant."""
        n = float(len(keep))
        ties = np.array(list(self._pool.map(lambda metric: _ties(metric, keep), self._metrics)))  # (m, 2, B)
        first, second = self._pairs.T
        lost = np.stack([ties[first, 0] + ties[second, 1], ties[first, 1] + ties[second, 0]])
        for pair, more in zip(self._crossed, self._pool.map(
                lambda pair: _crossing_ties(*self._ends(pair), keep), self._crossed), strict=True):
            lost[:, pair] += more
        variance = (n**3 - n - lost) / 12 * self._spread
        x, y = np.where(variance > 0, variance, np.nan)
        return x, y


def _ties(metric: _Ordered, keep: Array) -> Array:
    """Σ t³ - t over the ties among the rows that are kept, and among those that are not; (2, B)."""
    kept = metric.groups @ keep
    both = np.stack([kept, metric.sizes[:, None] - kept])
    return np.asarray((both**3 - both).sum(axis=1))


def _crossing_ties(a: _Ordered, b: _Ordered, keep: Array) -> Array:
    """What scores that both metrics give add to Σ t³ - t of the two mixtures: 3 s t (s + t); (2, B)."""
    common = np.intersect1d(a.values, b.values)
    kept, sizes = [], []
    for metric in (a, b):
        place = np.minimum(np.searchsorted(common, metric.scores), len(common) - 1)
        matrix, size = _indicator(np.where(common[place] == metric.scores, place, -1))
        kept.append(matrix @ keep)
        sizes.append(size[:, None])
    s, t = np.stack([kept[0], sizes[0] - kept[0]]), np.stack([sizes[1] - kept[1], kept[1]])
    return np.asarray((3 * s * t * (s + t)).sum(axis=1))


def _numerators(a: _Ordered, b: _Ordered, h: Vector, keep: Array, draws: Pairs) -> Vector:
    """N(x) of some draws: the mask summed along the merged order gives the rank of every score that is in x."""
    merged = np.concatenate([a.scores, b.scores])
    order = np.argsort(merged, kind="stable")
    inverse, sizes = np.unique(merged, return_inverse=True, return_counts=True)[1:]
    high = np.cumsum(sizes)[inverse[order]]
    low = high - sizes[inverse[order]]
    row, other = order % len(h), (order >= len(h))[:, None]
    top = np.empty(len(draws))
    for start in range(0, len(draws), COLUMNS_IN_FULL):
        chosen = np.ascontiguousarray(keep[:, draws[start : start + COLUMNS_IN_FULL]])
        within = np.abs(chosen[row] - other)  # (2n, draws)
        below = np.concatenate([np.zeros((1, within.shape[1])), np.cumsum(within, axis=0)])
        top[start : start + COLUMNS_IN_FULL] = np.einsum("i,ij,ij->j", h[row] / 2, within, below[low] + below[high])
    return top


Mixtures: TypeAlias = PearsonMixtures | SpearmanMixtures
"""`observed` has the differences (P,) as they are, `deltas` those (P, B) that a block of masks makes; NaN for none."""
