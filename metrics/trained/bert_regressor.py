"""BERT regressor (Shimanaka et al. 2019) as the DailyDialog++ paper takes it: is the response like a good reply?

Reference and response are relevant replies to one context (label 1), or the response is one to another (label 0). The
recipe `paper` fine-tunes BERT on both texts in one sequence. `small` has the head of the same authors' RUSE,
[g ; r ; |g − r| ; g ∘ r], in a smaller space and with the cosine of both.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

from benchmarks.dataset import Item
from metrics.metric import Columns, MetricCard
from metrics.models.readings import Pair, by_reference
from metrics.models.service import Models
from metrics.text.words import Aggregation
from metrics.training.examples import Contrast, several
from metrics.training.recipe import Recipe, Split, Trainable, TrainingData


@dataclass(frozen=True, slots=True)
class BertRegressor(Trainable):
    """σ(net([g ; r ; |g − r| ; g ∘ r ; cos(g, r)]))."""

    card: ClassVar[MetricCard] = MetricCard(
        name="bert-regressor", title="BERT regressor", columns=("bert-regressor",), family="trained",
        needs=("references",), models=("encoder",), checkpoints=("bert-regressor",),
        paper="https://aclanthology.org/2020.tacl-1.52", trained_on="dailydialog_pp",
        notes="The response beside a reference; the context is not read.",
        system="another method", fitted_on="dialogues", departures=(
            ("RUSE's head on a frozen encoder, which reads each text alone; theirs fine-tunes BERT on both in "
             "one sequence."),))
    recipes: ClassVar[Mapping[str, Recipe]] = {
        "small": Recipe(("dailydialog_pp",), steps=1_500, architecture="likeness"),
        "paper": Recipe(("dailydialog_pp",), steps=3_000, epochs=3, rate=2e-5, warmup=0.1, every=400,
                        encoder="bert-base-uncased", batch=16, architecture="cross-encoder",
                        network={"hidden": 768}, departures=(
            "Sixteen right and wrong pairs each, 2e-5, 3 epochs: the settings of the first authors were not at hand.",
        ))}
    encoder: str = ""
    references: Aggregation = "standard"
    recipe: Literal["small", "paper"] = "small"

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return the probability that the response is relevant; `standard` is `max`; NaN without a reference."""
        scorer = self.scorer(models)
        return {"bert-regressor": by_reference(items, self.references, lambda rows: scorer.probabilities(
            [Pair((reference,), response) for _, reference, response in rows]))}

    def examples(self, data: TrainingData) -> Split:
        """Return each two good responses to one context, the first as the reference."""
        return data.split(lambda dialogues: [
            Contrast(Pair((reference,), response)) for row in several(dialogues)
            for reference, response in itertools.permutations(row.good, 2)])
