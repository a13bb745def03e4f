"""FineD-Eval (Zhang et al. 2022), multitask: one reader for coherence, likability and topic depth, a head for each.

The loss is the sum of the three, the score the mean of the heads. All else is as in `fined-eval`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from benchmarks.dataset import Item
from metrics.metric import Columns, MetricCard
from metrics.models import Models
from metrics.trained.fined_eval import CORPORA, RECIPE
from metrics.training import Objective, Recipe, TrainingData


@dataclass(frozen=True, slots=True)
class FinedEvalMultitask:
    """The mean of three heads on one reader, and the three."""

    card: ClassVar[MetricCard] = MetricCard(
        name="fined-eval-multitask", title="FineD-Eval (multitask)",
        columns=("fined-eval-multitask", "fined-eval-multitask-coherence", "fined-eval-multitask-likability",
                 "fined-eval-multitask-topic-depth"),
        family="trained", levels=("turn", "dialogue"), models=("encoder",), checkpoints=("fined-eval-multitask",),
        paper="https://aclanthology.org/2022.emnlp-main.220", trained_on=", ".join(CORPORA),
        notes="Of a response it reads the context and the response; needs two utterances.",
    )
    recipe: ClassVar[Recipe] = RECIPE
    encoder: str = ""

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Four columns, 0 to 1; NaN for fewer than two utterances, or a response without words."""
        from metrics.trained._fined_scoring import scored

        return scored(items, models, "fined-eval-multitask", self.encoder)

    def objective(self, data: TrainingData) -> Objective:
        """Prefer the better dialogue in each dimension, with one reader for all."""
        from metrics.trained._fined_training import objective

        return objective(data, shared=True)
