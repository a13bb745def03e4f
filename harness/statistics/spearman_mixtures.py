"""Spearman's rho of mixtures of two metrics; `mixtures` explains a mixture x and its complement y.

rho = N / √(V V(h)) with N = Σ h · rank, h the centred mid-ranks of the rating, and V = (n³ - Σ t³)/12 for runs of t
equal scores. Let c(u, v) be 1, 1/2 or 0 as u <, = or > v: the rank of v is Σ_u c(u, v) + 1/2, so that
N(x) = Σ_ik h_i c(x_k, x_i) is of second degree in the mask. But y being the complement, every product of two bits
cancels in D = N(x) - N(y). With p(a in b)_i = h_i Σ_k c(b_k, a_i) + Σ_k h_k c(a_i, b_k) there is left

    D = Σ_i (2 keep_i - 1) w_i,    w = (p(a in a) + p(a in b) - p(b in a) - p(b in b)) / 2.

So w is computed once per pair from sorted scores, and all draws of all pairs are one matrix product. Mid-ranks are
multiples of 1/2: the sums are exact in float64 up to some 100,000 rows, in any order.

V(x) and V(y) differ by ties alone. As |N| <= √(V V(h)), the difference is D (V(x)^-1/2 + V(y)^-1/2) / 2√V(h) give or
take |V(x) - V(y)| / 2√(V(x) V(y)). Only a draw nearer than that to the observed difference, on either side, is ranked
in full, by one cumulative sum of its mask along the merged order of both metrics. So the counts are exact.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from harness.statistics.mixtures import TOLERANCE, Masks
from harness.statistics.panel import Array, Pairs, Vector
from harness.statistics.ranks import ranks, standardised

FINEST = 2.0**40
"""Scores are rounded to 1/FINEST after standardising, so that rounding does not break ties between two scales."""

COLUMNS_IN_FULL = 32
"""Draws ranked in full at once."""


class _Ordered:
    """A metric in ascending order: `tail` sums the ratings from each position on, `within` is p(a in a).

    `lost` is Σ t³ - t over ties among the kept rows, and among the others, on all draws: (2, draws).
    """

    def __init__(self, z: Vector, h: Vector, masks: Masks) -> None:
        self.scores, self.order = z, np.argsort(z, kind="stable")
        self.values = z[self.order]
        self.tail = np.append(np.cumsum(h[self.order][::-1])[::-1], 0.0)
        self.within = self.among(self, h)[0]
        self.lost = np.zeros((2, len(masks.bits)))
        codes, sizes = np.unique(z, return_inverse=True, return_counts=True)[1:]
        if (tied := sizes > 1).any():
            groups, sizes = masks.by_context(np.where(tied[codes], codes, -1)), sizes[tied][:, None]
            kept = [groups @ mask for mask in masks]
            self.lost = np.concatenate([np.stack([_cubes(part), _cubes(sizes - part)]) for part in kept], axis=1)

    def among(self, other: _Ordered, h: Vector) -> tuple[Vector, bool]:
        """Return p(self in other), and True if the two share a score."""
        low = np.searchsorted(other.values, self.values)
        high = np.searchsorted(other.values, self.values, side="right")
        p = np.empty_like(h)
        p[self.order] = h[self.order] * (low + high) / 2 + (other.tail[low] + other.tail[high]) / 2
        return p, bool((high > low).any())


def _cubes(runs: Array) -> Vector:
    """Return Σ t³ - t over runs of t ties (runs, B)."""
    return np.asarray((runs**3 - runs).sum(axis=0))


class SpearmanMixtures:
    """Spearman's rho: differences by one product with the weights w, corrected for ties where they could decide."""

    def __init__(self, human: Vector, scores: Array, masks: Masks) -> None:
        n = len(human)
        self._masks, self._h = masks, ranks(human) - (n + 1) / 2
        self._spread = float(self._h @ self._h)
        centred = ranks(scores) - (n + 1) / 2
        squares = (centred**2).sum(axis=1) * self._spread
        self.values: Vector = centred @ self._h / np.sqrt(np.where((squares > 0) & (n > 2), squares, np.nan))
        z = np.rint(np.nan_to_num(standardised(scores)) * FINEST) / FINEST
        self._metrics = [_Ordered(row, self._h, masks) for row in z]

    def deltas(self, pairs: Pairs) -> Iterator[Array]:
        """Yield the differences (P, B) of pairs (P, 2) for each block of masks, exact near the observed difference."""
        weighted = list(map(self._weights, pairs))
        weights = self._masks.summed(np.stack([weights for weights, _ in weighted]))
        whole = np.array([weights.sum() for weights, _ in weighted])[:, None]
        crossed = [(pair, self._crossing(pairs[pair])) for pair, (_, shared) in enumerate(weighted) if shared]
        observed = np.abs(self.values[pairs[:, 0]] - self.values[pairs[:, 1]])[:, None]
        lost = np.array([metric.lost for metric in self._metrics])
        first, second = pairs.T
        n, start = float(len(self._h)), 0
        for mask in self._masks:
            part = lost[:, :, start : start + mask.shape[1]]
            start += mask.shape[1]
            both = np.stack([part[first, 0] + part[second, 1], part[first, 1] + part[second, 0]])  # of x and of y
            for pair, crossing in crossed:
                both[:, pair] += crossing(mask)
            variance = (n**3 - n - both) * (self._spread / 12)
            x, y = 1 / np.sqrt(np.where(variance > 0, variance, np.nan))
            yield self._exact(pairs, observed, 2 * (weights @ mask) - whole, x, y, mask)

    def _weights(self, pair: Pairs) -> tuple[Vector, bool]:
        """Return w, and True if the two metrics share a score."""
        a, b = self._metrics[pair[0]], self._metrics[pair[1]]
        (a_in_b, shared), (b_in_a, _) = a.among(b, self._h), b.among(a, self._h)
        weights: Vector = (a.within + a_in_b - b_in_a - b.within) / 2
        return weights, shared

    def _crossing(self, pair: Pairs) -> Callable[[Array], Array]:
        """Return what scores that both metrics have add to Σ t³ - t of x and y on a mask: 3 s t (s + t), (2, B)."""
        metrics = [self._metrics[index] for index in pair]
        common = np.intersect1d(*(metric.values for metric in metrics))
        tables, sizes = [], []
        for metric in metrics:
            nearest = np.minimum(np.searchsorted(common, metric.scores), len(common) - 1)
            code = np.where(common[nearest] == metric.scores, nearest, -1)
            tables.append(self._masks.by_context(code))
            sizes.append(np.bincount(code[code >= 0])[:, None])

        def added(mask: Array) -> Array:
            kept = [table @ mask for table in tables]
            s, t = np.stack([kept[0], sizes[0] - kept[0]]), np.stack([sizes[1] - kept[1], kept[1]])
            return np.asarray((3 * s * t * (s + t)).sum(axis=1))

        return added

    def _exact(self, pairs: Pairs, observed: Array, difference: Array, x: Array, y: Array, mask: Array) -> Array:
        """Scale the differences of N by the roots x and y of both variances, in full where ties could decide."""
        deltas: Array = difference * ((x + y) / 2)
        ratio = x / y
        reach = np.abs(ratio - 1 / ratio) / 2
        near = (np.abs(np.abs(deltas) - observed) <= reach + TOLERANCE) & (reach > 0)

        for pair in np.flatnonzero(near.any(axis=1)):
            draws = np.flatnonzero(near[pair])
            top = self._numerators(pairs[pair], mask, draws)
            deltas[pair, draws] = top * x[pair, draws] - (top - difference[pair, draws]) * y[pair, draws]
        return deltas

    def _numerators(self, pair: Pairs, mask: Array, draws: Pairs) -> Vector:
        """Return N(x) of draws: the mask summed along the merged order gives the rank of every score in x."""
        h, contexts = self._h, self._masks.contexts
        merged = np.concatenate([self._metrics[index].scores for index in pair])
        order = np.argsort(merged, kind="stable")
        inverse, sizes = np.unique(merged, return_inverse=True, return_counts=True)[1:]
        high = np.cumsum(sizes)[inverse[order]]
        low = high - sizes[inverse[order]]
        row, second = order % len(h), (order >= len(h))[:, None]
        top = np.empty(len(draws))
        for start in range(0, len(draws), COLUMNS_IN_FULL):
            within = np.abs(mask[:, draws[start : start + COLUMNS_IN_FULL]][contexts[row]] - second)  # (2n, draws)
            below = np.concatenate([np.zeros((1, within.shape[1])), np.cumsum(within, axis=0)])
            top[start : start + COLUMNS_IN_FULL] = np.einsum("i,ij,ij->j", h[row] / 2, within, below[low] + below[high])
        return top
