"""Correlations of mixtures of two metrics, for every pair of metrics and a block of masks at once.

A mask of zeros and ones, (G, B) for G contexts, makes of metrics a and b the mixture x, a where it is 1 and b where it
is 0, and its complement y. Wanted is r(x, h) - r(y, h), h being the human rating. All that is needed is linear in the
mask, so that what belongs to one context is summed first:

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
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy

from harness.statistics.panel import Array, Codes, Mask, Pairs, Panel, Statistic, Vector
from harness.statistics.ranks import ranks

Bits: TypeAlias = npt.NDArray[np.uint8]

TOLERANCE = 1e-10
"""Differences of correlations that are nearer than this are equal, so that rounding decides nothing."""

FINEST = 2.0**40
"""Ranked are standardised scores to 1/FINEST, so that rounding does not part what two metrics, or scales, say alike."""

MASK_CELLS = 2**23
"""Rows × draws that are looked at together."""

COLUMNS_IN_FULL = 32


@dataclass(frozen=True, slots=True)
class Masks:
    """The draws: a bit for each and each context (draws, contexts/8), and the context of each row."""

    bits: Bits
    contexts: Codes

    def __iter__(self) -> Iterator[Array]:
        """The masks of some draws at a time, (contexts, B)."""
        block = max(8, min(1024, MASK_CELLS // max(1, len(self.contexts))))
        for start in range(0, len(self.bits), block):
            yield np.unpackbits(self.bits[start : start + block], axis=1).T.astype(np.float64, order="C")

    def by_context(self, codes: Codes) -> Any:
        """A sparse (kinds, contexts) that counts the rows of each kind; rows with the code -1 are of none."""
        rows = np.flatnonzero(codes >= 0)
        kinds, kind = np.unique(codes[rows], return_inverse=True)
        return scipy.sparse.csr_array((np.ones(len(rows)), (kind, self.contexts[rows])),
                                      shape=(len(kinds), 8 * self.bits.shape[1]))

    def summed(self, values: Array) -> Array:
        """Of each row of values (rows, n) the sum over each context."""
        return np.ascontiguousarray(values @ self.by_context(np.arange(len(self.contexts))))

    def differing(self, scores: Array, pairs: Pairs) -> Codes:
        """In how many contexts the standardised scores of two metrics differ, by pair."""
        first, second = np.nan_to_num(standardised(scores))[pairs.T]
        return np.asarray((self.summed((np.abs(first - second) > TOLERANCE) * 1.0) > 0).sum(axis=1))


class PearsonMixtures:
    """Pearson's r: x is b + keep (a - b), so its sums are b's and the difference of two products with the mask."""

    def __init__(self, human: Vector, scores: Array, masks: Masks) -> None:
        h = standardised(human[None])[0]
        z = standardised(scores)
        parts = np.stack([z * h, z, z**2])  # (3, m, n)
        self._n, self._masks = len(human), masks
        self._whole = np.ascontiguousarray(parts.sum(axis=2)[:, :, None])  # (3, m, 1)
        self._parts = masks.summed(np.nan_to_num(parts.reshape(-1, z.shape[1])))
        self.values: Vector = self._whole[0, :, 0] / z.shape[1]

    def deltas(self, pairs: Pairs) -> Iterator[Array]:
        """The differences (P, B) of pairs (P, 2) on all draws, all exact."""
        first, second = pairs.T
        for mask in self._masks:
            sums = (self._parts @ mask).reshape(3, len(self.values), -1)
            change = sums[:, first] - sums[:, second]  # (3, P, B)
            x, y = self._whole[:, second] + change, self._whole[:, first] - change
            yield (_from_sums(x, self._n) - _from_sums(y, self._n)) / np.sqrt(self._n)


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
    """A metric in the order of its scores: `tail` sums the ratings from each place on, `own` is p(a in a).

    `lost` is Σ t³ - t over the ties among the rows that are kept, and among those that are not, on all draws.
    """

    scores: Vector
    values: Vector
    order: Codes
    tail: Vector
    own: Vector
    lost: Array


def _ordered(z: Vector, h: Vector, masks: Masks) -> _Ordered:
    order = np.argsort(z, kind="stable")
    tail = np.append(np.cumsum(h[order][::-1])[::-1], 0.0)
    codes, sizes = np.unique(z, return_inverse=True, return_counts=True)[1:]
    alone = _Ordered(z, z[order], order, tail, z, np.zeros((2, len(masks.bits))))
    if (sizes > 1).any():
        groups, tied = masks.by_context(np.where(sizes[codes] > 1, codes, -1)), sizes[sizes > 1][:, None]
        kept = np.concatenate([_cubes(groups @ mask, tied) for mask in masks], axis=1)
        alone = dataclasses.replace(alone, lost=kept)
    return dataclasses.replace(alone, own=_places(alone, alone, h)[0])


def _cubes(kept: Array, sizes: Pairs) -> Array:
    """Σ t³ - t of runs of ties by how many of each are kept, and of the rest: (2, B)."""
    both = np.stack([kept, sizes - kept])
    return np.asarray((both**3 - both).sum(axis=1))


def _places(a: _Ordered, b: _Ordered, h: Vector) -> tuple[Vector, bool]:
    """p(a in b), and whether a score of a is also one of b."""
    low = np.searchsorted(b.values, a.values)
    high = np.searchsorted(b.values, a.values, side="right")
    place = np.empty_like(h)
    place[a.order] = h[a.order] * (low + high) / 2 + (b.tail[low] + b.tail[high]) / 2
    return place, bool((high > low).any())


class SpearmanMixtures:
    """Spearman's rho: differences by one product with the weights w, put right for ties where it matters."""

    def __init__(self, human: Vector, scores: Array, masks: Masks, pool: Executor) -> None:
        n = len(human)
        self._pool, self._masks, self._h = pool, masks, ranks(human) - (n + 1) / 2
        self._spread = float(self._h @ self._h)
        centred = ranks(scores) - (n + 1) / 2
        squares = (centred**2).sum(axis=1) * self._spread
        self.values: Vector = centred @ self._h / np.sqrt(np.where((squares > 0) & (n > 2), squares, np.nan))
        z = np.rint(np.nan_to_num(standardised(scores)) * FINEST) / FINEST
        self._metrics = list(pool.map(lambda row: _ordered(row, self._h, masks), z))

    def deltas(self, pairs: Pairs) -> Iterator[Array]:
        """The differences (P, B) of pairs (P, 2) on all draws, exact where it could matter on which side they are."""
        weighted = list(self._pool.map(self._weights, pairs))
        weights = self._masks.summed(np.stack([own for own, _ in weighted]))
        whole = np.array([own.sum() for own, _ in weighted])[:, None]
        crossed = [(place, self._crossing(pairs[place])) for place, (_, both) in enumerate(weighted) if both]
        observed = np.abs(self.values[pairs[:, 0]] - self.values[pairs[:, 1]])[:, None]
        lost, start = np.array([metric.lost for metric in self._metrics]), 0
        for mask in self._masks:
            x, y = self._roots(lost[:, :, start : start + mask.shape[1]], pairs, crossed, mask)
            start += mask.shape[1]
            yield self._exact(pairs, observed, 2 * (weights @ mask) - whole, x, y, mask)

    def _exact(self, pairs: Pairs, observed: Array, difference: Array, x: Array, y: Array, mask: Array) -> Array:
        """The differences by those of the numerators and by the roots; ranked in full where ties could decide."""
        deltas: Array = difference * ((x + y) / 2)
        ratio = x / y
        reach = np.abs(ratio - 1 / ratio) / 2
        near = (np.abs(np.abs(deltas) - observed) <= reach + TOLERANCE) & (reach > 0)

        def rank(pair: int) -> None:
            draws = np.flatnonzero(near[pair])
            top = self._numerators(pairs[pair], mask, draws)
            deltas[pair, draws] = top * x[pair, draws] - (top - difference[pair, draws]) * y[pair, draws]

        list(self._pool.map(rank, np.flatnonzero(near.any(axis=1))))
        return deltas

    def _weights(self, pair: Pairs) -> tuple[Vector, bool]:
        a, b = self._metrics[pair[0]], self._metrics[pair[1]]
        (a_in_b, crossed), (b_in_a, _) = _places(a, b, self._h), _places(b, a, self._h)
        weights: Vector = (a.own + a_in_b - b_in_a - b.own) / 2
        return weights, crossed

    def _roots(self, lost: Array, pairs: Pairs, crossed: Sequence[tuple[int, _Crossing]], mask: Array,
               ) -> tuple[Array, Array]:
        """1 / √(V(x) V(h)) and 1 / √(V(y) V(h)) of every pair; NaN where a mixture is constant."""
        n = float(len(self._h))
        first, second = pairs.T
        both = np.stack([lost[first, 0] + lost[second, 1], lost[first, 1] + lost[second, 0]])
        for place, crossing in crossed:
            both[:, place] += crossing.lost(mask)
        variance = (n**3 - n - both) * (self._spread / 12)
        x, y = 1 / np.sqrt(np.where(variance > 0, variance, np.nan))
        return x, y

    def _crossing(self, pair: Pairs) -> _Crossing:
        """The scores that both metrics of a pair give."""
        metrics = [self._metrics[place] for place in pair]
        common = np.intersect1d(*(metric.values for metric in metrics))
        tables, sizes = [], []
        for metric in metrics:
            place = np.minimum(np.searchsorted(common, metric.scores), len(common) - 1)
            shared = np.where(common[place] == metric.scores, place, -1)
            tables.append(self._masks.by_context(shared))
            sizes.append(np.bincount(shared[shared >= 0])[:, None])
        return _Crossing(tables, sizes)

    def _numerators(self, pair: Pairs, mask: Array, draws: Pairs) -> Vector:
        """N(x) of some draws: the mask summed along the merged order gives the rank of every score that is in x."""
        h, contexts = self._h, self._masks.contexts
        merged = np.concatenate([self._metrics[place].scores for place in pair])
        order = np.argsort(merged, kind="stable")
        inverse, sizes = np.unique(merged, return_inverse=True, return_counts=True)[1:]
        high = np.cumsum(sizes)[inverse[order]]
        low = high - sizes[inverse[order]]
        row, other = order % len(h), (order >= len(h))[:, None]
        top = np.empty(len(draws))
        for start in range(0, len(draws), COLUMNS_IN_FULL):
            within = np.abs(mask[:, draws[start : start + COLUMNS_IN_FULL]][contexts[row]] - other)  # (2n, draws)
            below = np.concatenate([np.zeros((1, within.shape[1])), np.cumsum(within, axis=0)])
            top[start : start + COLUMNS_IN_FULL] = np.einsum("i,ij,ij->j", h[row] / 2, within, below[low] + below[high])
        return top


