"""Correlations of mixtures of two metrics, for every pair of metrics and a block of masks at once.

A mask of zeros and ones, `keep` (n, B), makes of metrics a and b the mixture x, a where it is 1 and b where it is 0,
and its complement y. Wanted is r(x, h) - r(y, h), h being the human rating. All that is needed is linear in the mask:

- Pearson: the sums of x h, x and x². One matrix product per metric serves all its pairs.
- Spearman: the difference of the two numerators. One matrix product per pair; `ranked_mixtures` says how.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

import numpy as np

from harness.statistics.panel import Array, Pairs, Vector

TOLERANCE = 1e-10
"""Differences of correlations that are nearer than this are equal, so that rounding decides nothing."""

Times: TypeAlias = Callable[[Array], Array]
Product: TypeAlias = Callable[[Array], Times]


class Mixtures(Protocol):
    """The pairs on one set of rows."""

    @property
    def observed(self) -> Vector:
        """The differences (P,) of the correlations as they are; NaN where one does not exist."""

    def deltas(self, keep: Array) -> Array:
        """The differences (P, B) that a block of masks makes, exact where they are near the observed."""


def product(device: str) -> Product:
    """Of a matrix that stays, a function that multiplies it with others; float64 on any device."""
    if device == "cpu":
        return lambda left: lambda right: np.asarray(left @ right)
    import torch

    place = torch.device(device.removeprefix("torch:"))

    def stay(left: Array) -> Times:
        held = torch.from_numpy(left).to(place)
        return lambda right: np.asarray((held @ torch.from_numpy(right).to(place)).cpu().numpy())

    return stay


class PearsonMixtures:
    """Pearson's r: x is b + keep (a - b), so its sums are b's and the difference of two products with the mask."""

    def __init__(self, human: Vector, scores: Array, pairs: Pairs, multiply: Product) -> None:
        self._first, self._second = pairs.T
        h = standardised(human[None])[0]
        z = standardised(scores)
        parts = np.stack([z * h, z, z**2])  # (3, m, n)
        self._whole = np.ascontiguousarray(parts.sum(axis=2)[:, :, None])  # (3, m, 1)
        self._times = multiply(np.nan_to_num(parts.reshape(-1, z.shape[1])))
        r = self._whole[0, :, 0] / z.shape[1]
        self.observed: Vector = r[self._first] - r[self._second]

    def deltas(self, keep: Array) -> Array:
        """The differences (P, B), all exact."""
        n, size = keep.shape[0], self._whole.shape[1]
        sums = self._times(keep).reshape(3, size, -1)
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
