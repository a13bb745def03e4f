"""USL-H (Phy et al. 2020): understandability, sensibleness and likability of a response, combined hierarchically.

U is valid-utterance prediction (VUP) from the response alone, trained on replies against copies with words reordered,
dropped or repeated. S is next-utterance prediction (NUP), trained on true replies against false ones. L is the negative
log-likelihood of the response under a masked language model, clipped at the lower and upper quartile of replies and
scaled to 0..1. The composite is (U + U·S + U·S·L) / 3.

In `small`, NUP learns to find the true reply within a batch, and to calibrate its probability with one false reply per
context. The quartiles are stored with the weights, so a score depends only on its item.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from benchmarks.dataset import Item
from metrics.metric import Column, Columns, MetricCard
from metrics.models.masked import FEW_COPIES, log_likelihoods
from metrics.models.service import Models
from metrics.models.tokens import pairs, responses
from metrics.training.examples import intact_or_corrupted, response_contrasts, sample_replies
from metrics.training.recipe import Split, Trainable, TrainingData, recipes_of

REPLIES = 20_000
"""Number of replies to train VUP on."""
QUARTILE_REPLIES = 500
"""Number of held-out replies from which the quartiles are computed."""


@dataclass(frozen=True, slots=True)
class UslH(Trainable):
    """(U + U·S + U·S·L) / 3."""

    recipes = recipes_of("usl-h")
    card = MetricCard(
        name="usl-h", title="USL-H", columns=("usl-h", "usl-h-vup", "usl-h-nup", "usl-h-mlm"), family="trained",
        models=("encoder",), checkpoints=("usl-h-vup", "usl-h-nup", "mlm"), paper="https://aclanthology.org/2020.coling-main.368",
        trained_on=", ".join(recipes["small"].corpora),
        notes="usl-h and usl-h-nup need a context; usl-h-mlm rises with specificity and with length.",
        system="another method", fitted_on="dialogues", revision=2, departures=(
            "Heads on a frozen encoder, not a fine-tuned BERT; five corpora in place of DailyDialog.",
            "Quartiles are those of held-out training replies, not of the scored dataset.", FEW_COPIES))
    encoder: str = ""
    recipe: Literal["small", "paper"] = "small"

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return four columns, 0 to 1; NaN without a context, or for a response without tokens."""
        vup, nup = self.scorer(models, "vup"), self.scorer(models, "nup")
        validity, relevance = vup.probabilities(responses(items)), nup.probabilities(pairs(items))
        surprisal = _surprisal(log_likelihoods(items, models.masked(self.encoder)))
        likability = specificity(surprisal, vup.network.low, vup.network.high)
        columns = composite(validity, relevance, likability), validity, relevance, likability
        return dict(zip(self.card.columns, columns, strict=True))

    def examples(self, data: TrainingData) -> Split:
        """Return intact and corrupted replies for VUP, replies with contexts for NUP."""
        if data.part == "nup":
            return data.split(response_contrasts)
        return data.split(lambda dialogues, count: intact_or_corrupted(dialogues, count, data.rng, 0.1),
                          (REPLIES, REPLIES // 10))

    def network(self, data: TrainingData) -> Mapping[str, Any]:
        """Return the quartiles of the negative log-likelihood of held-out replies, for VUP."""
        if data.part == "nup":
            return {}
        replies = sample_replies(data.held_out(), QUARTILE_REPLIES, data.rng)
        surprisal = _surprisal(
            data.models.masked(self.encoder).log_likelihoods([("", text.strip()) for text in replies]))
        low, high = np.nanpercentile(surprisal, [25, 75])
        return {"low": float(low), "high": float(max(high, low + 1e-6))}


def composite(validity: Column, relevance: Column, likability: Column) -> Column:
    """Return (U + U·S + U·S·L) / 3: 0 for an invalid response; likability counts only for a relevant one."""
    score: Column = validity * (1 + relevance * (1 + likability)) / 3
    return score


def specificity(surprisal: Column, low: float, high: float) -> Column:
    """Return the negative log-likelihood, clipped at the quartiles and scaled to 0..1."""
    return np.clip((surprisal - low) / (high - low), 0, 1)


def _surprisal(values: Sequence[Any]) -> Column:
    """Return the negative log-likelihood of each response; NaN if it has no tokens."""
    return np.array([-row.sum(dtype=np.float64) if row.size else np.nan for row in values], dtype=np.float64)
