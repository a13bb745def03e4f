"""A weighted sum of other metrics' columns.

`weighted[inputs=deb+cosine]` weighs the standardised columns by Correlation Re-Scaling, per quality, as MME-CRS does.
`weighted[inputs=0.7*deb+0.3*cosine]` takes the weights that are given, and the scores as they are: nothing is learned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from metrics.composite import _ensemble, _rescaling
from metrics.composition import Composition, Input, Table, named
from metrics.errors import BadOption
from metrics.evidence import Evidence, Vector
from metrics.metric import MetricCard


@dataclass(frozen=True, slots=True)
class Weighted(Composition):
    """Weights that are given, or learned from correlations."""

    card: ClassVar[MetricCard] = MetricCard(
        name="weighted", title="Weighted ensemble", columns=("weighted", "weighted-single"), family="composite",
        notes="Weights for each quality, and in weighted-single one score per item.",
    )
    inputs: str = _ensemble.INPUTS
    power: _rescaling.Power = "1"
    in_sample: bool = False

    @property
    def learns(self) -> bool:
        """Whether no weights are given."""
        return "*" not in self.inputs

    def made_of(self) -> tuple[Input, ...]:
        """The columns that were named, else the reference-free ones of the harness."""
        return named(self.inputs if self.learns else "+".join(name for _, name in _given(self.inputs)))

    def weights(self, evidence: Evidence, dimension: str) -> Vector:
        """The weights that are given, else Correlation Re-Scaling."""
        if not self.learns:
            return np.array([weight for weight, _ in _given(self.inputs)])
        return _rescaling.weights(evidence, dimension, self.power)

    def scaled(self, table: Table, evidence: Evidence) -> Table:
        """The scores as they are where weights are given, else spreads from the mean."""
        return Composition.scaled(self, table, evidence) if self.learns else table


def _given(text: str) -> list[tuple[float, str]]:
    """The weights and inputs of `0.7*A+0.3*B`."""
    found = []
    for part in text.split("+"):
        weight, _, name = part.partition("*")
        try:
            found.append((float(weight), name.strip()))
        except ValueError:
            raise BadOption(f"{text!r}: weights are written 0.7*A+0.3*B, one for every input or none") from None
    return found
