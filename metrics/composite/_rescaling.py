"""Correlation Re-Scaling (CRS) of MME-CRS (Zhang et al. 2022): weights from rank correlations.

    rho_ijk    Spearman of sub-metric k with quality j on development dataset i, negative ones made 0
    w_ijk      rho_ijk^d / sum over k of rho_ijk^d
    w_jk       the mean of w_ijk over the datasets i that have quality j

A dataset on which no sub-metric agrees with a quality has no weights for it and is left out of the mean.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from metrics.evidence import Evidence, Vector

Power: TypeAlias = Literal["1", "2", "3", "auto"]
LOW, HIGH = 1 / 3, 1 / 2
"""Between which the largest weight should lie."""
HIGHEST = 20
"""The largest power that is tried."""


def rescaled(correlations: Vector, power: Power) -> Vector | None:
    """The weights of one quality on one dataset; they sum to 1. None where no sub-metric agrees."""
    useful = np.maximum(np.nan_to_num(correlations), 0)
    if not useful.any():
        return None
    return _powered(useful, best_power(useful) if power == "auto" else int(power))


def best_power(useful: Vector) -> int:
    """The least whole power that brings the largest weight between 1/3 and 1/2; else the one that comes nearest."""
    def off(power: int) -> float:
        largest = float(_powered(useful, power).max())
        return max(LOW - largest, largest - HIGH, 0.0)

    return min(range(1, HIGHEST + 1), key=off)


def weights(evidence: Evidence, dimension: str, power: Power) -> Vector:
    """The weights of a quality: the mean over the datasets that have it, equal ones where nothing agrees anywhere."""
    found = [given for _, rated in evidence.having(dimension)
             if (given := rescaled(rated.spearman, power)) is not None]
    count = len(evidence.inputs)
    return np.asarray(np.mean(found, axis=0)) if found else np.full(count, 1 / count)


def _powered(useful: Vector, power: int) -> Vector:
    raised = (useful / useful.max()) ** power
    found: Vector = raised / raised.sum()
    return found
