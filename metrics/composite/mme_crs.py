"""MME-CRS (Zhang et al. 2022), winner of DSTC10 Track 5: five groups of sub-metrics, mixed by Correlation Re-Scaling.

    rho_ijk    Spearman of sub-metric k with quality j on development dataset i; negative values are set to 0
    w_ijk      rho_ijk^d / sum over k of rho_ijk^d
    w_jk       the mean of w_ijk over the datasets i that have quality j
    S_j        the sum over k of w_jk · s_k

A dataset on which no sub-metric agrees with a quality is left out of the mean.

The groups are fluency (mme-fm), relevance (mme-rm), topic coherence (mme-tcm), engagement (mme-em) and specificity (the
three of sm). Submissions 1 to 3 are `power=1`, `2` (the winner and the default) and `3`; 4 is `power=auto`, 5 the same
with a BERT as `encoder`. `recipe=paper` uses sub-metrics trained as in the paper. The test phase took one score per
item, and the paper does not say which; here it is the mean over the dataset's qualities, `mme-crs-single`.

Departures: the paper sums raw scores, although one is a perplexity and others are probabilities. Here each sub-metric
is first standardised over the development datasets, since the perplexity would dominate; `scale=none` sums raw scores.
Weights of qualities that few datasets have are shrunk (`Evidence.shrunk`; `strength=0` uses plain means, as in the
paper), and a development dataset uses weights learned on the others. The paper chooses d so that the largest
correlation lies between 1/3 and 1/2; we take this to mean the largest weight, with d an integer and the paper's
"dialogues" being items.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from metrics.composition import Composite, Input, check_not_negative, named
from metrics.evidence import Evidence, Vector
from metrics.metric import MetricCard, System, variant
from metrics.trained.mme_fm import Fluency

INPUTS = {
    "small": {"fm": "mme-fm", "rm": "mme-rm", "tcm": "mme-tcm", "em": "mme-em", "sm": "sm-ll+sm-nce+sm-ppl"},
    "paper": {"fm": "mme-fm[recipe=paper{0}]", "rm": "mme-rm[recipe=paper{0}]", "tcm": "mme-tcm[recipe=paper{0}]",
              "em": "mme-em[recipe=paper{0}]",
              "sm": "sm[encoder={1}]/sm-ll+sm[encoder={1}]/sm-nce+sm[encoder={1}]/sm-ppl"},
}
"""The sub-metrics of each group, by recipe; {0} stands for the option `encoder` if given, {1} for its value."""
SYSTEMS: dict[str, tuple[System, str]] = {
    "small": ("another method", "Its inputs are small heads on a frozen encoder."),
    "paper": ("same method, smaller model",
              "Specificity uses adapters on the encoder, not a SimCSE trained as a masked language model."),
}
"""The relation to the paper's system and the departure of the sub-metrics, by recipe."""
Without: TypeAlias = Literal["none", "fm", "rm", "tcm", "em", "sm", "rm+tcm"]
"""Ablations of the paper's Table 5."""
Power: TypeAlias = Literal["1", "2", "3", "auto"]
MIN_LARGEST, MAX_LARGEST = 1 / 3, 1 / 2
"""Range in which the largest weight should lie with `power=auto`."""
MAX_POWER = 20
"""Largest power tried with `power=auto`."""


class SubMetrics(Composite):
    """A composite of the sub-metrics; the departure of the sub-metrics comes first on its card."""

    __slots__ = ()
    sample_size: ClassVar[int] = 300
    separate_levels: ClassVar[bool] = False
    encoder: str
    without: Without
    recipe: Literal["small", "paper"]

    @classmethod
    def for_options(cls, values: Mapping[str, Any]) -> Any:
        if "recipe" not in values:
            return cls
        system, departure = SYSTEMS[values["recipe"]]
        return variant(cls, card=dataclasses.replace(cls.card, system=system,
                                                     departures=(departure, *cls.card.departures[1:])))

    def made_of(self) -> tuple[Input, ...]:
        inputs = "+".join(text for group, text in INPUTS[self.recipe].items() if group not in self.without.split("+"))
        given, encoder = self.encoder and f",encoder={self.encoder}", self.encoder or Fluency.recipes["paper"].encoder
        return named(inputs.format(given, encoder), encoder=self.encoder)


@dataclass(frozen=True, slots=True)
class MmeCrs(SubMetrics):
    """Correlation Re-Scaling of the sub-metrics."""

    card: ClassVar[MetricCard] = MetricCard(
        name="mme-crs", title="MME-CRS", columns=("mme-crs", "mme-crs-single"), family="composite", needs=("context",),
        models=("encoder",), paper="https://arxiv.org/abs/2206.09403",
        notes="mme-crs has weights for each quality; mme-crs-single is one score per item.",
        system="another method", fitted_on="ratings",
        departures=(
            "Its inputs are small heads on a frozen encoder.",
            "Each input is standardised first; scale=none turns this off.",
            "Weights of a quality are shrunk towards those of related and of all qualities; strength=0 turns this off.",
            "Weights for a development dataset are learned on the others.",
            ("mme-crs-single is the mean over the dataset's qualities, since the paper does not say how its single "
             "score is computed."),
        ),
    )
    encoder: str = ""
    power: Power = "2"
    without: Without = "none"
    scale: Literal["standard", "none"] = "standard"
    strength: float = 1.0
    in_sample: bool = False
    recipe: Literal["small", "paper"] = "small"

    def __post_init__(self) -> None:
        check_not_negative("mme-crs", strength=self.strength)

    def weights(self, evidence: Evidence, dimension: str) -> Vector:
        return crs_weights(evidence, dimension, self.power, self.strength)


def crs_weights(evidence: Evidence, dimension: str, power: Power, strength: float = 0.0) -> Vector:
    """Return a quality's weights, averaged over the datasets that have it; equal weights if no input correlates."""
    count = len(evidence.inputs)

    def mean(dimensions: Collection[str]) -> tuple[Vector, int]:
        rows = [rescaled(quality.spearman, power) for quality in evidence.qualities if quality.dimension in dimensions]
        weights = [row for row in rows if row is not None]
        return np.asarray(np.mean(weights, axis=0)) if weights else np.full(count, 1 / count), len(weights)

    return evidence.shrunk(dimension, strength, mean)


def rescaled(correlations: Vector, power: Power) -> Vector | None:
    """Return a quality's weights on one dataset, summing to 1; None if no sub-metric correlates positively with it."""
    nonnegative = np.maximum(np.nan_to_num(correlations), 0)
    if not nonnegative.any():
        return None
    return _powered(nonnegative, best_power(nonnegative) if power == "auto" else int(power))


def best_power(nonnegative: Vector) -> int:
    """Return the smallest power whose largest weight is nearest to the range 1/3 to 1/2."""
    def distance(power: int) -> float:
        largest = float(_powered(nonnegative, power).max())
        return max(MIN_LARGEST - largest, largest - MAX_LARGEST, 0.0)

    return min(range(1, MAX_POWER + 1), key=distance)


def _powered(nonnegative: Vector, power: int) -> Vector:
    raised = (nonnegative / nonnegative.max()) ** power
    return np.asarray(raised / raised.sum())
