"""A regression ensemble: the ranks of human ratings as a weighted sum of other metrics' columns.

    w = (A + λ I)^-1 r

A holds the standardised inputs' correlations with each other, r those with the ranks of the ratings, both the mean over
datasets. Few datasets share a quality, so the weights of one are shrunk (`Evidence.shrunk`): the mean over all
qualities counts as `strength` more datasets beside those of related qualities, that mean likewise beside the
quality's own.

One set of weights per quality is learned on development datasets and, for a development dataset, on the others alone.
`regression-single` is one score per item: the mean over the qualities of the dataset.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from metrics.composite.weighted import INPUTS
from metrics.composition import Composite, Input, default_or_more
from metrics.evidence import Evidence, Vector
from metrics.metric import MetricCard


@dataclass(frozen=True, slots=True)
class Regression(Composite):
    """Ridge regression on columns of other metrics."""

    card: ClassVar[MetricCard] = MetricCard(
        name="regression", title="Regression ensemble", columns=("regression", "regression-single"),
        family="composite", notes="Weights for each quality, and in regression-single one score per item.",
        fitted_on="ratings",
    )
    inputs: str = INPUTS
    ridge: float = 0.1
    strength: float = 1.0
    in_sample: bool = False

    def made_of(self) -> tuple[Input, ...]:
        """The columns of the option."""
        return default_or_more(self)

    def weights(self, evidence: Evidence, dimension: str) -> Vector:
        """Ridge regression, shrunk over related qualities; an input can have a negative weight."""
        return ridge_weights(evidence, dimension, self.ridge, self.strength)


def ridge_weights(evidence: Evidence, dimension: str, ridge: float, strength: float = 1.0) -> Vector:
    """The weights of a quality."""
    both = evidence.shrunk(dimension, strength, lambda dimensions: _means(evidence, dimensions))
    return np.asarray(np.linalg.solve(both[:, :-1] + ridge * np.eye(len(both)), both[:, -1]), dtype=np.float64)


def _means(evidence: Evidence, dimensions: Collection[str]) -> tuple[Vector, int]:
    """Mean correlations of the inputs with each other and, as a last column, with people; and of how many datasets.

    Only datasets with one of the dimensions count.
    """
    both = [np.column_stack([np.nan_to_num(part.alike), np.mean(rows, axis=0)]) for part in evidence.parts
            if (rows := [np.nan_to_num(own.ranked) for own in part.qualities if own.dimension in dimensions])]
    empty = np.eye(len(evidence.inputs), len(evidence.inputs) + 1)
    return np.asarray(np.mean(both, axis=0)) if both else empty, len(both)
