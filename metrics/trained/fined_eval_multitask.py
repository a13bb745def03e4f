"""FineD-Eval (Zhang et al. 2022), multitask: a shared network with heads for coherence, likability and topic depth.

The loss is the sum of the three heads' losses, the score the mean of their outputs; otherwise as `fined-eval`.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from metrics.metric import MetricCard
from metrics.trained.fined_eval.metric import FinedEvaluation
from metrics.training.recipe import Recipe, recipes_of


@dataclass(frozen=True, slots=True)
class FinedEvalMultitask(FinedEvaluation):
    """The mean of three heads on a shared network, and each head."""

    card: ClassVar[MetricCard] = dataclasses.replace(
        FinedEvaluation.card, name="fined-eval-multitask", title="FineD-Eval (multitask)",
        columns=("fined-eval-multitask", "fined-eval-multitask-coherence", "fined-eval-multitask-likability",
                 "fined-eval-multitask-topic-depth"), checkpoints=("fined-eval-multitask",))
    recipes: ClassVar[Mapping[str, Recipe]] = recipes_of("fined-eval-multitask")
