"""BERT regressor (Shimanaka et al. 2019) as used in the DailyDialog++ paper: is the response like a good reply?

Label 1: reference and response are relevant replies to the same context. Label 0: they reply to different contexts. The
recipe `small` has the head of RUSE, by the same authors, with smaller vectors and the cosine of both texts.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from benchmarks.dataset import Item
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models
from metrics.models.tokens import Pair, by_reference
from metrics.text.words import Aggregation
from metrics.training.examples import Contrast, with_alternatives
from metrics.training.recipe import Split, Trainable, TrainingData, recipes_of


@dataclass(frozen=True, slots=True)
class BertRegressor(Trainable):
    """σ(net([g ; r ; |g − r| ; g ∘ r ; cos(g, r)]))."""

    recipes = recipes_of("bert-regressor")
    card = MetricCard(
        name="bert-regressor", title="BERT regressor", columns=("bert-regressor",), family="trained",
        needs=("references",), models=("encoder",), checkpoints=("bert-regressor",),
        paper="https://aclanthology.org/2020.tacl-1.52", trained_on=", ".join(recipes["small"].corpora),
        notes="Compares the response with a reference; ignores the context.",
        system="another method", fitted_on="dialogues", departures=(
            ("RUSE's head on a frozen encoder, which encodes the texts separately; the paper fine-tunes BERT on both "
             "as one sequence."),))
    encoder: str = ""
    references: Aggregation = "standard"
    recipe: Literal["small", "paper"] = "small"

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return the probability that the response is relevant; `standard` means `max`; NaN without a reference."""
        scorer = self.scorer(models)
        return {"bert-regressor": by_reference(items, self.references, lambda rows: scorer.probabilities(
            [Pair((reference,), response) for _, reference, response in rows]))}

    def examples(self, data: TrainingData) -> Split:
        """Return every ordered pair of good responses to a context, the first as the reference."""
        return data.split(lambda dialogues: [
            Contrast(Pair((reference,), response)) for row in with_alternatives(dialogues)
            for reference, response in itertools.permutations(row.good, 2)])
