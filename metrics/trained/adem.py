"""ADEM (Lowe et al. 2017): (cᵀMr + gᵀNr − α) / β, where c, g and r are vectors of context, reference and response.

Vectors are reduced by principal components, M and N begin as the identity, α and β bring the scores before training
into 1 to 5, and the score is brought to 0..1 by (s − 1) / 4 and not cut. As in the DailyDialog++ paper the target is 5
for a relevant response and 1 for that to another context, and the reference is another relevant response of the same
context. The recipe `paper` takes ratings as targets where a corpus has them (`rated_responses`).

Departures: the authors' weights are gone, so that the vectors are the run's encoder's in place of a hierarchical
recurrent one's. In `small` a context is the mean of its last three utterances, each weighing half of the one after it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from benchmarks.dataset import Item
from metrics.errors import MetricError
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models
from metrics.text.words import Aggregation
from metrics.trained.heads.data import TrainingBatches, answered, drawn
from metrics.trained.heads.table import TextTable, against_references, network_scores
from metrics.training import replies
from metrics.training.recipe import Objective, Recipe, Trainable, TrainingData
from metrics.training.replies import Answered

SIZE = 50
"""Principal components."""
SAMPLE = 20_000
"""Vectors that the principal components are computed from."""
FIRST = 1_024
"""Triples whose scores before training give α and β."""


@dataclass(frozen=True, slots=True)
class AdemMetric(Trainable):
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
    recipes: ClassVar[Mapping[str, Recipe]] = {
        "small": Recipe(("dailydialog_pp",), steps=1_000, rate=3e-3),
        "paper": Recipe(("dailydialog_pp",), steps=200_000, epochs=200, rate=1e-3, warmup=0.0, decay=0.0, every=1_000,
                        patience=20, schedule="constant", batch=32, network={"size": 250}, departures=(
            "Vectors of a frozen encoder in place of VHRED's, whose weights are gone; a context is read as one text.",
            "Trained on relevant and random responses, as 5 and 1, but where the corpus has ratings.",
            "250 principal components as in DailyDialog++'s released code; the first paper's are `--set size=50`.",
            "AdamW at a constant 1e-3, whereas the rate of the released code is not known here."))}
    encoder: str = ""
    references: Aggregation = "standard"
    recipe: Literal["small", "paper"] = "small"

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Mostly 0 to 1; `standard` is `max`; NaN without a reference."""
        from metrics.trained.heads.networks import Adem

        network = models.trained(self.card.checkpoints[0], Adem, self.encoder)
        return {"adem": against_references(
            items, models.encoder(self.encoder), self.references,
            lambda table, *rows: (network_scores(network, table, *rows) - 1) / 4, whole=self.recipe != "small")}

    def objective(self, data: TrainingData) -> Objective:
        """Come near 5 for good replies and 1 for those to other contexts, or near ratings, in square error."""
        import torch

        from metrics.trained.heads.losses import five_or_one, near_ratings

        rng = data.rng
        if self.recipe != "small":
            batches = rated_batches(data)
            some = [batches.draw(rng) for _ in range(max(1, FIRST // data.recipe.batch))]
            *triple, _ = (torch.cat(parts) for parts in zip(*some, strict=True))
            network, config = _network(torch.cat([triple[0][:, 0], *triple[1:]]), triple, data.recipe.network["size"])
            return Objective(network, config, batches.draw, batches.held, near_ratings, rows=batches.rows)
        training, held = answered(data)
        sample = training.table.tensor(rng.permutation(np.concatenate(training.replies))[:SAMPLE])
        network, config = _network(sample, training.draw(rng, FIRST), SIZE)
        return Objective(network, config, training.draw, [held.draw(rng) for _ in range(8)], five_or_one)


def rated_batches(data: TrainingData) -> TrainingBatches:
    """Whole contexts (batch, 1, 2 · width), first good replies and other replies (batch, 2 · width), and their ratings.

    Where a context has no rated replies its other good ones have 5, and every second of these in a batch is replaced by
    one of another context, with 1.
    """
    import torch

    both = [[row for row in replies.answered(dialogues, replies.WHOLE, least=1) if row.rated or len(row.good) > 1]
            for dialogues in (data.dialogues(), data.held_out())]
    if not all(both):
        raise MetricError(f"the corpora have no contexts with several replies ({replies.GOOD}) or rated ones "
                          f"({replies.RATED}) to train on, or none held out; take dailydialog_pp")
    table = TextTable((text for rows in both for row in rows
                       for text in (row.context(), *row.good, *(text for text, _ in row.rated))), data.vectors)

    def examples(rows: Sequence[Answered]) -> list[Any]:
        every = [(row.context(), row.good[0], text, rating, not row.rated) for row in rows
                 for text, rating in row.rated or [(text, 5.0) for text in row.good[1:]]]
        said, references, texts, ratings, free = zip(*every, strict=True)
        return [table.rows(said)[:, None], table.rows(references), table.rows(texts), np.array(ratings), np.array(free)]

    def batch(part: list[Any], rng: np.random.Generator) -> tuple[Any, ...]:
        chosen, others = rng.integers(len(part[0]), size=(2, data.recipe.batch))
        said, references, texts, ratings, free = (values[chosen] for values in part)
        false = free & (rng.random(len(chosen)) < 0.5) & (part[0][others] != said)[:, 0]
        return (table.tensor(said), table.tensor(references), table.tensor(np.where(false, part[2][others], texts)),
                torch.tensor(np.where(false, 1.0, ratings), dtype=torch.float32))

    training, held = map(examples, both)
    return drawn(table, batch, (training, held), data.rng, rows=len(training[0]))


def _network(sample: Any, triple: Sequence[Any], most: float) -> tuple[Any, dict[str, float]]:
    """The network with the principal components of a sample, and with α and β such that it begins in 1 to 5."""
    import torch

    from metrics.trained.heads.networks import Adem, means

    vectors = means(sample)
    width = vectors.shape[1]
    size = min(int(most), width, len(vectors))
    axes = torch.linalg.svd(vectors - vectors.mean(0), full_matrices=False).Vh[:size].T

    def made(alpha: float, beta: float) -> Any:
        network = Adem(width, size, alpha, beta)
        network.centre.copy_(vectors.mean(0))
        network.axes.copy_(axes)
        return network

    with torch.no_grad():
        context, reference, reply = triple
        plain = made(0.0, 1.0)
        raw = torch.cat([plain(context, reference, reply), plain(context, reference, reply.roll(1, 0))])
    low, high = (float(value) for value in torch.quantile(raw, torch.tensor([0.05, 0.95])))
    beta = max((high - low) / 4, 1e-6)
    config = {"width": width, "size": size, "alpha": low - beta, "beta": beta}
    return made(low - beta, beta), config
