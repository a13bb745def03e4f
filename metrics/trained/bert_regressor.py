"""BERT regressor (Shimanaka et al. 2019) as the DailyDialog++ paper takes it: is the response like a good reply?

Reference and response are relevant replies to one context (label 1), or the response is one to another (label 0).

Departures: theirs fine-tunes BERT on both texts in one sequence; here the run's encoder is frozen and reads each
alone, and the head is that of the same authors' RUSE: [g ; r ; |g − r| ; g ∘ r], here in a smaller space and with the
cosine of both beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from benchmarks.dataset import Item
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models
from metrics.text.words import Aggregation
from metrics.trained.heads.data import answered
from metrics.trained.heads.table import against_references, network_scores, probabilities
from metrics.training.recipe import Objective, Recipe, TrainingData


@dataclass(frozen=True, slots=True)
class BertRegressor:
    """σ(net([g ; r ; |g − r| ; g ∘ r ; cos(g, r)]))."""

    card: ClassVar[MetricCard] = MetricCard(
        name="bert-regressor", title="BERT regressor", columns=("bert-regressor",), family="trained",
        needs=("references",), models=("encoder",), checkpoints=("bert-regressor",),
        paper="https://aclanthology.org/2020.tacl-1.52", trained_on="dailydialog_pp",
        notes="The response beside a reference; the context is not read.",
        system="another method", fitted_on="dialogues",
        departures=(
            ("RUSE's head on a frozen encoder, which reads each text alone; theirs fine-tunes BERT on both in "
             "one sequence."),
        ),
    )
    recipes: ClassVar[Mapping[str, Recipe]] = {"small": Recipe(("dailydialog_pp",), steps=1_500)}
    encoder: str = ""
    references: Aggregation = "standard"

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """The probability that the response is relevant, 0 to 1; `standard` is `max`; NaN without a reference."""
        from metrics.trained.heads.networks import Likeness

        network = models.trained("bert-regressor", Likeness, self.encoder)
        return {"bert-regressor": against_references(
            items, models.encoder(self.encoder), self.references,
            lambda table, _, reference, reply: probabilities(network_scores(network, table, reference, reply)))}

    def objective(self, data: TrainingData) -> Objective:
        """Classify a second good reply and one to another context, beside the first, by cross entropy."""
        from metrics.trained.heads.losses import accuracy, true_or_false, with_false
        from metrics.trained.heads.networks import Likeness

        training, held = answered(data)
        config: dict[str, Any] = {"width": training.table.width}
        rng = data.rng
        batches = [held.draw(rng)[1:] for _ in range(8)]
        return Objective(Likeness(**config), config, lambda rng: training.draw(rng)[1:], batches, true_or_false,
                         accuracy(map(with_false, batches)))
