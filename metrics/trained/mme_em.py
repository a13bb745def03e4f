"""EM, the engagement of MME-CRS (Zhang et al. 2022): would people like to continue the conversation?

Token vectors are average-pooled and fed to a network with one hidden layer. It is trained by cross entropy with soft
labels: the rating of a conversation for each of the bot's utterances (of both sides if the bot is unknown), and
ratings of single utterances (Ghazarian et al. 2020). No rating is from an evaluation set.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from metrics.metric import MetricCard
from metrics.models.tokens import responses
from metrics.training.recipe import Dialogues, Split, Trainable, TrainingData, recipes_of

SCALES = (("eval_score", 1, 4), ("engagement", 0, 5))
"""Labels with the rating of a conversation, each with the scale's minimum and range."""


@dataclass(frozen=True, slots=True)
class Engagement(Trainable):
    """P(engaging | the mean token state of the response)."""

    recipes = recipes_of("mme-em")
    card = MetricCard(
        name="mme-em", title="EM (MME-CRS engagement)", columns=("mme-em",), family="trained", models=("encoder",),
        checkpoints=("mme-em",), paper="https://arxiv.org/abs/2206.09403",
        trained_on=", ".join(recipes["small"].corpora),
        notes="Uses the response alone; trained on human ratings of conversations with ConvAI2's bots.",
        system="another method", fitted_on="ratings", departures=(
            "A head on a frozen encoder, not a fine-tuned SimCSE.",
            "Ratings of ConvAI2 2018 and 202 rated utterances in place of 13,124 responses of ConvAI 2017."))
    encoder: str = ""
    recipe: Literal["small", "paper"] = "small"

    readings = staticmethod(responses)

    def examples(self, data: TrainingData) -> Split:
        return data.split(rated_utterances)


def rated_utterances(dialogues: Dialogues) -> list[tuple[str, float]]:
    """Return rated utterances, each with its rating scaled to 0 to 1."""
    rows = []
    for dialogue in dialogues:
        rating = next(((float(dialogue.labels[label]) - lowest) / span for label, lowest, span in SCALES
                       if dialogue.labels.get(label) is not None), None)
        if (engaging := dialogue.labels.get("engaging")) is not None:
            rows.append((dialogue.utterances[-1].text, float(engaging)))
        elif rating is not None:
            labels: Sequence[Mapping[str, Any]] = dialogue.labels.get("utterances") or ({},) * len(dialogue.utterances)
            rows += [(turn.text, rating) for turn, label in zip(dialogue.utterances, labels, strict=True)
                     if label.get("role") != "human" and turn.text.strip()]
    return rows
