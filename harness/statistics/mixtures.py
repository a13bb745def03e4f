"""Correlations of mixtures of two metrics, for every pair of metrics and a block of masks at once.

A mask of zeros and ones, (G, B) for G contexts, makes of metrics a and b the mixture x, a where it is 1 and b where it
is 0, and its complement y. Wanted is r(x, h) - r(y, h), h being the human rating. Pearson's r needs the sums of x h, x
and x² alone, which are linear in the mask: what belongs to one context is summed first, and one matrix product per
metric serves all its pairs. `spearman_mixtures` does the same for ranks; any other statistic is measured draw by draw.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias

import numpy as np
import numpy.typing as npt
import scipy

from harness.statistics.panel import Array, Codes, Mask, Pairs, Panel, Statistic, Vector

Bits: TypeAlias = npt.NDArray[np.uint8]

TOLERANCE = 1e-10
"""Differences of correlations that are nearer than this are equal, so that rounding decides nothing."""

MASK_CELLS = 2**23
"""Rows × draws that are looked at together."""


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


class Mixtures(Protocol):
    """`values` (m,) are the correlations as they are; NaN where there is none."""

    values: Vector

    def deltas(self, pairs: Pairs) -> Iterator[Array]:
        """The differences (P, B) that some masks at a time make of pairs (P, 2); NaN where there is none."""


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
