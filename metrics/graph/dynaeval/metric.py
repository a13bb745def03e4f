"""DynaEval (Zhang et al. 2021): a dialogue as a graph of its utterances, trained to score it above a worse one.

    e = BiLSTM(u)                                                    u_i: the mean of utterance i's token states
    a_ij = softmax_j(e_iᵀ W_e e_j)                                   over the edges j → i, |i − j| ≤ window
    h'_i = ReLU(Σ_θ Σ_{j in S_i^θ} a_ij / |S_i^θ| · W'_θ e_j + a_ii W'_0 e_i)
    h_i = ReLU(Σ_j W'' h'_j + W''_0 h'_i)
    g_i = [h_i ; e_i];  o = Σ g_i / ‖Σ g_j‖;  s = FC(o)              loss: max(0, 1 − s(D) + s(D̄))

Nine relations θ: who speaks at i, who at j, which comes first, and i to itself. A third speaker counts as the second,
unless `speakers` says otherwise. Pooling: `unit` is the formula as printed, `mean` the words beside it, `max` and
`both` (mean and max) the paper's ablation.

Departures: the paper adapts a RoBERTa to the corpus; here the run's encoder is frozen, and its likeness of utterances
goes along the edges: a relation also brings the mean cosine of u_i and u_j. With `likeness=false` the formulas are as
they stand above, but for biases. Each u_i is brought to mean 0 and variance 1 before the
BiLSTM, and cosines are taken tenfold. The negatives are drawn anew at every step, where the paper keeps twenty of each
dialogue; 2,000 steps of 64 dialogues, where it has 20 epochs in batches of 512. AdamW with a linear fall of the rate,
and a dropout of 0.3, not 0.5. The paper gives no sizes; here they are 2 · 56 and 56.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import ClassVar, Literal

from benchmarks.dataset import Item
from metrics.errors import BadOption
from metrics.graph.dynaeval.data import SPEAKERS, Negatives, item_scores, objective
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models
from metrics.training.recipe import Objective, Recipe, TrainingData


@dataclass(frozen=True, slots=True)
class DynaEval:
    """The network's score of a dialogue, or of a context with its response; unbounded."""

    card: ClassVar[MetricCard] = MetricCard(
        name="dynaeval", title="DynaEval", columns=("dynaeval",), family="graph", levels=("turn", "dialogue"),
        models=("encoder",), checkpoints=("dynaeval",), paper="https://aclanthology.org/2021.acl-long.441",
        trained_on="empatheticdialogues", notes="Needs two utterances. Of a response: its context and itself.",
    )
    recipe: ClassVar[Recipe] = Recipe(("empatheticdialogues",), steps=2_000, rate=3e-3, every=250)
    variants: ClassVar[tuple[str, ...]] = ("negatives=ss",)
    encoder: str = ""
    negatives: Negatives = "ur"
    pooling: Literal["unit", "mean", "max", "both"] = "unit"
    window: int = 4
    speakers: int = SPEAKERS
    likeness: bool = True

    def __post_init__(self) -> None:
        if self.window < 1 or self.speakers < 1:
            raise BadOption(f"dynaeval: window and speakers are 1 or more, not {self.window} and {self.speakers}")

    @property
    def weights_name(self) -> str:
        """The checkpoint of these options: what differs from the defaults is in its name."""
        changed = [f"{field.name}-{value}".lower() for field in fields(self)
                   if field.name != "encoder" and (value := getattr(self, field.name)) != field.default]
        return "-".join(["dynaeval", *changed])

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """A real number, higher for a more coherent dialogue; NaN of fewer than two utterances."""
        from metrics.graph.dynaeval.network import DialogueGraph

        network = models.trained(self.weights_name, DialogueGraph, self.encoder)
        return {"dynaeval": item_scores(network, items, models.encoder(self.encoder), self.window, self.speakers)}

    def objective(self, data: TrainingData) -> Objective:
        """Score dialogues above worse ones, by a margin."""
        from metrics.graph.dynaeval.network import DialogueGraph

        options = {"speakers": self.speakers, "pooling": self.pooling, "likeness": self.likeness}
        return objective(data, self.negatives, DialogueGraph, self.window, self.speakers, options)
