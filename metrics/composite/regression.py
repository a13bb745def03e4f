"""A regression ensemble: the ranks of human ratings as a weighted sum of other metrics' columns.

    w = (A + λ I)^-1 r

A holds the inputs' correlations with each other, r their correlations with the ranks of the ratings, averaged over
datasets. Few datasets share a quality, so A and r are shrunk towards their means over related and over all qualities
(`Evidence.shrunk`). Weights are learned on the development datasets; a development dataset uses weights learned on the
others.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from metrics.composite.weighted import INPUTS
from metrics.composition import Composite, check_not_negative
from metrics.evidence import Evidence, Vector
from metrics.metric import MetricCard


@dataclass(frozen=True, slots=True)
class Regression(Composite):
    """Ridge regression on columns of other metrics."""

    card: ClassVar[MetricCard] = MetricCard(
        name="regression", title="Regression ensemble", columns=("regression", "regression-single"),
        family="composite", notes="Separate weights for each quality; regression-single is one score per item.",
        fitted_on="ratings",
    )
    inputs: str = INPUTS
    ridge: float = 0.1
    strength: float = 1.0
    in_sample: bool = False

    def __post_init__(self) -> None:
        check_not_negative("regression", ridge=self.ridge, strength=self.strength)

    def weights(self, evidence: Evidence, dimension: str) -> Vector:
        return ridge_weights(evidence, dimension, self.ridge, self.strength)


def ridge_weights(evidence: Evidence, dimension: str, ridge: float, strength: float = 1.0) -> Vector:
    """Solve (A + λ I) w = r for a quality, with A and r shrunk by `strength`."""
    def mean(dimensions: Collection[str]) -> tuple[Vector, int]:
        tables = []  # (inputs, inputs + 1): A with r as its last column
        for part in evidence.parts:
            ranked = [np.nan_to_num(quality.ranked) for quality in part.qualities if quality.dimension in dimensions]
            if ranked:
                tables.append(np.column_stack([np.nan_to_num(part.alike), np.mean(ranked, axis=0)]))
        uncorrelated = np.eye(len(evidence.inputs), len(evidence.inputs) + 1)
        return np.asarray(np.mean(tables, axis=0)) if tables else uncorrelated, len(tables)

    table = evidence.shrunk(dimension, strength, mean)
    return np.asarray(np.linalg.solve(table[:, :-1] + ridge * np.eye(len(table)), table[:, -1]), dtype=np.float64)
