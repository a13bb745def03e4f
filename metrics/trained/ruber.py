"""RUBER (Tao et al. 2018): how like the reference is the response, and how related to what it answers?

Unreferenced: GRUs in both directions read query and reply, word by word; [q ; r ; qᵀMr] goes into a net with a
sigmoid, which is to give a true reply 0.5 more than a random one (hinge loss). Referenced: the cosine of the word
vectors of response and reference, their maximum and minimum over the words side by side. `ruber` is the blend of both.

`size=large` is RUBER-Large of the DailyDialog++ paper, with two layers and wider.

The recipe `paper` has the widths of the DailyDialog++ paper. Departures of `small`: word vectors are the frozen input
embeddings of the run's encoder, for its tokens, brought to 128 dimensions; the GRUs are 64 wide (80 if large), where
the DailyDialog++ paper has 1,024 (2,048) and 20 million pairs. The query is the last three utterances, the last 40
tokens of them. Cosines are brought to 0..1 by (1 + cos) / 2 and not by the least and largest of a dataset, so that a
score depends on its item alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal, TypeAlias

import numpy as np

from benchmarks.dataset import Item
from metrics.metric import Column, Columns, MetricCard
from metrics.models.memory import Vectors
from metrics.models.readings import pairs
from metrics.models.service import Models
from metrics.text.similarity import cosines
from metrics.text.words import Aggregation, over_references, sharing
from metrics.training.examples import FIVE, following
from metrics.training.recipe import Objective, Recipe, Trainable, TrainingData

if TYPE_CHECKING:
    from metrics.models.encoder import Encoder

Blend: TypeAlias = Literal["min", "mean", "geometric", "max"]


@dataclass(frozen=True, slots=True)
class Ruber(Trainable):
    """σ(net([q ; r ; qᵀMr])), and its blend with (1 + cos([max ; min] of r, of g)) / 2."""

    card: ClassVar[MetricCard] = MetricCard(
        name="ruber", title="RUBER", columns=("ruber", "ruber-referenced", "ruber-unreferenced"), family="trained",
        models=("encoder",), checkpoints=("ruber",), paper="https://ojs.aaai.org/index.php/AAAI/article/view/11321",
        trained_on=", ".join(FIVE),
        notes="The unreferenced part needs a context, the referenced one a reference, their blend both.",
        system="same method, smaller model", fitted_on="dialogues",
        departures=(
            "GRUs 64 wide over the encoder's input embeddings; five corpora in place of 20 million pairs.",
            ("The query is the last 40 tokens of three utterances; cosines are brought to 0..1 by (1 + cos) / 2, "
             "not by a dataset's extremes."),
        ),
    )
    recipes: ClassVar[Mapping[str, Recipe]] = {
        "small": Recipe(FIVE, steps=1_200, rate=1e-3, batch=64, margin=0.5, architecture="recurrent"),
        "paper": Recipe(("dailydialog", "dailydialog_pp"), steps=30_000, epochs=100, rate=1e-5, warmup=0.0, decay=1e-6,
                        every=300, schedule="constant", clip=10.0, batch=256, margin=0.5,
                        architecture="recurrent", network={"size": 300, "hidden": 1_024, "dropout": 0.5}, departures=(
            "Not pretrained on 20 million pairs of Reddit; words are the encoder's tokens with its input embeddings.",
            "The hinge loss of the first paper; the released code of the second has cross entropy.",
            "States of both directions stand side by side, each of its last token; that code adds those after padding.",
            "Cosines are brought to 0..1 by (1 + cos) / 2 and not by a dataset's extremes."))}
    encoder: str = ""
    size: Literal["base", "large"] = "base"
    blend: Blend = "mean"
    references: Aggregation = "standard"
    recipe: Literal["small", "paper"] = "small"

    @property
    def weights_name(self) -> str:
        return self.named("large" * (self.size == "large"))

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return three columns, 0 to 1."""
        encoder = models.encoder(self.encoder)
        related = models.scorer(self.weights_name, self.encoder).probabilities(pairs(items))
        alike = referenced(items, lambda texts: extremes(texts, encoder), self.references)
        return {"ruber": blended(self.blend, alike, related), "ruber-referenced": alike, "ruber-unreferenced": related}

    def objective(self, data: TrainingData) -> Objective:
        """Give a true reply more than that of another pair."""
        from metrics.training.objectives import contrast
        from metrics.training.tuned import built

        hidden = 2 * data.recipe.network.get("hidden", 40)
        built(data, **({"hidden": hidden, "layers": 2} if self.size == "large" else {}))
        return contrast(data, following(data.dialogues()), following(data.held_out()))


def referenced(items: Sequence[Item], vectors: Callable[[Sequence[str]], Vectors], references: Aggregation) -> Column:
    """(1 + cos) / 2 of the response's vector and its reference's: 0 to 1, NaN without a reference."""
    column = np.full(len(items), np.nan)
    for together, replies in sharing(items, "max" if references == "standard" else references):
        ours = vectors([reference.text for reference in together])
        theirs = vectors([text for _, text in replies])
        for (row, _), vector in zip(replies, theirs, strict=True):
            column[row] = (1 + over_references(cosines(ours, np.broadcast_to(vector, ours.shape)).tolist(),
                                               references)) / 2
    return column


def blended(blend: Blend, alike: Column, alone: Column) -> Column:
    """The referenced and the unreferenced part as one, 0 to 1; NaN where either is missing."""
    if blend == "mean":
        return (alike + alone) / 2
    if blend == "geometric":
        return np.sqrt(alike * alone)
    return np.minimum(alike, alone) if blend == "min" else np.maximum(alike, alone)


def extremes(texts: Sequence[str], encoder: Encoder) -> Vectors:
    """Return the maximum and minimum of each dimension over the tokens: (texts, 2 · width); zeros without a token."""
    table = encoder.embeddings()
    vectors = np.zeros((len(texts), 2 * table.shape[1]), dtype=np.float32)
    for row, tokens in enumerate(encoder.tokenizer.plain(texts)):
        if tokens:
            vectors[row] = np.concatenate([table[tokens].max(axis=0), table[tokens].min(axis=0)])
    return vectors
