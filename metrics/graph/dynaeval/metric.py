"""DynaEval (Zhang et al. 2021): a graph network over utterances, trained to score dialogues above perturbed ones.

    e = BiLSTM(u)                                                    u_i: the mean of utterance i's token states
    a_ij = softmax_j(e_iᵀ W_e e_j)                                   over the edges j → i, |i − j| ≤ window
    h'_i = ReLU(Σ_θ Σ_{j in S_i^θ} a_ij / |S_i^θ| · W'_θ e_j + a_ii W'_0 e_i)
    h_i = ReLU(Σ_j W'' h'_j + W''_0 h'_i)
    g_i = [h_i ; e_i];  o = Σ g_i / ‖Σ g_j‖;  s = FC(o)              loss: max(0, 1 − s(D) + s(D̄))

The nine relations θ depend on who speaks at i and at j and which comes first, plus one from i to itself. A third
speaker counts as the second, unless `speakers` says otherwise. Pooling: `unit` follows the paper's formula, `mean` its
text, `max` and `both` (mean and max) its ablation.

In `small`, messages also carry the mean cosine of u_i and u_j, multiplied by 10, unless `likeness=false`; each u_i is
standardised; AdamW with linear decay; sizes of 2 · 56 and 56, which the paper leaves open. `recipe=paper` follows the
paper and, where it is silent, the released code: there is no division by |S_i^θ|, and u_i covers the first 30 words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from benchmarks.dataset import Item
from metrics.errors import BadOption
from metrics.graph.dynaeval.dialogues import Negatives, Turns, of_items, ranking
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models
from metrics.training.recipe import Objective, Trainable, TrainingData, recipes_of


@dataclass(frozen=True, slots=True)
class DynaEval(Trainable):
    """An unbounded score of a dialogue, or of a context with its response."""

    recipes = recipes_of("dynaeval")
    card = MetricCard(
        name="dynaeval", title="DynaEval", columns=("dynaeval",), family="graph", levels=("turn", "dialogue"),
        models=("encoder",), checkpoints=("dynaeval",), paper="https://aclanthology.org/2021.acl-long.441",
        trained_on=", ".join(recipes["small"].corpora),
        notes="Needs two utterances. A response is scored as a dialogue with its context.",
        system="another method", fitted_on="dialogues", departures=(
            "A frozen encoder in place of a RoBERTa adapted to the corpus.",
            "Messages also carry the cosine of the utterances (turned off by likeness=false).",
            ("2,000 steps of 64 dialogues, negatives drawn anew, dropout 0.3; the paper has 20 epochs, twenty fixed "
             "negatives per dialogue, dropout 0.5.")))
    variants = ("negatives=ss",)
    encoder: str = ""
    negatives: Negatives = "ur"
    pooling: Literal["unit", "mean", "max", "both"] = "unit"
    window: int = 4
    speakers: int = 2
    likeness: bool = True
    recipe: Literal["small", "paper"] = "small"

    def __post_init__(self) -> None:
        if self.window < 1 or self.speakers < 1:
            raise BadOption(f"dynaeval: window={self.window}, speakers={self.speakers}: both must be at least 1")

    def weights_options(self) -> Mapping[str, str]:
        return {name: f"{name}-{getattr(self, name)}".lower()
                for name in ("negatives", "pooling", "window", "speakers", "likeness")}

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return a real number, higher for a more coherent dialogue; NaN for fewer than two utterances."""
        return {"dynaeval": self.scorer(models).logits(of_items(items, self.window))}

    def objective(self, data: TrainingData) -> Objective:
        return ranking(data, self.negatives, lambda utterances: Turns(utterances, self.window),
                       speakers=self.speakers, pooling=self.pooling, likeness=self.likeness)
