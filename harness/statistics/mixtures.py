"""Differences of correlations of mixtures of two metrics, for every pair of metrics and a block of masks at once.

A mask of zeros and ones, (G, B) for G contexts, makes of metrics a and b the mixture x, a where it is 1 and b where it
is 0, and its complement y. The difference is r(x, h) - r(y, h), h the human rating. Pearson's r needs only the sums of
x h, x and x², which are linear in the mask: they are summed within contexts first, and one matrix product per metric
serves all its pairs. `spearman_mixtures` does the same for ranks; any other statistic is computed draw by draw.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy

from harness.statistics.panel import Array, Codes, Pairs, Panel, Statistic, Vector
from harness.statistics.ranks import standardised

Bits: TypeAlias = npt.NDArray[np.uint8]

TOLERANCE = 1e-10
"""Differences of correlations within this are equal."""

MASK_CELLS = 2**23
"""Rows × draws per block."""


@dataclass(frozen=True, slots=True)
class Masks:
    """All draws: a bit for each draw and context (draws, contexts/8), and the context of each row."""

    bits: Bits
    contexts: Codes

    def __iter__(self) -> Iterator[Array]:
        """Yield blocks of masks (contexts, B)."""
        block = max(8, min(1024, MASK_CELLS // max(1, len(self.contexts))))
        for start in range(0, len(self.bits), block):
            yield np.unpackbits(self.bits[start : start + block], axis=1).T.astype(np.float64, order="C")

    def by_context(self, codes: Codes) -> Any:
        """Count the rows of each code in each context as a sparse (codes, contexts), without rows of code -1."""
        rows = np.flatnonzero(codes >= 0)
        kinds, kind = np.unique(codes[rows], return_inverse=True)
        return scipy.sparse.csr_array((np.ones(len(rows)), (kind, self.contexts[rows])),
                                      shape=(len(kinds), 8 * self.bits.shape[1]))

    def summed(self, values: Array) -> Array:
        """Sum values (k, rows) over the rows of each context: (k, contexts)."""
        return np.ascontiguousarray(values @ self.by_context(np.arange(len(self.contexts))))

    def differing(self, scores: Array, pairs: Pairs) -> Codes:
        """Return the number of contexts in which the standardised scores of each pair differ."""
        first, second = np.nan_to_num(standardised(scores))[pairs.T]
        return np.asarray((self.summed((np.abs(first - second) > TOLERANCE) * 1.0) > 0).sum(axis=1))


class PearsonMixtures:
    """Pearson's r. x is b + keep (a - b), so its sums are b's plus the difference of two products with the mask."""

    def __init__(self, human: Vector, scores: Array, masks: Masks) -> None:
        z = standardised(scores)
        parts = np.stack([z * standardised(human), z, z**2])  # (3, m, n)
        self._n, self._masks = len(human), masks
        self._whole = np.ascontiguousarray(parts.sum(axis=2)[:, :, None])  # (3, m, 1)
        self._parts = masks.summed(np.nan_to_num(parts.reshape(-1, self._n)))
        self.values: Vector = self._whole[0, :, 0] / self._n

    def deltas(self, pairs: Pairs) -> Iterator[Array]:
        """Yield the differences (P, B) of pairs (P, 2) for each block of masks; NaN where a mixture is constant."""
        first, second = pairs.T
        for mask in self._masks:
            sums = (self._parts @ mask).reshape(3, len(self.values), -1)
            change = sums[:, first] - sums[:, second]  # (3, P, B)
            yield self._correlation(self._whole[:, second] + change) - self._correlation(
                self._whole[:, first] - change)

    def _correlation(self, sums: Array) -> Array:
        product_sum, plain, square = sums
        variance = square - plain**2 / self._n
        variance = np.where(variance > TOLERANCE * self._n, variance, np.nan)
        return np.asarray(product_sum / np.sqrt(variance * self._n))


class AnyMixtures:
    """Any statistic at any level, computed on both mixtures of one pair and one draw at a time."""

    def __init__(self, rows: Panel, scores: Array, statistic: Statistic, masks: Masks) -> None:
        self._rows, self._statistic, self._masks = rows, statistic, masks
        self._z = standardised(scores)
        self.values: Vector = np.array(list(map(self._value, self._z)))

    def deltas(self, pairs: Pairs) -> Iterator[Array]:
        """Yield the differences (P, B) of pairs (P, 2) for each block of masks."""
        for mask in self._masks:
            keep = mask.astype(np.bool_)[self._masks.contexts].T
            yield np.array([[self._value(np.where(kept, a, b)) - self._value(np.where(kept, b, a)) for kept in keep]
                            for a, b in self._z[pairs]])

    def _value(self, metric: Vector) -> float:
        return self._statistic(dataclasses.replace(self._rows, metric=metric))
