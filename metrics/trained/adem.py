"""ADEM (Lowe et al. 2017): (cᵀMr + gᵀNr − α) / β, where c, g and r are vectors of context, reference and response.

Departures: the authors' weights are gone, and human scores are not trained on here. As in the DailyDialog++ paper the
target is 5 for a relevant response and 1 for that to another context, and the reference is another relevant response of
the same context; the score is brought to 0..1 by (s − 1) / 4 and not cut. Vectors are the run's encoder's instead of a
hierarchical recurrent one's, reduced to 50 dimensions by principal components, as there; a context is the mean of its
last three utterances, each weighing half of the one after it. α and β bring the scores before training into 1 to 5, as
there.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from benchmarks.dataset import Item
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models
from metrics.text.words import Aggregation
from metrics.trained.heads.data import Answers, answered
from metrics.trained.heads.table import against_references, network_scores
from metrics.training.recipe import Objective, Recipe, TrainingData

SIZE = 50
"""Principal components."""
SAMPLE = 20_000
"""Vectors that the principal components are computed from."""


@dataclass(frozen=True, slots=True)
class AdemMetric:
    """((cᵀMr + gᵀNr − α) / β − 1) / 4."""

    card: ClassVar[MetricCard] = MetricCard(
        name="adem", title="ADEM", columns=("adem",), family="trained", needs=("references",), models=("encoder",),
        checkpoints=("adem",), paper="https://aclanthology.org/P17-1103", trained_on="dailydialog_pp",
        system="another method", fitted_on="dialogues",
        departures=(
            "Trained on relevant and random responses, as 5 and 1, in place of human scores.",
            ("Vectors of a frozen encoder in place of a hierarchical recurrent one; a context is its last three "
             "utterances."),
        ),
    )
    recipes: ClassVar[Mapping[str, Recipe]] = {"small": Recipe(("dailydialog_pp",), steps=1_000, rate=3e-3)}
    encoder: str = ""
    references: Aggregation = "standard"

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Mostly 0 to 1; `standard` is `max`; NaN without a reference."""
        from metrics.trained.heads.networks import Adem

        network = models.trained("adem", Adem, self.encoder)
        return {"adem": against_references(
            items, models.encoder(self.encoder), self.references,
            lambda table, *rows: (network_scores(network, table, *rows) - 1) / 4)}

    def objective(self, data: TrainingData) -> Objective:
        """Come near 5 for good replies and 1 for those to other contexts, in square error."""
        from metrics.trained.heads.losses import five_or_one

        training, held = answered(data)
        rng = data.rng
        network, config = _network(training, rng)
        batches = [held.draw(rng) for _ in range(8)]
        return Objective(network, config, training.draw, batches, five_or_one)


def _network(answers: Answers, rng: np.random.Generator) -> tuple[Any, dict[str, float]]:
    """The network with its principal components, and with α and β such that it begins in 1 to 5."""
    import torch

    from metrics.trained.heads.networks import Adem, means

    replies = answers.table.tensor(rng.permutation(np.concatenate(answers.replies))[:SAMPLE])
    vectors = means(replies)
    size = min(SIZE, vectors.shape[1], len(vectors))
    axes = torch.linalg.svd(vectors - vectors.mean(0), full_matrices=False).Vh[:size].T

    def made(alpha: float, beta: float) -> Any:
        network = Adem(answers.table.width, size, alpha, beta)
        network.centre.copy_(vectors.mean(0))
        network.axes.copy_(axes)
        return network

    with torch.no_grad():
        context, reference, reply = answers.draw(rng, 1_024)
        plain = made(0.0, 1.0)
        raw = torch.cat([plain(context, reference, reply), plain(context, reference, reply.roll(1, 0))])
    low, high = (float(value) for value in torch.quantile(raw, torch.tensor([0.05, 0.95])))
    beta = max((high - low) / 4, 1e-6)
    config = {"width": answers.table.width, "size": size, "alpha": low - beta, "beta": beta}
    return made(low - beta, beta), config
