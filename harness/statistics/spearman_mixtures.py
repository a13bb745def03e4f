"""Spearman's rho of mixtures of two metrics: see `mixtures` for what a mixture x and its complement y are.

rho = N / √(V V(h)) with N = Σ h · rank, h the centred mid-ranks of the rating, and V = (n³ - Σ t³)/12 for runs of t
equal scores. Let c(u, v) be 1, 1/2 or 0 as u <, = or > v: the rank of v is Σ_u c(u, v) + 1/2, so that
N(x) = Σ_ik h_i c(x_k, x_i), of second degree in the mask. But y being the complement, every product of two bits cancels
in D = N(x) - N(y). With p(a in b)_i = h_i Σ_k c(b_k, a_i) + Σ_k h_k c(a_i, b_k) there is left

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
from typing import Any

import numpy as np

from harness.statistics.mixtures import TOLERANCE, Masks, standardised
from harness.statistics.panel import Array, Codes, Pairs, Vector
from harness.statistics.ranks import ranks

FINEST = 2.0**40
"""Ranked are standardised scores to 1/FINEST, so that rounding does not part what two metrics, or scales, say alike."""

COLUMNS_IN_FULL = 32


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
