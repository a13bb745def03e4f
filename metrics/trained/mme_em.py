"""EM, the engagement of MME-CRS (Zhang et al. 2022): would people like to talk on with who says this?

Token vectors are average-pooled and read by a net with a hidden layer. It is trained by cross entropy against soft
labels: what people who talked with a bot gave the whole conversation, for each thing that the bot said, and what raters
said of single utterances (Ghazarian et al. 2020).

These are ConvAI's ratings, as in the paper, and none of an evaluation set. The paper's 13,124 responses of ConvAI 2017
are not to be had; in their place stand the conversations of ConvAI2 2018 with their score of 1 to 5, brought to 0..1,
and 202 utterances of DailyDialog that were judged engaging or not. Where a conversation does not say who of
the two is the bot, both sides count. Further departures: the encoder is the run's, frozen, not a fine-tuned SimCSE.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from benchmarks.corpora.corpora import Dialogue
from benchmarks.dataset import Item
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models
from metrics.trained.heads.data import text_batches
from metrics.trained.heads.table import response_probabilities
from metrics.training.recipe import Objective, Recipe, TrainingData


@dataclass(frozen=True, slots=True)
class Engagement:
    """P(engaging | the mean token state of the response)."""

    card: ClassVar[MetricCard] = MetricCard(
        name="mme-em", title="EM (MME-CRS engagement)", columns=("mme-em",), family="trained", models=("encoder",),
        checkpoints=("mme-em",), paper="https://arxiv.org/abs/2206.09403",
        trained_on="convai2_2018_human_bot, engagement_utterances",
        notes="The response alone; learnt from what people gave conversations with bots of ConvAI2.",
        system="another method", fitted_on="ratings",
        departures=(
            "A head on a frozen encoder, not a fine-tuned SimCSE.",
            "Ratings of ConvAI2 2018 and 202 judged utterances in place of 13,124 responses of ConvAI 2017.",
        ),
    )
    recipes: ClassVar[Mapping[str, Recipe]] = {
        "small": Recipe(("convai2_2018_human_bot", "engagement_utterances"), steps=1_000, rate=5e-4, every=50)}
    encoder: str = ""

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """A probability, 0 to 1."""
        from metrics.trained.heads.networks import UtteranceHead

        network = models.trained("mme-em", UtteranceHead, self.encoder)
        return {"mme-em": response_probabilities(items, network, models.encoder(self.encoder))}

    def objective(self, data: TrainingData) -> Objective:
        """Predict the share of the scale that an utterance got, by cross entropy."""
        from metrics.trained.heads.losses import labelled
        from metrics.trained.heads.networks import UtteranceHead

        batches = text_batches(list(_rated(data.dialogues())), list(_rated(data.held_out())), data)
        return batches.objective(UtteranceHead, labelled, reads="mean", dropout=0.3)


def _rated(dialogues: Iterable[Dialogue]) -> Iterator[tuple[str, float]]:
    """What bots said with the share of the scale that it got, and single utterances with theirs."""
    for dialogue in dialogues:
        engaging, score = dialogue.labels.get("engaging"), dialogue.labels.get("eval_score")
        if engaging is not None:
            yield dialogue.utterances[-1].text, float(engaging)
        elif score is not None:
            labels: Sequence[Mapping[str, Any]] = dialogue.labels.get("utterances") or ({},) * len(dialogue.utterances)
            for turn, label in zip(dialogue.utterances, labels, strict=True):
                if label.get("role") != "human" and turn.text.strip():
                    yield turn.text, (float(score) - 1) / 4
