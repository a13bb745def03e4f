"""BERT+DNN, a baseline of the DailyDialog++ paper (Sai et al. 2020): max-pooled states of a frozen encoder into a net.

v_c and v_r are the largest token states of context and response; a feed-forward net of three layers over [v_c ; v_r]
tells relevant responses of DailyDialog++ from those of other contexts, by cross entropy. In `small` the largest is
taken over the tokens of the last three utterances, and the net is 256 and 128 wide (512 and 128 would double the file);
the recipe `paper` has the net of the released code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from benchmarks.dataset import Item
from metrics.metric import Columns, MetricCard
from metrics.models.readings import Pair, pairs
from metrics.models.service import Models
from metrics.training.examples import Contrast, several
from metrics.training.recipe import Recipe, Split, Trainable, TrainingData


@dataclass(frozen=True, slots=True)
class BertDnn(Trainable):
    """σ(net([v_c ; v_r])), v the largest token states."""

    card: ClassVar[MetricCard] = MetricCard(
        name="bert-dnn", title="BERT+DNN", columns=("bert-dnn",), family="trained", needs=("context",),
        models=("encoder",), checkpoints=("bert-dnn",), paper="https://aclanthology.org/2020.tacl-1.52",
        trained_on="dailydialog_pp", system="same method, smaller model", fitted_on="dialogues", departures=(
            ("A frozen encoder of 22 M parameters in place of BERT; of the context the last three utterances, "
             "each read alone."),
            "A net 256 and 128 wide, where the paper does not say."))
    recipes: ClassVar[Mapping[str, Recipe]] = {
        "small": Recipe(("dailydialog_pp",), steps=1_500, architecture="stack"),
        "paper": Recipe(("dailydialog_pp",), steps=9_000, epochs=100, rate=1e-5, warmup=0.0, decay=1e-4, every=90,
                        patience=99, schedule="constant", encoder="bert-base-uncased", batch=512, architecture="layers",
                        network={"bilinear": False, "first": 256, "second": 512, "third": 128, "dropout": 0.1},
                        departures=(
            "A text that is too long loses its end; the released code keeps 128 and 30 tokens of the end.",
            "Labels stay with their vectors; the released code sorts one and not the other.",
            "The weights kept are those of the least held-out loss, not of the best accuracy."))}
    encoder: str = ""
    recipe: Literal["small", "paper"] = "small"

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return the probability that the response is relevant; NaN without a context."""
        return {"bert-dnn": self.scorer(models).probabilities(pairs(items))}

    def examples(self, data: TrainingData) -> Split:
        """Return each good response with its context."""
        return data.split(lambda dialogues: [
            Contrast(Pair(row.turns, text)) for row in several(dialogues) for text in row.good])
