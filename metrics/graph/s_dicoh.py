"""S-DiCoh (Mesgar et al. 2020, as DynaEval has it for a baseline): a dialogue as a sequence, not a graph.

    e = BiLSTM([u ; cos(u_i, u_{i−1})]);  a = softmax_i(vᵀ tanh(W e_i));  s = FC(Σ a_i e_i)
    loss: max(0, 1 − s(D) + s(D̄))

Departures: the original reads the words of an utterance with a BiLSTM and attention of its own; here u_i is the mean of
the token states of the run's encoder, which is frozen, and the cosine with the utterance before is given to it, as
DynaEval's edges have theirs, tenfold. Mesgar et al. also learn dialogue acts; the baseline does not. Vectors are
brought to scale, negatives drawn and steps counted as for DynaEval.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from benchmarks.dataset import Item
from metrics.graph.dynaeval.metric import SPEAKERS, Negatives, item_scores, ranking
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models
from metrics.training.recipe import Objective, Recipe, TrainingData

WINDOW = 0
"""No edges: a sequence has none."""


@dataclass(frozen=True, slots=True)
class SDiCoh:
    """The network's score of a dialogue, or of a context with its response; unbounded."""

    card: ClassVar[MetricCard] = MetricCard(
        name="s-dicoh", title="S-DiCoh", columns=("s-dicoh",), family="graph", levels=("turn", "dialogue"),
        models=("encoder",), checkpoints=("s-dicoh",), paper="https://aclanthology.org/2020.acl-main.133",
        trained_on="empatheticdialogues", notes="Needs two utterances. Of a response: its context and itself.",
        system="another method", fitted_on="dialogues",
        departures=(
            "Utterances are a frozen encoder's mean token states, not read word by word with attention.",
            "The cosine with the utterance before is given to the network.",
        ),
    )
    recipes: ClassVar[Mapping[str, Recipe]] = {
        "small": Recipe(("empatheticdialogues",), steps=2_000, rate=3e-3, every=250)}
    encoder: str = ""
    negatives: Negatives = "ur"

    @property
    def weights_name(self) -> str:
        """The checkpoint of these negatives."""
        return "s-dicoh" if self.negatives == "ur" else f"s-dicoh-negatives-{self.negatives}"

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """A real number, higher for a more coherent dialogue; NaN of fewer than two utterances."""
        from metrics.graph.dynaeval.network import DialogueSequence

        network = models.trained(self.weights_name, DialogueSequence, self.encoder)
        return {"s-dicoh": item_scores(network, items, models.encoder(self.encoder), WINDOW)}

    def objective(self, data: TrainingData) -> Objective:
        """Score dialogues above worse ones, by a margin."""
        from metrics.graph.dynaeval.network import DialogueSequence

        return ranking(data, self.negatives, DialogueSequence, WINDOW, SPEAKERS, {})
