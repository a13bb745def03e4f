"""SM, the specificity of MME-CRS: how hard the response's tokens are to predict from each other (Zhang et al. 2022).

Each token of the response, without its context, is masked in turn, and p_i is its probability under a masked language
model. The paper leaves the formulas open. Signs are not flipped to agree with people: `sm-ll` and `sm-ppl` rise with
specificity, `sm-nce` with predictability, and MME-CRS gives weight 0 to columns that do not help. `sm-nce` and `sm-ppl`
rank items in opposite order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from benchmarks.dataset import Item
from metrics.metric import Columns, MetricCard
from metrics.models.masked import BY_LENGTH, FEW_COPIES, log_likelihoods
from metrics.models.service import Models


@dataclass(frozen=True, slots=True)
class Specificity:
    """LL = −Σ_i log p_i; NCE = 1/n · Σ_i log p_i; PPL = exp(−NCE)."""

    card: ClassVar[MetricCard] = MetricCard(
        name="sm", title="SM (MME-CRS specificity)", columns=("sm-ll", "sm-nce", "sm-ppl"), family="trained",
        models=("encoder",), checkpoints=("mlm",), paper="https://arxiv.org/abs/2206.09403",
        trained_on="dialogues of DailyDialog, EmpatheticDialogues, PersonaChat, Topical-Chat, Wizard of Wikipedia",
        notes="sm-ll and sm-ppl rise with specificity, sm-nce falls.",
        system="same method, smaller model", fitted_on="dialogues", revision=2, departures=(
            ("The masked model is this or the embedded encoder with adapters, not a SimCSE trained on DailyDialog; "
             "tokens are masked, not words."), FEW_COPIES))
    encoder: str = ""
    copies: int = BY_LENGTH

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return LL (at least 0), NCE (at most 0) and PPL (at least 1); NaN for a response without tokens."""
        tokens = log_likelihoods(items, models.masked(self.encoder), copies=self.copies)
        sums = np.array([values.sum(dtype=np.float64) for values in tokens], np.float64)
        counts = np.array([values.size for values in tokens], np.float64)
        means = sums / np.maximum(counts, 1)
        columns = {"sm-ll": -sums, "sm-nce": means, "sm-ppl": np.exp(-means)}
        return {name: np.where(counts > 0, column, np.nan) for name, column in columns.items()}
