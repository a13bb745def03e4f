"""USL-H (Phy et al. 2020): understandability, sensibleness and likability of a response, combined hierarchically.

U is valid-utterance prediction (VUP), which reads only the response and is trained on replies against copies with words
reordered, dropped or repeated. S is next-utterance prediction (NUP): true replies against others. L is the negative
log-likelihood of the response under a masked language model, clipped at the lower and upper quartile of replies and
scaled to 0..1. The composite is (U + U·S + U·S·L) / 3.

In the recipe `paper` VUP and NUP are a fine-tuned BERT each. In `small` NUP reads the last three utterances and the
pre-trained cosines, and is trained to find the true reply within a batch; its probability is then calibrated on one
false reply for each. The quartiles are computed on replies held out in training and stored with the weights, so that a
score depends on its item alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from benchmarks.dataset import Item
from metrics.metric import Column, Columns, MetricCard
from metrics.models.masked import BOUNDED, log_likelihoods
from metrics.models.readings import pairs, responses
from metrics.models.service import Models
from metrics.training.examples import FIVE, following, some_replies, whole_or_broken
from metrics.training.recipe import Recipe, Split, Trainable, TrainingData

REPLIES = 20_000
"""Replies that VUP is trained on."""
LIKELY = 500
"""Held-out replies whose likelihoods give the quartiles."""


@dataclass(frozen=True, slots=True)
class UslH(Trainable):
    """(U + U·S + U·S·L) / 3."""

    card: ClassVar[MetricCard] = MetricCard(
        name="usl-h", title="USL-H", columns=("usl-h", "usl-h-vup", "usl-h-nup", "usl-h-mlm"), family="trained",
        models=("encoder",), checkpoints=("usl-h-vup", "usl-h-nup", "mlm"), paper="https://aclanthology.org/2020.coling-main.368",
        trained_on=", ".join(FIVE),
        notes="usl-h and usl-h-nup need a context; usl-h-mlm rises with what is specific, and with length.",
        system="another method", fitted_on="dialogues", revision=2, departures=(
            "Heads on a frozen encoder, not a fine-tuned BERT; five corpora in place of DailyDialog.",
            "Quartiles are those of held-out replies of the training, not of the dataset scored.", BOUNDED))
    recipes: ClassVar[Mapping[str, Recipe]] = {
        "small": Recipe(FIVE, steps=1_000, rate=2e-3, losses=("retrieval", "contrast"), parts={
            "vup": {"architecture": "utterance-head", "losses": ("labelled",)},
            "nup": {"architecture": "calibrated-match", "network": {"turns": 3}}}),
        "paper": Recipe(("dailydialog",), steps=20_000, epochs=2, rate=1e-5, warmup=0.0, decay=1e-5, every=1_000,
                        schedule="constant", encoder="bert-base-uncased", batch=8, architecture="cross-encoder",
                        network={"dropout": 0.2, "pooling": "max"},
                        parts={"vup": {"losses": ("labelled",)}, "nup": {}}, departures=(
            "Likelihoods are those of the masked model `mlm` over the same encoder, not of a third BERT.",
            ("Wrong replies have words reordered, dropped or repeated as in MME-CRS; no right reply is reduced to its "
             "nouns, verbs and prepositions; responses are read whole, not 25 tokens."),
            "The composite is (U + U·S + U·S·L) / 3, where the released code has 0.33 U + 0.33 S + 0.34 S·L."))}
    encoder: str = ""
    recipe: Literal["small", "paper"] = "small"

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return four columns, 0 to 1; NaN without a context, or for a response without a token."""
        vup, nup = self.scorer(models, "vup"), self.scorer(models, "nup")
        valid, follows = vup.probabilities(responses(items)), nup.probabilities(pairs(items))
        unlikely = _unlikely(log_likelihoods(items, models.masked(self.encoder)))
        specific = specificity(unlikely, vup.network.low, vup.network.high)
        return {"usl-h": composite(valid, follows, specific), "usl-h-vup": valid, "usl-h-nup": follows,
                "usl-h-mlm": specific}

    def examples(self, data: TrainingData) -> Split:
        """Return whole replies, few of them without stop words, and corrupted ones; or each utterance in its place."""
        if data.part == "nup":
            return data.split(following)
        return data.split(lambda dialogues, count: whole_or_broken(dialogues, count, data.rng, 0.1),
                          (REPLIES, REPLIES // 10))

    def network(self, data: TrainingData) -> Mapping[str, Any]:
        """Return the quartiles of the negative log-likelihood of held-out replies, for VUP."""
        if data.part == "nup":
            return {}
        replies = some_replies(data.held_out(), LIKELY, data.rng)
        unlikely = _unlikely(data.models.masked(self.encoder).log_likelihoods([("", text.strip()) for text in replies]))
        low, high = np.nanpercentile(unlikely, [25, 75])
        return {"low": float(low), "high": float(max(high, low + 1e-6))}


def composite(valid: Column, follows: Column, specific: Column) -> Column:
    """Return (U + U·S + U·S·L) / 3: 0 for an invalid response; specificity counts only if the response follows."""
    whole: Column = valid * (1 + follows * (1 + specific)) / 3
    return whole


def specificity(unlikely: Column, low: float, high: float) -> Column:
    """Return the negative log-likelihood, cut at the quartiles, from 0 to 1."""
    return np.clip((unlikely - low) / (high - low), 0, 1)


def _unlikely(values: Sequence[Any]) -> Column:
    """Return the negative log-likelihood of each response; NaN for one without a token."""
    return np.array([-row.sum(dtype=np.float64) if row.size else np.nan for row in values], dtype=np.float64)
