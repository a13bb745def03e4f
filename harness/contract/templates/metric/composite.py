"""My metric: a weighted sum of other metrics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from metrics.composition import Composite, Input, InputScores, named
from metrics.evidence import Evidence, Vector
from metrics.metric import MetricCard

INPUTS = {"context-overlap": 0.5, "log(length)": 0.3, "distinct-1": 0.2}
"""Weights by input: METRIC, METRIC[options], METRIC/COLUMN or a column, or log(...) of one of these."""


@dataclass(frozen=True, slots=True)
class MyMetric(Composite):
    """Σ weight · score over the inputs."""

    card: ClassVar[MetricCard] = MetricCard(
        name="my-metric", title="My metric", columns=("my-metric",), family="plug-in",
        notes="A weighted sum of a few simple metrics.")

    @property
    def learns(self) -> bool:
        """Return False for fixed weights; if you return True and omit `scaled`, `harness calibrate` learns them."""
        return False

    def made_of(self) -> tuple[Input, ...]:
        """Return the inputs; each is scored once in a run, even if other metrics use it."""
        return named("+".join(INPUTS))

    def weights(self, evidence: Evidence, dimension: str) -> Vector:
        """Return a weight per input."""
        return np.array([*INPUTS.values()])

    def scaled(self, table: InputScores, evidence: Evidence) -> InputScores:
        """Return the scores (inputs, items) unchanged; without this method they are standardised."""
        return table
