"""FineD-Eval (Zhang et al. 2022), multitask: one reader for coherence, likability and topic depth, a head for each.

The loss is the sum of the three, the score the mean of the heads. All else is as in `fined-eval`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from metrics.metric import MetricCard
from metrics.trained.fined_eval.metric import CORPORA, PAPER, FinedEvaluation
from metrics.training.recipe import Recipe


@dataclass(frozen=True, slots=True)
class FinedEvalMultitask(FinedEvaluation):
    """The mean of three heads on one reader, and the three."""

    card: ClassVar[MetricCard] = MetricCard(
        name="fined-eval-multitask", title="FineD-Eval (multitask)",
        columns=("fined-eval-multitask", "fined-eval-multitask-coherence", "fined-eval-multitask-likability",
                 "fined-eval-multitask-topic-depth"),
        family="trained", levels=("turn", "dialogue"), models=("encoder",), checkpoints=("fined-eval-multitask",),
        paper="https://aclanthology.org/2022.emnlp-main.220", trained_on=", ".join(CORPORA),
        notes="Of a response it reads the context and the response; needs two utterances.",
        system="another method", fitted_on="dialogues",
        departures=(
            "A convolution over frozen utterance vectors in place of a RoBERTa over all tokens.",
            "Judges of answers, inference and sentiment are heads on the same vectors in place of pretrained models.",
            "The second strategy of likability and both of topic depth were chosen here; five corpora in place of two.",
        ),
    )
    recipes: ClassVar[Mapping[str, Recipe]] = {"small": FinedEvaluation.recipes["small"], "paper": PAPER}
    shared: ClassVar[bool] = True
