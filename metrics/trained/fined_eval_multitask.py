"""FineD-Eval (Zhang et al. 2022), multitask: a shared network with heads for coherence, likability and topic depth.

The loss is the sum of the three heads' losses, the score the mean of their outputs; otherwise as `fined-eval`.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from metrics.trained.fined_eval.metric import FinedEvaluation
from metrics.training.recipe import recipes_of


@dataclass(frozen=True, slots=True)
class FinedEvalMultitask(FinedEvaluation):
    """The mean of three heads on a shared network, and each head."""

    card = dataclasses.replace(
        FinedEvaluation.card, name="fined-eval-multitask", title="FineD-Eval (multitask)",
        columns=("fined-eval-multitask", "fined-eval-multitask-coherence", "fined-eval-multitask-likability",
                 "fined-eval-multitask-topic-depth"), checkpoints=("fined-eval-multitask",))
    recipes = recipes_of("fined-eval-multitask")
