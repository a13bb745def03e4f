"""BERT+DNN, a baseline of the DailyDialog++ paper (Sai et al. 2020): max-pooled states of a frozen encoder into a net.

v_c and v_r are the largest token states of context and response; a feed-forward net of three layers over [v_c ; v_r]
tells relevant responses of DailyDialog++ from those of other contexts, by cross entropy.

Departures: the encoder is the run's. Of the context the last three utterances are read, each alone, and the largest is
taken over all of their tokens. The net is 256 and 128 wide where the paper leaves it open (512 and 128 would double the
file).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from benchmarks.dataset import Item
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models
from metrics.trained.heads.data import answered, batches_of
from metrics.trained.heads.table import pair_probabilities
from metrics.training.recipe import Objective, Recipe, TrainingData


@dataclass(frozen=True, slots=True)
class BertDnn:
    """σ(net([v_c ; v_r])), v the largest token states."""

    card: ClassVar[MetricCard] = MetricCard(
        name="bert-dnn", title="BERT+DNN", columns=("bert-dnn",), family="trained", needs=("context",),
        models=("encoder",), checkpoints=("bert-dnn",), paper="https://aclanthology.org/2020.tacl-1.52",
        trained_on="dailydialog_pp",
        system="same method, smaller model", fitted_on="dialogues",
        departures=(
            ("A frozen encoder of 22 M parameters in place of BERT; of the context the last three utterances, "
             "each read alone."),
            "A net 256 and 128 wide, where the paper does not say.",
        ),
    )
    recipes: ClassVar[Mapping[str, Recipe]] = {"small": Recipe(("dailydialog_pp",), steps=1_500)}
    encoder: str = ""

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """The probability that the response is relevant, 0 to 1; NaN without a context."""
        from metrics.trained.heads.networks import Stack

        network = models.trained("bert-dnn", Stack, self.encoder)
        return {"bert-dnn": pair_probabilities(items, network, models.encoder(self.encoder))}

    def objective(self, data: TrainingData) -> Objective:
        """Classify each good reply and one to another context, by cross entropy."""
        from metrics.trained.heads.losses import accuracy, true_or_false, with_false
        from metrics.trained.heads.networks import Stack

        training, held = answered(data)
        batches = batches_of(training.table, training.pairs(), held.pairs(), data.rng)
        return batches.objective(Stack, true_or_false, accuracy(map(with_false, batches.held)))
