"""FineD-Eval (Zhang et al. 2022): coherence, likability and topic depth of a whole dialogue, and their mean.

Each sub-metric learns to prefer the better of two dialogues, max(0, −(s₊ − s₋) + 0.1), from pairs made without human
ratings. Coherence: utterances in order against shuffled ones, well against badly answered questions. Likability: few
contradictions against many, positive sentiment against none. Topic depth: utterances entailed by earlier ones against
others, rare words against common ones. The ensemble is the mean of the three; `fined-eval-multitask` has one network.

The recipe `paper` encodes a dialogue as one sequence with RoBERTa, with </UTT> after each utterance: the mean of the
second-to-last layer's states, a linear layer, a sigmoid. Topic depth has one strategy, in the opposite direction: few
entailed utterances against many.

In `small`, a convolutional network uses the vectors of the utterances. Both dialogues of a pair are scored separately,
so their order does not matter. Both are from the same corpus, chosen at random. Only the first 20 utterances of a
training dialogue are used. strategies.py makes the pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from benchmarks.dataset import Item
from metrics.metric import Columns, MetricCard
from metrics.models.readings import dialogues
from metrics.models.service import Models
from metrics.trained.fined_eval.strategies import preferences
from metrics.training.recipe import Split, Trainable, TrainingData, recipes_of


@dataclass(frozen=True, slots=True)
class FinedEvaluation(Trainable):
    """The mean of three sub-metrics, and each of them."""

    recipes = recipes_of("fined-eval")
    card = MetricCard(
        name="fined-eval", title="FineD-Eval (ensemble)",
        columns=("fined-eval", "fined-eval-coherence", "fined-eval-likability", "fined-eval-topic-depth"),
        family="trained", levels=("turn", "dialogue"), models=("encoder",),
        checkpoints=("fined-eval-coherence", "fined-eval-likability", "fined-eval-topic-depth"),
        paper="https://aclanthology.org/2022.emnlp-main.220", trained_on=", ".join(recipes["small"].corpora),
        notes="A response is scored as a dialogue with its context; needs two utterances.",
        system="another method", fitted_on="dialogues", departures=(
            "A convolution over frozen utterance vectors in place of a RoBERTa over all tokens.",
            "Judges of answers, inference and sentiment are heads on the same vectors in place of pretrained models.",
            ("The second strategy of likability and both of topic depth are this project's choice; five corpora in "
             "place of two."),
        ))
    encoder: str = ""
    recipe: Literal["small", "paper"] = "small"

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return four columns, 0 to 1; NaN for fewer than two utterances, or a response without words."""
        name, *dimensions = self.card.columns
        readings = dialogues(items)
        scores = np.column_stack([self.scorer(models, part).probabilities(readings)
                                  for part in self.training.parts or ("",)])
        return {name: scores.mean(1), **dict(zip(dimensions, scores.T, strict=True))}

    def examples(self, data: TrainingData) -> Split:
        return preferences(data)
