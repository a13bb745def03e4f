"""FM, the fluency of MME-CRS (Zhang et al. 2022): is the response intact, or are words shuffled, missing or repeated?

Label 1: a reply from a corpus, with probability 0.5 without its stop words. Label 0: its words shuffled, 15 to 50 % of
them dropped, or 1 to 3 spans of 1 to 3 words repeated; the paper leaves these amounts open.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from metrics.metric import MetricCard
from metrics.models.tokens import responses
from metrics.training.examples import intact_or_corrupted
from metrics.training.recipe import Split, Trainable, TrainingData, recipes_of

REPLIES = 20_000
"""Number of training replies; each is used twice, once with each label."""


@dataclass(frozen=True, slots=True)
class Fluency(Trainable):
    """P(fluent | the max-pooled token states of the response)."""

    recipes = recipes_of("mme-fm")
    card = MetricCard(
        name="mme-fm", title="FM (MME-CRS fluency)", columns=("mme-fm",), family="trained", models=("encoder",),
        checkpoints=("mme-fm",), paper="https://arxiv.org/abs/2206.09403",
        trained_on=", ".join(recipes["small"].corpora),
        notes="Uses only the response; trained to tell intact replies from corrupted ones.",
        system="another method", fitted_on="dialogues", departures=(
            "A head on a frozen encoder, not a fine-tuned SimCSE; five corpora in place of one.",
            "Half of the intact replies lose all stop words; in the paper, each is deleted with probability 0.5."))
    encoder: str = ""
    recipe: Literal["small", "paper"] = "small"

    readings = staticmethod(responses)

    def examples(self, data: TrainingData) -> Split:
        return data.split(lambda dialogues, count: intact_or_corrupted(dialogues, count, data.rng, 0.5),
                          (REPLIES, REPLIES // 10))
