"""A weighted sum of other metrics' columns.

`weighted[inputs=deb+cosine]` weights standardised columns separately for each quality by Correlation
Re-Scaling, like MME-CRS.
`weighted[inputs=0.7*deb+0.3*cosine]` applies fixed weights to raw scores and learns nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from metrics.composite.mme_crs import Power, crs_weights
from metrics.composition import Composite, Input, check_not_negative, named, terms
from metrics.errors import BadOption
from metrics.evidence import Evidence, Vector
from metrics.metric import MetricCard

INPUTS = "+".join((
    "deb", "deb[negatives=adversarial]", "usr-dr-c", "usl-h-nup", "usl-h-vup", "bert-ruber-unreferenced",
    "ruber-unreferenced", "bert-dnn", "cosine", "cosim", "mme-rm", "mme-fm", "mme-em", "sm-ll", "sm-nce", "distinct-1",
    "context-overlap", "log(length)", "perplexity",
))
"""Reference-free columns, each of which scores every response with a context."""


@dataclass(frozen=True, slots=True)
class Weighted(Composite):
    """A sum with weights that are fixed, or learned from correlations."""

    card: ClassVar[MetricCard] = MetricCard(
        name="weighted", title="Weighted ensemble", columns=("weighted", "weighted-single"), family="composite",
        notes="Separate weights for each quality; weighted-single is one score per item.",
        fitted_on="ratings",
    )
    inputs: str = INPUTS
    power: Power = "1"
    strength: float = 1.0
    in_sample: bool = False

    def __post_init__(self) -> None:
        check_not_negative("weighted", strength=self.strength)

    @property
    def learns(self) -> bool:
        return "*" not in self.inputs

    def made_of(self) -> tuple[Input, ...]:
        if self.learns:
            return Composite.made_of(self)
        return named("+".join(name for name, _ in _fixed_weights(self.inputs)))

    def weights(self, evidence: Evidence, dimension: str) -> Vector:
        if self.learns:
            return crs_weights(evidence, dimension, self.power, self.strength)
        return np.array([weight for _, weight in _fixed_weights(self.inputs)])


def _fixed_weights(text: str) -> list[tuple[str, float]]:
    """Return the inputs of `0.7*A+0.3*B` with their weights."""
    try:
        return [(name.strip(), float(weight)) for weight, _, name in (part.partition("*") for part in terms(text))]
    except ValueError:
        raise BadOption(f"{text!r}: weights must be written as 0.7*A+0.3*B, for all inputs or none") from None
