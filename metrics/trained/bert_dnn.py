"""BERT+DNN, a baseline of the DailyDialog++ paper (Sai et al. 2020): a network over max-pooled states of an encoder.

A feed-forward network of three layers over [v_c ; v_r] is trained by cross entropy to separate relevant responses of
DailyDialog++ from responses to other contexts. The recipe `paper` has the network of the released code.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from metrics.metric import MetricCard
from metrics.models.tokens import Pair
from metrics.training.examples import Contrast, with_alternatives
from metrics.training.recipe import Split, Trainable, TrainingData, recipes_of


@dataclass(frozen=True, slots=True)
class BertDnn(Trainable):
    """σ(net([v_c ; v_r])), where v_c and v_r are the max-pooled token states of context and response."""

    recipes = recipes_of("bert-dnn")
    card = MetricCard(
        name="bert-dnn", title="BERT+DNN", columns=("bert-dnn",), family="trained", needs=("context",),
        models=("encoder",), checkpoints=("bert-dnn",), paper="https://aclanthology.org/2020.tacl-1.52",
        trained_on=", ".join(recipes["small"].corpora),
        system="same method, smaller model", fitted_on="dialogues", departures=(
            ("A frozen encoder of 22 M parameters in place of BERT; only the last three utterances of the context, "
             "encoded separately."),
            "Layers 256 and 128 wide; the paper gives no sizes."))
    encoder: str = ""
    recipe: Literal["small", "paper"] = "small"

    def examples(self, data: TrainingData) -> Split:
        """Return each good response with its context."""
        return data.split(lambda dialogues: [
            Contrast(Pair(row.turns, text)) for row in with_alternatives(dialogues) for text in row.good])
