"""A regression ensemble: the ranks of human ratings as a weighted sum of other metrics' columns.

    w = (A + λ I)^-1 r

A holds the standardised inputs' correlations with each other, r those with the ranks of the ratings, both the mean over
datasets. Few datasets share a quality, so the weights of one are shrunk: the mean over all qualities counts as one more
dataset beside those of its kin, and that mean as one more beside those of the quality itself.

One set of weights per quality is learned on development datasets and, for a development dataset, on the others alone.
`regression-single` is one score per item: the mean over the qualities of the dataset.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from metrics.composite.weighted import INPUTS
from metrics.composition import Composite, Input, named
from metrics.evidence import Evidence, Vector, kin
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
    in_sample: bool = False

    def made_of(self) -> tuple[Input, ...]:
        """The columns of the option."""
        return named(self.inputs)

    def weights(self, evidence: Evidence, dimension: str) -> Vector:
        """Ridge regression, shrunk over kindred qualities; an input can have a negative weight."""
        return ridge_weights(evidence, dimension, self.ridge)


def ridge_weights(evidence: Evidence, dimension: str, ridge: float) -> Vector:
    """The weights of a quality."""
    alike, agree, _ = _means(evidence, evidence.dimensions)
    for dimensions in (kin(dimension), {dimension}):  # from all qualities to its kin to itself
        own_alike, own_agree, count = _means(evidence, dimensions)
        alike, agree = (own_alike * count + alike) / (count + 1), (own_agree * count + agree) / (count + 1)
    return np.asarray(np.linalg.solve(alike + ridge * np.eye(len(agree)), agree), dtype=np.float64)


def _means(evidence: Evidence, dimensions: Collection[str]) -> tuple[Vector, Vector, int]:
    """Mean correlations of the inputs with each other and with people, and of how many datasets: (k, k), (k,), n.

    Only datasets with one of the dimensions count.
    """
    alike, agree = [], []
    for part in evidence.parts:
        if rows := [np.nan_to_num(own.ranked) for own in part.qualities if own.dimension in dimensions]:
            alike.append(np.nan_to_num(part.alike))
            agree.append(np.mean(rows, axis=0))
    if not agree:
        return np.eye(len(evidence.inputs)), np.zeros(len(evidence.inputs)), 0
    return np.asarray(np.mean(alike, axis=0)), np.asarray(np.mean(agree, axis=0)), len(agree)
