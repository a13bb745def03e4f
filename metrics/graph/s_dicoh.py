"""S-DiCoh (Mesgar et al. 2020, as the baseline of DynaEval): a dialogue as a sequence, not a graph.

    e = BiLSTM([u ; cos(u_i, u_{i−1})]);  a = softmax_i(vᵀ tanh(W e_i));  s = FC(Σ a_i e_i)
    loss: max(0, 1 − s(D) + s(D̄))

In `small`, u_i is the mean of the token states of the run's encoder, and the cosine with the preceding utterance is
multiplied by 10; the rest is as in `dynaeval`. `recipe=paper` is the original network: GloVe vectors, a BiLSTM and
attention (softmax(vᵀ e)) over the words of each utterance, then over the utterances. Mesgar et al. also learn dialogue
acts; the baseline does not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from benchmarks.dataset import Item
from metrics.graph.dynaeval.dialogues import Negatives, Turns, of_items, ranking
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models
from metrics.models.vectors import WordVectors, from_encoder
from metrics.training.recipe import Objective, Trainable, TrainingData, recipes_of


@dataclass(frozen=True, slots=True)
class SDiCoh(Trainable):
    """An unbounded score of a dialogue, or of a context with its response."""

    recipes = recipes_of("s-dicoh")
    card = MetricCard(
        name="s-dicoh", title="S-DiCoh", columns=("s-dicoh",), family="graph", levels=("turn", "dialogue"),
        models=("encoder",), checkpoints=("s-dicoh",), paper="https://aclanthology.org/2020.acl-main.133",
        trained_on=", ".join(recipes["small"].corpora),
        notes="Needs two utterances. A response is scored as a dialogue with its context.",
        system="another method", fitted_on="dialogues", departures=(
            "Utterances are a frozen encoder's mean token states, not encoded word by word with attention.",
            "The cosine with the preceding utterance is an additional input."))
    encoder: str = ""
    negatives: Negatives = "ur"
    words: str = ""
    recipe: Literal["small", "paper"] = "small"

    def weights_options(self) -> Mapping[str, str]:
        return {"words": "" if self.words else "embeddings", "negatives": f"negatives-{self.negatives}"}

    def depends(self, models: Models) -> Mapping[str, str]:
        return {"vectors": models.identity("vectors", self.words)} if self.words else {}

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return a real number, higher for a more coherent dialogue; NaN for fewer than two utterances."""
        return {"s-dicoh": self.scorer(models).logits(of_items(items, words=self._words(models)))}

    def objective(self, data: TrainingData) -> Objective:
        words = self._words(data.models)
        return ranking(data, self.negatives, lambda utterances: Turns(utterances, words=words),
                       **({"width": words.width} if words else {}))

    def _words(self, models: Models) -> WordVectors | None:
        """Return the word vectors, by default the encoder's; None if the recipe uses vectors of utterances."""
        if "words" not in self.training.options:
            return None
        return models.vectors(self.words) if self.words else from_encoder(models.encoder(self.encoder))
