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
from metrics.trained.heads.table import FIVE, TURNS, fill, items_table, network_scores, probabilities, stable
from metrics.trained.usr.data import fact_rows, sentences, usr_batches
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
        from metrics.trained.usr.network import Usr

        network = models.trained("usr", Usr, self.encoder)
        likely = mean_log_likelihoods(items, models.masked(self.encoder), "last")
        facts = [sentences(item.facts) for item in items]
        texts = (text for several in facts for text in several)
        table, contexts, replies = items_table(items, models.encoder(self.encoder), *texts)
        context = fill(contexts[:, 0] > 0,
                       lambda rows: network_scores(network.context, table, contexts[rows], replies[rows]))
        known = fact_rows(table, facts)
        fact = fill(known[:, 0] > 0, lambda rows: network_scores(network.fact, table, known[rows], replies[rows]))
        whole = np.where(np.isnan(fact), _regressed(network, likely, context),
                         _regressed(network, likely, context, fact))
        return {"usr": whole, "usr-mlm": likely, "usr-dr-c": context, "usr-dr-f": fact}

    def objective(self, data: TrainingData) -> Objective:
        """Find the own reply among those of a batch, by context and by facts, and weigh the sub-scores."""
        from metrics.trained.usr.network import Usr, loss

        batches = usr_batches(data)
        config = {"width": batches.width, "turns": TURNS}
        return Objective(Usr(**config), config, batches.draw, batches.held, loss)


def _regressed(network: Any, *columns: Column) -> Column:
    """The regression's probability from two or three sub-scores."""
    import torch

    scores, regression = torch.from_numpy(np.stack(columns, axis=1)), network.cpu().double()
    with torch.inference_mode():
        return probabilities(stable(np.arange(len(scores)), lambda rows: regression(scores[rows]).numpy()))
