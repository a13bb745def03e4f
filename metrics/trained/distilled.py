"""Distilled judge: a language model's answer to `judge:relevance`, predicted by a head on a frozen encoder.

It learns the answers of Qwen2.5-Coder-1.5B to true, false, damaged and generated replies to 1,176 contexts.
docs/judges.md compares it with the judge; `python -m tools.distil` makes its corpus.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from metrics.metric import MetricCard
from metrics.models.tokens import Pair
from metrics.training.examples import labelled_contexts
from metrics.training.recipe import Split, Trainable, TrainingData, recipes_of


@dataclass(frozen=True, slots=True)
class Distilled(Trainable):
    """The predicted rank of the judge's answer among its answers to the training replies, scaled to 0 to 1."""

    recipes = recipes_of("distilled")
    card = MetricCard(
        name="distilled", title="Distilled judge", columns=("distilled",), family="trained", needs=("context",),
        models=("encoder",), checkpoints=("distilled",), trained_on=", ".join(recipes["small"].corpora),
        system="baseline", fitted_on="dialogues",
        notes="Predicts the answers of judge:relevance by Qwen2.5-Coder-1.5B.")
    encoder: str = ""
    recipe: Literal["small"] = "small"

    def examples(self, data: TrainingData) -> Split:
        """Return each rated reply with its rating, scaled to 0 to 1."""
        return data.split(lambda dialogues: [(Pair(row.turns, text), (rating - 1) / 4)
                                             for row in labelled_contexts(dialogues) for text, rating in row.rated])
