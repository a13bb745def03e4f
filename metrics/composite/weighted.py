"""A weighted sum of other metrics' columns.

`weighted[inputs=deb+cosine]` weighs the standardised columns by Correlation Re-Scaling, per quality, as MME-CRS does.
`weighted[inputs=0.7*deb+0.3*cosine]` has fixed weights, and takes the scores as they are: nothing is learned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from metrics.composite.mme_crs import Power, crs_weights
from metrics.composition import Composite, Input, default_or_more, named
from metrics.errors import BadOption
from metrics.evidence import Evidence, Vector
from metrics.metric import MetricCard

INPUTS = "+".join((
    "deb", "deb[negatives=adversarial]", "usr-dr-c", "usl-h-nup", "usl-h-vup", "bert-ruber-unreferenced",
    "ruber-unreferenced", "bert-dnn", "cosine", "cosim", "mme-rm", "mme-fm", "mme-em", "sm-ll", "sm-nce", "distinct-1",
    "context-overlap", "log(length)", "perplexity",
))
"""The default inputs: reference-free columns, each of which scores every response that has a context."""


@dataclass(frozen=True, slots=True)
class Weighted(Composite):
    """Weights that are fixed, or learned from correlations."""

    card: ClassVar[MetricCard] = MetricCard(
        name="weighted", title="Weighted ensemble", columns=("weighted", "weighted-single"), family="composite",
        notes="Weights for each quality, and in weighted-single one score per item.",
        fitted_on="ratings",
    )
    inputs: str = INPUTS
    power: Power = "1"
    strength: float = 1.0
    in_sample: bool = False

    @property
    def learns(self) -> bool:
        """Whether the inputs have no weights."""
        return "*" not in self.inputs

    def made_of(self) -> tuple[Input, ...]:
        """The columns of the option."""
        if self.learns:
            return default_or_more(self)
        return named("+".join(name for _, name in _fixed(self.inputs)))

    def weights(self, evidence: Evidence, dimension: str) -> Vector:
        """The fixed weights, else Correlation Re-Scaling."""
        if not self.learns:
            return np.array([weight for weight, _ in _fixed(self.inputs)])
        return crs_weights(evidence, dimension, self.power, self.strength)


def _fixed(text: str) -> list[tuple[float, str]]:
    """The weights and inputs of `0.7*A+0.3*B`."""
    weights = []
    for part in text.split("+"):
        weight, _, name = part.partition("*")
        try:
            weights.append((float(weight), name.strip()))
        except ValueError:
            raise BadOption(f"{text!r}: weights are written 0.7*A+0.3*B, one for every input or none") from None
    return weights