@dataclass(frozen=True, slots=True)
class _Crossing:
    """Of scores that two metrics share, which rows of each have them, by context, and how many rows that are."""

    tables: Sequence[Any]
    sizes: Sequence[Pairs]

    def lost(self, mask: Array) -> Array:
        """What they add to Σ t³ - t of the two mixtures: 3 s t (s + t); (2, B)."""
        kept = [table @ mask for table in self.tables]
        s = np.stack([kept[0], self.sizes[0] - kept[0]])
        t = np.stack([self.sizes[1] - kept[1], kept[1]])
        return np.asarray((3 * s * t * (s + t)).sum(axis=1))


class AnyMixtures:
    """Any statistic at any level: both mixtures are measured anew, one pair and one draw at a time."""

    def __init__(self, rows: Panel, scores: Array, statistic: Statistic, masks: Masks, pool: Executor) -> None:
        self._rows, self._statistic, self._masks, self._pool = rows, statistic, masks, pool
        self._z = standardised(scores)
        self.values: Vector = np.array([self._value(own) for own in self._z])

    def deltas(self, pairs: Pairs) -> Iterator[Array]:
        """The differences (P, B) of pairs (P, 2) on all draws."""
        for mask in self._masks:
            keep = mask.astype(np.bool_)[self._masks.contexts].T
            yield np.array(list(self._pool.map(self._of_pair, self._z[pairs], [keep] * len(pairs))))

    def _of_pair(self, pair: Array, keep: Mask) -> Vector:
        first, second = pair
        return np.array([self._value(np.where(kept, first, second)) - self._value(np.where(kept, second, first))
                         for kept in keep])

    def _value(self, metric: Vector) -> float:
        return self._statistic(dataclasses.replace(self._rows, metric=metric))


Mixtures: TypeAlias = PearsonMixtures | SpearmanMixtures | AnyMixtures
"""`values` (m,) are the correlations as they are, `deltas` the differences that masks make; NaN where there is none."""
