"""FineD-Eval (Zhang et al. 2022): coherence, likability and topic depth of a whole dialogue, and their mean.

Each sub-metric learns to prefer the better of two dialogues, max(0, −(s₊ − s₋) + 0.1), from pairs that strategies make
without human ratings. Both dialogues of a pair come from one randomly chosen corpus, so that the corpus does not reveal
the better one. They are scored separately. The ensemble is the mean of the sub-metrics; `fined-eval-multitask` has one
network. In `small`, a convolutional network reads the vectors of the utterances; training uses only the first 20
utterances of a dialogue. strategies.py makes the pairs.

The recipe `paper` encodes a dialogue as one sequence with RoBERTa, with </UTT> after each utterance: the mean of the
second-to-last layer's states, a linear layer, a sigmoid. It compares adjacent utterances only, takes dialogues with
little entailment as the better ones, and has no specificity.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from benchmarks.dataset import Item
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models
from metrics.models.tokens import dialogues
from metrics.trained.fined_eval.strategies import DIMENSIONS, prepare
from metrics.training.examples import Contrast
from metrics.training.recipe import Split, Trainable, TrainingData, recipes_of

PAIRS, HELD_OUT_PAIRS = 20_000, 1_000
"""Training and held-out pairs per dimension."""


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
        """Return pairs for the dimension of this part, or for all dimensions; a dimension's strategies alternate."""
        table, strategies = prepare(data)

        def contrasts(side: int, count: int) -> list[Contrast]:
            rng, rows = data.rng, []
            for output, dimension in enumerate([data.part] if data.part else DIMENSIONS):
                sides = [split[side] for name, split in strategies.items() if name.startswith(dimension)]
                for index in range(count):
                    better, worse = (tuple(table.texts[row] for row in dialogue)
                                     for dialogue in sides[index % len(sides)].draw(rng))
                    rows.append(Contrast(better, worse, output))
            return rows

        return contrasts(0, PAIRS), contrasts(1, HELD_OUT_PAIRS)
