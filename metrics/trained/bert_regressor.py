"""BERT regressor (Shimanaka et al. 2019) as the DailyDialog++ paper takes it: is the response like a good reply?

Reference and response are relevant replies to one context (label 1), or the response is one to another (label 0).

Theirs, and the recipe `paper`, fine-tune BERT on both texts in one sequence. Departures of `small`: the run's encoder
is frozen and reads each alone, and the head is that of the same authors' RUSE: [g ; r ; |g − r| ; g ∘ r], here in a
smaller space and with the cosine of both beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from benchmarks.dataset import Item
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models
from metrics.text.words import Aggregation, reply
from metrics.trained.heads.cross_encoder import text_pair_probabilities
from metrics.trained.heads.data import answered
from metrics.trained.heads.table import against_references, by_reference, network_scores, probabilities
from metrics.training import replies
from metrics.training.recipe import Objective, Recipe, Trainable, TrainingData


@dataclass(frozen=True, slots=True)
class BertRegressor(Trainable):
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
    recipes: ClassVar[Mapping[str, Recipe]] = {
        "small": Recipe(("dailydialog_pp",), steps=1_500),
        "paper": Recipe(("dailydialog_pp",), steps=3_000, epochs=3, rate=2e-5, warmup=0.1, every=400,
                        encoder="bert-base-uncased", batch=16, network={"hidden": 768}, departures=(
            "Sixteen right and wrong pairs each, 2e-5, 3 epochs: the settings of the first authors were not at hand.",
        ))}
    encoder: str = ""
    references: Aggregation = "standard"
    recipe: Literal["small", "paper"] = "small"

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """The probability that the response is relevant, 0 to 1; `standard` is `max`; NaN without a reference."""
        if self.recipe != "small":
            return {"bert-regressor": by_reference(items, self.references, lambda owner, texts: text_pair_probabilities(
                [(text, reply(items[row])) for row, text in zip(owner, texts, strict=True)], models,
                self.card.checkpoints[0], self.encoder))}
        from metrics.trained.heads.networks import Likeness

        network = models.trained("bert-regressor", Likeness, self.encoder)
        return {"bert-regressor": against_references(
            items, models.encoder(self.encoder), self.references,
            lambda table, _, reference, reply: probabilities(network_scores(network, table, reference, reply)))}

    def objective(self, data: TrainingData) -> Objective:
        """Classify a second good reply and one to another context, beside the first, by cross entropy."""
        if self.recipe != "small":
            return self._from_tokens(data)
        from metrics.trained.heads.losses import accuracy, true_or_false, with_false
        from metrics.trained.heads.networks import Likeness

        training, held = answered(data)
        config: dict[str, Any] = {"width": training.table.width}
        rng = data.rng
        batches = [held.draw(rng)[1:] for _ in range(8)]
        return Objective(Likeness(**config), config, lambda rng: training.draw(rng)[1:], batches, true_or_false,
                         accuracy(map(with_false, batches)))

    def _from_tokens(self, data: TrainingData) -> Objective:
        """The same, reference and response read as one sequence."""
        from metrics.training.tuned import Parts, contrasts

        training, held = (replies.answered(dialogues, 1, least=2) for dialogues in (data.dialogues(), data.held_out()))

        def examples(part: Sequence[replies.Answered], rng: np.random.Generator, many: int) -> list[Any]:
            chosen = rng.integers(len(part), size=many)
            pairs = []
            for row, false in zip(chosen, replies.others(part, chosen, rng), strict=True):
                reference, right = (part[row].good[place] for place in rng.permutation(len(part[row].good))[:2])
                pairs.append(((reference, right), (reference, false)))
            return pairs

        return contrasts(data, Parts(training, held, examples, sum(len(one.good) for one in training)))
