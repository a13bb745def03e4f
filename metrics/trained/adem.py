"""ADEM (Lowe et al. 2017): (cᵀMr + gᵀNr − α) / β, where c, g and r are vectors of context, reference and response.

Vectors are reduced by principal components, M and N begin as the identity, α and β bring the scores before training
into 1 to 5, and the score is brought to 0..1 by (s − 1) / 4 and not cut. As in the DailyDialog++ paper the target is 5
for a relevant response and 1 for that to another context, and the reference is another relevant response of the same
context; ratings are the targets where a corpus has them (`rated_responses`). In `small` a context is the mean of its
last three utterances, each weighing half of the one after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from benchmarks.dataset import Item
from metrics.metric import Columns, MetricCard
from metrics.models.readings import Pair, by_reference, spoken
from metrics.models.service import Models
from metrics.text.words import Aggregation
from metrics.training.examples import answered, drawn
from metrics.training.recipe import Dialogues, Recipe, Split, Trainable, TrainingData, check_parts


@dataclass(frozen=True, slots=True)
class AdemMetric(Trainable):
    """((cᵀMr + gᵀNr − α) / β − 1) / 4."""

    card: ClassVar[MetricCard] = MetricCard(
        name="adem", title="ADEM", columns=("adem",), family="trained", needs=("references",), models=("encoder",),
        checkpoints=("adem",), paper="https://aclanthology.org/P17-1103", trained_on="dailydialog_pp",
        system="another method", fitted_on="dialogues", departures=(
            "Trained on relevant and random responses, as 5 and 1, in place of human scores.",
            ("Vectors of a frozen encoder in place of a hierarchical recurrent one; a context is its last three "
             "utterances.")))
    recipes: ClassVar[Mapping[str, Recipe]] = {
        "small": Recipe(("dailydialog_pp",), steps=1_000, rate=3e-3, architecture="adem", losses=("rated",)),
        "paper": Recipe(("dailydialog_pp",), steps=200_000, epochs=200, rate=1e-3, warmup=0.0, decay=0.0, every=1_000,
                        patience=20, schedule="constant", batch=32, architecture="adem", losses=("rated",),
                        network={"size": 250, "whole": True, "penalty": 0.01}, departures=(
            "Vectors of a frozen encoder in place of VHRED's, whose weights are gone; a context is read as one text.",
            "Trained on relevant and random responses, as 5 and 1, but where the corpus has ratings.",
            "250 principal components as in DailyDialog++'s released code; the first paper's are `--set size=50`.",
            "AdamW at a constant 1e-3, whereas the rate of the released code is not known here."))}
    encoder: str = ""
    references: Aggregation = "standard"
    recipe: Literal["small", "paper"] = "small"

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return scores mostly of 0 to 1; `standard` is `max`; NaN without a reference."""
        scorer = self.scorer(models)
        contexts = [spoken(turn.text for turn in item.context) for item in items]
        return {"adem": by_reference(items, self.references, lambda rows: (scorer.logits(
            [Pair(contexts[row], response, reference) for row, reference, response in rows]) - 1) / 4)}

    def examples(self, data: TrainingData) -> Split:
        examples = data.split(lambda dialogues: rated_replies(dialogues, data.rng))
        check_parts("rated replies", *examples, take="dailydialog_pp")
        return examples


def rated_replies(dialogues: Dialogues, rng: np.random.Generator) -> list[tuple[Pair, float]]:
    """Return rated responses beside a good one; without ratings good ones as 5, and those of other contexts as 1."""
    rows = [row for row in answered(dialogues) if row.rated or len(row.good) > 1]
    examples = []
    for number, row in enumerate(rows):
        examples += [(Pair(row.turns, text, row.good[0]), rating) for text, rating in row.rated]
        for index, text in enumerate(() if row.rated else row.good):
            reference = row.good[index - 1]
            other = rows[(number + int(rng.integers(1, max(2, len(rows))))) % len(rows)]
            examples += [(Pair(row.turns, text, reference), 5.0),
                         (Pair(row.turns, drawn(other.good, rng), reference), 1.0)]
    return examples
