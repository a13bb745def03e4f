"""MME-CRS (Zhang et al. 2022), winner of DSTC10 Track 5: five groups of sub-metrics, mixed by Correlation Re-Scaling.

    rho_ijk    Spearman of sub-metric k with quality j on development dataset i, negative ones made 0
    w_ijk      rho_ijk^d / sum over k of rho_ijk^d
    w_jk       the mean of w_ijk over the datasets i that have quality j
    S_j        the sum over k of w_jk · s_k

A dataset on which no sub-metric agrees with a quality has no weights for it and is left out of the mean.

Fluency (mme-fm), relevance (mme-rm), topic coherence (mme-tcm), engagement (mme-em) and three of specificity (sm). Its
submissions 1 to 3 are `power=1`, `2` (which won, and is the default) and `3`; 4 is `power=auto`, and 5 the same with
`encoder=` a BERT. `recipe=paper` takes the sub-metrics that are trained as in the paper. The challenge's test phase
took one score per item, and the paper does not say how it is made of the S_j: here it is their mean over the qualities
of the dataset, `mme-crs-single`.

Departures: the paper sums the sub-metrics' scores as they are, a perplexity beside probabilities. Here each is first
brought to mean 0 and spread 1 over the development datasets, else the perplexity decides alone; `scale=none` does it
as printed. The weights of a quality that few development datasets have are shrunk (`Evidence.shrunk`), `strength=0`
takes the means as printed; and a development dataset takes those learned on the others. The paper names the correlation
where it says what should lie between 1/3 and 1/2 for the best d; it is read as the weight, and d as a whole number.
"Dialogues" that are drawn are items.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal, TypeAlias

import numpy as np

from metrics.composition import Composite, Input, named
from metrics.evidence import Evidence, Vector
from metrics.metric import MetricCard, variant
from metrics.trained.mme_fm import PAPER

GROUPS: dict[str, tuple[str, ...]] = {
    "fm": ("mme-fm",), "rm": ("mme-rm",), "tcm": ("mme-tcm",), "em": ("mme-em",), "sm": ("sm-ll", "sm-nce", "sm-ppl"),
}
Without: TypeAlias = Literal["none", "fm", "rm", "tcm", "em", "sm", "rm+tcm"]
"""The ablations of the paper's Table 5."""
DRAWN = 300
"""Dialogues of each dataset that correlations are computed over."""
Power: TypeAlias = Literal["1", "2", "3", "auto"]
LOW, HIGH = 1 / 3, 1 / 2
"""Between which the largest weight should lie."""
HIGHEST = 20
"""The largest power that is tried."""


def by_paper(column: str, encoder: str) -> str:
    """Return the sub-metric of a column as the papers have it."""
    if column.startswith("sm-"):
        return f"sm[encoder={encoder or PAPER.encoder}]/{column}"
    return f"{column}[recipe=paper,encoder={encoder}]" if encoder else f"{column}[recipe=paper]"


INPUTS: Mapping[str, Callable[[str, str], str]] = {"small": lambda column, encoder: column, "paper": by_paper}
"""The sub-metric of a column and an encoder, by recipe."""


class SubMetrics(Composite):
    """A composite of the columns of GROUPS; the options that name them are its own."""

    __slots__ = ()
    drawn: ClassVar[int] = DRAWN
    level_apart: ClassVar[bool] = False
    encoder: str
    without: Without
    recipe: Literal["small", "paper"]

    @classmethod
    def for_options(cls, values: Mapping[str, Any]) -> Any:
        """The class, its card that of the sub-metrics it has."""
        return as_published(cls) if values.get("recipe") == "paper" else cls

    def made_of(self) -> tuple[Input, ...]:
        """The columns of the groups that an ablation leaves."""
        columns = [column for group, columns in GROUPS.items() if group not in self.without.split("+")
                   for column in columns]
        return named("+".join(INPUTS[self.recipe](column, self.encoder) for column in columns), encoder=self.encoder)


@dataclass(frozen=True, slots=True)
class MmeCrs(SubMetrics):
    """A score per quality, and one for all."""

    card: ClassVar[MetricCard] = MetricCard(
        name="mme-crs", title="MME-CRS", columns=("mme-crs", "mme-crs-single"), family="composite", needs=("context",),
        models=("encoder",), paper="https://arxiv.org/abs/2206.09403",
        notes="mme-crs has weights for each quality; mme-crs-single is one score per item.",
        system="another method", fitted_on="ratings",
        departures=(
            "Its inputs are small heads on a frozen encoder.",
            "Each input is brought to mean 0 and spread 1 first; scale=none leaves that out.",
            "Weights of a quality are shrunk towards those of related qualities and of all; strength=0 omits it.",
            "On a development dataset it has the weights learned on the others.",
            ("mme-crs-single is the mean over the dataset's qualities, since the paper does not say how its one "
             "score is made."),
        ),
    )
    encoder: str = ""
    power: Power = "2"
    without: Without = "none"
    scale: Literal["standard", "none"] = "standard"
    strength: float = 1.0
    in_sample: bool = False
    recipe: Literal["small", "paper"] = "small"

    def weights(self, evidence: Evidence, dimension: str) -> Vector:
        """Correlation Re-Scaling; the weights sum to 1."""
        return crs_weights(evidence, dimension, self.power, self.strength)


def as_published(kind: type[Composite]) -> Any:
    """The class with a card whose first departure is that of the one sub-metric that is not the paper's."""
    return variant(kind, card=dataclasses.replace(kind.card, system="same method, smaller model", departures=(
        "Specificity is that of adapters on the encoder, not of a SimCSE trained as a masked model.",
        *kind.card.departures[1:])))


def crs_weights(evidence: Evidence, dimension: str, power: Power, strength: float = 0.0) -> Vector:
    """The weights of a quality: the mean over the datasets that have it; equal ones where nothing agrees anywhere."""
    def mean(dimensions: Collection[str]) -> tuple[Vector, int]:
        weights = [own for quality in evidence.qualities if quality.dimension in dimensions
                   and (own := rescaled(quality.spearman, power)) is not None]
        count = len(evidence.inputs)
        return np.asarray(np.mean(weights, axis=0)) if weights else np.full(count, 1 / count), len(weights)

    return evidence.shrunk(dimension, strength, mean)


def rescaled(correlations: Vector, power: Power) -> Vector | None:
    """The weights of one quality on one dataset; they sum to 1. None where no sub-metric agrees."""
    useful = np.maximum(np.nan_to_num(correlations), 0)
    if not useful.any():
        return None
    return _powered(useful, best_power(useful) if power == "auto" else int(power))


def best_power(useful: Vector) -> int:
    """The smallest power for which the largest weight lies between 1/3 and 1/2; else the one that comes nearest."""
    def off(power: int) -> float:
        largest = float(_powered(useful, power).max())
        return max(LOW - largest, largest - HIGH, 0.0)

    return min(range(1, HIGHEST + 1), key=off)


def _powered(useful: Vector, power: int) -> Vector:
    raised = (useful / useful.max()) ** power
    return np.asarray(raised / raised.sum())
