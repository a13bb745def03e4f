"""A regression ensemble: the ranks of human ratings as a weighted sum of other metrics' columns.

One set of weights per quality, learned on development datasets and, for a development dataset, on the others alone;
_regression.py has how. `regression-single` is one score per item: the mean over the qualities of the dataset.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from metrics.composite import _ensemble, _regression
from metrics.composition import Composition, Input, named
from metrics.evidence import Evidence, Vector
from metrics.metric import MetricCard


@dataclass(frozen=True, slots=True)
class Regression(Composition):
    """Ridge regression on columns of other metrics."""

    card: ClassVar[MetricCard] = MetricCard(
        name="regression", title="Regression ensemble", columns=("regression", "regression-single"),
        family="composite", notes="Weights for each quality, and in regression-single one score per item.",
    )
    inputs: str = _ensemble.INPUTS
    ridge: float = 0.1
    in_sample: bool = False

    def made_of(self) -> tuple[Input, ...]:
        """The columns that were named, else the reference-free ones of the harness."""
        return named(self.inputs)

    def weights(self, evidence: Evidence, dimension: str) -> Vector:
        """Ridge regression, shrunk over kindred qualities; an input can have a negative weight."""
        return _regression.weights(evidence, dimension, self.ridge)
