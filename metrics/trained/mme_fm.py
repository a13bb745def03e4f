"""FM, the fluency of MME-CRS (Zhang et al. 2022): is the response whole, or are its words shuffled, missing or
repeated?

Label 1: a reply of a corpus, unchanged or with every stop word deleted with probability 0.5. Label 0: all of its words
shuffled, or a share of them dropped, or spans of them repeated. Token vectors are max-pooled; the score is P(fluent).

Departures: the encoder is the run's, frozen, and the head has a hidden layer; the paper fine-tunes a SimCSE encoder.
The open shares are 15 to 50 % of the words dropped, 1 to 3 spans of 1 to 3 words repeated. Five corpora instead of
one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from benchmarks.dataset import Item
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models
from metrics.trained.heads.data import text_batches, whole_or_broken
from metrics.trained.heads.table import FIVE, response_probabilities
from metrics.training.recipe import Objective, Recipe, TrainingData

REPLIES = 20_000
"""Replies to train on; each is read twice, once for either label."""


@dataclass(frozen=True, slots=True)
class Fluency:
    """P(fluent | the largest token states of the response)."""

    card: ClassVar[MetricCard] = MetricCard(
        name="mme-fm", title="FM (MME-CRS fluency)", columns=("mme-fm",), family="trained", models=("encoder",),
        checkpoints=("mme-fm",), paper="https://arxiv.org/abs/2206.09403", trained_on=", ".join(FIVE),
        notes="The response alone; whole sentences against corrupted ones.",
        system="another method", fitted_on="dialogues",
        departures=(
            "A head on a frozen encoder, not a fine-tuned SimCSE; five corpora in place of one.",
        ),
    )
    recipes: ClassVar[Mapping[str, Recipe]] = {"small": Recipe(FIVE, steps=1_200)}
    encoder: str = ""

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """A probability, 0 to 1."""
        from metrics.trained.heads.networks import UtteranceHead

        network = models.trained("mme-fm", UtteranceHead, self.encoder)
        return {"mme-fm": response_probabilities(items, network, models.encoder(self.encoder))}

    def objective(self, data: TrainingData) -> Objective:
        """Classify whole and corrupted replies, by cross entropy."""
        from metrics.trained.heads.losses import labelled, shares
        from metrics.trained.heads.networks import UtteranceHead

        batches = text_batches(*whole_or_broken(data, REPLIES, shortened=0.5), data)
        return batches.objective(UtteranceHead, labelled, shares(batches.held, lambda network, batch: {
            "accuracy on what is held out": (network(batch[0]) > 0) == (batch[1] > 0.5)}), reads="max")
