"""My metric: other metrics, mixed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from metrics.composition import Composite, Input, InputScores, named
from metrics.evidence import Evidence, Vector
from metrics.metric import MetricCard

INPUTS = {"context-overlap": 0.5, "log(length)": 0.3, "distinct-1": 0.2}
"""Weights by input: METRIC, METRIC[options], METRIC/COLUMN, or a column; log(...) of one."""


@dataclass(frozen=True, slots=True)
class MyMetric(Composite):
    """The sum over the inputs of weight · score."""

    card: ClassVar[MetricCard] = MetricCard(
        name="my-metric", title="My metric", columns=("my-metric",), family="plug-in",
        notes="A weighted sum of a few simple metrics.")

    @property
    def learns(self) -> bool:
        """The weights are given; return True and leave `scaled` out if `harness calibrate my-metric` is to help."""
        return False

    def made_of(self) -> tuple[Input, ...]:
        """The columns that are mixed; each is scored once in a run, whoever else asks for it."""
        return named("+".join(INPUTS))

    def weights(self, evidence: Evidence, dimension: str) -> Vector:  # noqa: ARG002  (the same for every quality)
        """One weight per input."""
        return np.array([*INPUTS.values()])

    def scaled(self, table: InputScores, evidence: Evidence) -> InputScores:  # noqa: ARG002
        """The scores (inputs, items) as they are; without this method in spreads from their mean."""
        return table
