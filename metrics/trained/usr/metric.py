"""USR (Mehri & Eskenazi 2020): likelihood, retrieval by context, retrieval by fact, and one score of all three.

`usr-mlm` is the mean log-likelihood per token of the response after the last utterance, by the masked language model.
`usr-dr-c` and `usr-dr-f` are logits that the response belongs to its context, and to its facts; the facts of an item
are split into sentences and the best of them count most. `usr` is the probability that the response is a true one.

Departures. The paper fits the regression that makes `usr` to human ratings, which this project forbids: here it is a
logistic regression that tells true replies of held-out dialogues from those of others, on the three sub-scores where
there are facts, on the first two elsewhere. The encoder is the run's, frozen, with small heads, instead of RoBERTa
fine-tuned on the target corpus; each head also has the pre-trained cosine as a feature. Retrieval is trained by
telling the own reply among all of a batch, not by one false reply for each. Facts are the persona of the speaker
(PersonaChat); Topical-Chat's are not to be had.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from benchmarks.dataset import Item
from metrics.metric import Column, Columns, MetricCard
from metrics.models.masked import mean_log_likelihoods
from metrics.models.service import Models
from metrics.trained.heads.facts import fact_rows, facts_table, sentences
from metrics.trained.heads.pairs import FIVE, TURNS, judged, probabilities, settled, where
from metrics.trained.usr.training import UsrBatches
from metrics.training.recipe import Objective, Recipe, TrainingData


@dataclass(frozen=True, slots=True)
class UsrMetric:
    """σ(w · (mlm, dr-c, dr-f) + b), and its three parts."""

    card: ClassVar[MetricCard] = MetricCard(
        name="usr", title="USR", columns=("usr", "usr-mlm", "usr-dr-c", "usr-dr-f"), family="trained",
        models=("encoder",), checkpoints=("usr", "mlm"), paper="https://aclanthology.org/2020.acl-main.64",
        trained_on=", ".join(FIVE),
        notes="All but usr-mlm need a context; usr-dr-f needs facts, and usr takes it in where there are some.",
    )
    recipe: ClassVar[Recipe] = Recipe(FIVE, steps=1_000, rate=2e-3)
    encoder: str = ""

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Four columns, of which `usr` is a probability; NaN without a context, or for dr-f without facts."""
        from metrics.trained.heads.networks import Usr

        network = models.trained("usr", Usr, self.encoder)
        likely = mean_log_likelihoods(items, models.masked(self.encoder), "last")
        facts = [sentences(item.facts) for item in items]
        table, contexts, replies = facts_table(items, facts, models.encoder(self.encoder))
        context = where(contexts[:, 0] > 0, lambda there: judged(network.context, table, contexts[there],
                                                                 replies[there]))
        rows = fact_rows(table, facts)
        fact = where(rows[:, 0] > 0, lambda there: judged(network.fact, table, rows[there], replies[there]))
        return {"usr": _whole(network, likely, context, fact), "usr-mlm": likely, "usr-dr-c": context,
                "usr-dr-f": fact}

    def objective(self, data: TrainingData) -> Objective:
        """Find the own reply among those of a batch, by context and by facts, and weigh the sub-scores."""
        from metrics.trained.heads.networks import Usr
        from metrics.trained.usr.training import loss

        batches = UsrBatches.of(data)
        config = {"width": batches.pairs.table.width, "turns": TURNS}
        return Objective(Usr(**config), config, batches.draw, batches.held_out(data.rng), loss)


def _whole(network: Any, likely: Column, context: Column, fact: Column) -> Column:
    """The regression's probability, with the fact where there is one."""
    import torch

    def regressed(*columns: Column) -> Column:
        given, regression = torch.from_numpy(np.stack(columns, axis=1)), network.cpu().double()
        with torch.inference_mode():
            return probabilities(settled(np.arange(len(given)), lambda rows: regression(given[rows]).numpy()))

    return np.where(np.isnan(fact), regressed(likely, context), regressed(likely, context, fact))
