"""FM, the fluency of MME-CRS (Zhang et al. 2022): is the response whole, or are its words shuffled, missing or
repeated?

Label 1: a reply of a corpus, unchanged or with every stop word deleted with probability 0.5. Label 0: all of its words
shuffled, or a share of them dropped, or spans of them repeated. Token vectors are max-pooled; the score is P(fluent).

The open shares are 15 to 50 % of the words dropped, 1 to 3 spans of 1 to 3 words repeated. Departures of `small`: the
encoder is the run's, frozen, and the head has a hidden layer; the paper fine-tunes a SimCSE encoder, as the recipe
`paper` does. Five corpora instead of one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from benchmarks.dataset import Item
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models
from metrics.trained.heads import cross_encoder, table
from metrics.trained.heads.data import CORRUPTIONS, some_replies, text_batches, whole_or_broken
from metrics.trained.heads.table import FIVE
from metrics.training import negatives
from metrics.training.recipe import Objective, Recipe, Trainable, TrainingData

REPLIES = 20_000
"""Replies to train on; each is read twice, once for either label."""
PAPER = Recipe(
    ("dailydialog",), steps=20_000, epochs=10, rate=1e-5, warmup=0.0, schedule="constant", every=1_000,
    encoder="princeton-nlp/sup-simcse-bert-base-uncased@refs/pr/4", batch=16, departures=(
        "Sixteen right and wrong examples each, 10 epochs at most, 128 tokens, SimCSE's BERT: the paper does not say.",
    ))


@dataclass(frozen=True, slots=True)
class Fluency(Trainable):
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
    recipes: ClassVar[Mapping[str, Recipe]] = {"small": Recipe(FIVE, steps=1_200), "paper": PAPER}
    encoder: str = ""
    recipe: Literal["small", "paper"] = "small"

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """A probability, 0 to 1."""
        read = table if self.recipe == "small" else cross_encoder
        return {"mme-fm": read.response_probabilities(items, models, self.card.checkpoints[0], self.encoder)}

    def objective(self, data: TrainingData) -> Objective:
        """Classify whole and corrupted replies, by cross entropy."""
        if self.recipe != "small":
            return self._from_tokens(data)
        from metrics.trained.heads.losses import labelled, shares
        from metrics.trained.heads.networks import UtteranceHead

        batches = text_batches(*whole_or_broken(data, REPLIES, shortened=0.5), data)
        return batches.objective(UtteranceHead, labelled, shares(batches.held, lambda network, batch: {
            "accuracy on what is held out": (network(batch[0]) > 0) == (batch[1] > 0.5)}), reads="max")

    def _from_tokens(self, data: TrainingData) -> Objective:
        """Tell whole replies from corrupted ones, whose max-pooled states a linear layer reads."""
        from metrics.training.tuned import Parts, contrasts

        training, held = (some_replies(dialogues, None, data.rng) for dialogues in (data.dialogues(), data.held_out()))
        return contrasts(data, Parts(training, held, whole_and_broken, len(training) // 2), pooling="max")


def whole_and_broken(texts: Sequence[str], rng: np.random.Generator, many: int) -> list[Any]:
    """Replies as they are or without some stop words, and others corrupted."""
    pairs = []
    for row, other in rng.integers(len(texts), size=(many, 2)):
        whole = texts[row] if rng.random() < 0.5 else negatives.without_stop_words(texts[row], rng, 0.5)
        pairs.append((whole, CORRUPTIONS[int(rng.integers(len(CORRUPTIONS)))](texts[other], rng)))
    return pairs
