"""ADEM (Lowe et al. 2017): (cᵀMr + gᵀNr − α) / β, where c, g and r are vectors of context, reference and response.

Vectors are reduced to principal components. M and N are initialised to the identity, α and β such that scores start
between 1 and 5. The score is rescaled by (s − 1) / 4, without clipping. As in the DailyDialog++ paper, the target is 5
for a relevant response and 1 for a response to another context, and the reference is another relevant response to the
same context; if a corpus has ratings (`rated_responses`), they are the targets. In `small`, a context is the weighted
mean of its last three utterances; each weighs half as much as the next.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from benchmarks.dataset import Item
from metrics.errors import MetricError
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models
from metrics.models.tokens import Pair, by_reference, non_blank
from metrics.text.words import Aggregation
from metrics.training.examples import labelled_contexts, pick
from metrics.training.recipe import Dialogues, Split, Trainable, TrainingData, check_split, recipes_of


@dataclass(frozen=True, slots=True)
class AdemMetric(Trainable):
    """((cᵀMr + gᵀNr − α) / β − 1) / 4."""

    recipes = recipes_of("adem")
    card = MetricCard(
        name="adem", title="ADEM", columns=("adem",), family="trained", needs=("references",), models=("encoder",),
        checkpoints=("adem",), paper="https://aclanthology.org/P17-1103",
        trained_on=", ".join(recipes["small"].corpora), system="another method", fitted_on="dialogues", departures=(
            "Trained on relevant (5) and random (1) responses in place of human scores.",
            ("Vectors of a frozen encoder in place of a hierarchical recurrent one; only the last three utterances of "
             "the context.")))
    encoder: str = ""
    references: Aggregation = "standard"
    recipe: Literal["small", "paper"] = "small"

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return scores mostly from 0 to 1; `standard` means `max`; NaN without a reference."""
        scorer = self.scorer(models)
        contexts = [non_blank(turn.text for turn in item.context) for item in items]
        return {"adem": by_reference(items, self.references, lambda rows: (scorer.logits(
            [Pair(contexts[row], response, reference) for row, reference, response in rows]) - 1) / 4)}

    def examples(self, data: TrainingData) -> Split:
        examples = data.split(lambda dialogues: rated_replies(dialogues, data.rng))
        check_split("rated replies", *examples, "dailydialog_pp")
        return examples


def rated_replies(dialogues: Dialogues, rng: np.random.Generator) -> list[tuple[Pair, float]]:
    """Return pairs with targets: the rating if there is one, else 5 for a relevant response and 1 for a random one."""
    rows = [row for row in labelled_contexts(dialogues) if row.rated or len(row.good) > 1]
    if len(rows) < 2 and not all(row.rated for row in rows):
        raise MetricError("fewer than two contexts in the training or held-out dialogues have several good responses, "
                          "so none can lend a false one; add dailydialog_pp")
    examples = []
    for position, row in enumerate(rows):
        examples += [(Pair(row.turns, text, row.good[0]), rating) for text, rating in row.rated]
        for index, text in enumerate(() if row.rated else row.good):
            other = rows[(position + int(rng.integers(1, len(rows)))) % len(rows)]
            examples += [(Pair(row.turns, response, row.good[index - 1]), target)
                         for response, target in ((text, 5.0), (pick(other.good, rng), 1.0))]
    return examples
