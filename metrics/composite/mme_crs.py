"""MME-CRS (Zhang et al. 2022), winner of DSTC10 Track 5: five groups of sub-metrics, mixed by Correlation Re-Scaling.

    S_j = sum over k of w_jk · s_k          for quality j, w_jk as in _rescaling.py

Fluency (mme-fm), relevance (mme-rm), topic coherence (mme-tcm), engagement (mme-em) and three of specificity (sm). Its
submissions 1 to 3 are `power=1`, `2` (which won, and is the default) and `3`; 4 is `power=auto`, and 5 the same with
`encoder=` a BERT. The challenge's test phase took one score per item, which the paper does not tell how to make of the
S_j: here it is their mean over the qualities of the dataset, `mme-crs-single`.

Departures: the paper sums the sub-metrics' scores as they are, a perplexity beside probabilities. Here each is first
brought to mean 0 and spread 1 over the development datasets, else the perplexity decides alone; `scale=none` does it
as printed. A quality that no development dataset has takes the weights of its kin (KIN in metrics/evidence.py), and a
development dataset those learned on the others. The paper names the correlation where it says what should lie between
1/3 and 1/2 for the best d; it is read as the weight, and d as a whole number. "Dialogues" that are drawn are items.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

from metrics.composite import _mme, _rescaling
from metrics.composition import Composition, Input, Table, named
from metrics.evidence import Evidence, Vector
from metrics.metric import MetricCard


@dataclass(frozen=True, slots=True)
class MmeCrs(Composition):
    """A score per quality, and one for all."""

    card: ClassVar[MetricCard] = MetricCard(
        name="mme-crs", title="MME-CRS", columns=("mme-crs", "mme-crs-single"), family="composite", needs=("context",),
        models=("encoder",), paper="https://arxiv.org/abs/2206.09403",
        notes="mme-crs has weights for each quality; mme-crs-single is one score per item.",
    )
    drawn: ClassVar[int] = _mme.DRAWN
    level_apart: ClassVar[bool] = False
    encoder: str = ""
    power: _rescaling.Power = "2"
    without: _mme.Without = "none"
    scale: Literal["standard", "none"] = "standard"
    in_sample: bool = False

    def made_of(self) -> tuple[Input, ...]:
        """The columns of its groups."""
        return named(_mme.names(self.without), encoder=self.encoder)

    def weights(self, evidence: Evidence, dimension: str) -> Vector:
        """Correlation Re-Scaling; the weights sum to 1."""
        return _rescaling.weights(evidence, dimension, self.power)

    def scaled(self, table: Table, evidence: Evidence) -> Table:
        """Spreads from the mean, or the scores as they are."""
        return table if self.scale == "none" else Composition.scaled(self, table, evidence)
