"""RUBER (Tao et al. 2018): similarity of the response to the reference, and its relatedness to the query.

Unreferenced: bidirectional GRUs encode query and reply; a network with a sigmoid over [q ; r ; qᵀMr] is trained to
score a true reply 0.5 above a random one (hinge loss). Referenced: the cosine of response and reference, each
represented by the concatenated maximum and minimum of its word vectors. `ruber` blends both. `size=large` is
RUBER-Large of the DailyDialog++ paper, with two layers, twice as wide (in `small`, 80 instead of 64).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks.dataset import Item
from metrics.metric import Column, Columns, MetricCard
from metrics.models.service import Models
from metrics.models.tokens import by_reference, pairs
from metrics.text.similarity import cosines
from metrics.text.words import Aggregation
from metrics.training.recipe import Trainable, TrainingData, recipes_of

Blend: TypeAlias = Literal["min", "mean", "geometric", "max"]
Vectors: TypeAlias = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Ruber(Trainable):
    """σ(net([q ; r ; qᵀMr])), and its blend with (1 + cos([max ; min] of r, of g)) / 2."""

    recipes = recipes_of("ruber")
    card = MetricCard(
        name="ruber", title="RUBER", columns=("ruber", "ruber-referenced", "ruber-unreferenced"), family="trained",
        models=("encoder",), checkpoints=("ruber",), paper="https://ojs.aaai.org/index.php/AAAI/article/view/11321",
        trained_on=", ".join(recipes["small"].corpora),
        notes="The unreferenced part needs a context, the referenced one a reference, their blend both.",
        system="same method, smaller model", fitted_on="dialogues", departures=(
            "GRUs 64 wide over the encoder's input embeddings; five corpora in place of 20 million pairs.",
            ("The query is the last 40 tokens of the last three utterances; cosines are scaled to 0..1 by "
             "(1 + cos) / 2, not by a dataset's extremes.")))
    encoder: str = ""
    size: Literal["base", "large"] = "base"
    blend: Blend = "mean"
    references: Aggregation = "standard"
    recipe: Literal["small", "paper"] = "small"

    def weights_options(self) -> Mapping[str, str]:
        return {"size": self.size}

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return three columns, 0 to 1."""
        encoder = models.encoder(self.encoder)
        table, tokens = encoder.embeddings(), encoder.tokenizer.plain
        relatedness = self.scorer(models).probabilities(pairs(items))
        similarity = referenced(items, lambda texts: extremes(tokens(texts), table), self.references)
        blend = blended(self.blend, similarity, relatedness)
        return dict(zip(self.card.columns, (blend, similarity, relatedness), strict=True))

    def network(self, data: TrainingData) -> Mapping[str, Any]:
        hidden = data.recipe.network.get("hidden", 40)
        return {"hidden": 2 * hidden, "layers": 2} if self.size == "large" else {}


def referenced(items: Sequence[Item], vectors: Callable[[Sequence[str]], Vectors], references: Aggregation) -> Column:
    """Return (1 + cos) / 2 of the vectors of response and reference: 0 to 1, NaN without a reference."""
    return (1 + by_reference(items, references, lambda rows: cosines(
        vectors([reference for _, reference, _ in rows]), vectors([response for *_, response in rows])))) / 2


def blended(blend: Blend, similarity: Column, relatedness: Column) -> Column:
    """Blend the referenced and the unreferenced part, 0 to 1; NaN where either is missing."""
    if blend == "mean":
        return (similarity + relatedness) / 2
    if blend == "geometric":
        return np.sqrt(similarity * relatedness)
    return {"min": np.minimum, "max": np.maximum}[blend](similarity, relatedness)


def extremes(tokens: Sequence[Sequence[int]], table: Vectors) -> Vectors:
    """Return the maximum and minimum of each dimension over each text's tokens: (texts, 2 · width); zeros if none."""
    vectors = np.zeros((len(tokens), 2 * table.shape[1]), dtype=np.float32)
    for row, ids in enumerate(tokens):
        if ids:
            vectors[row] = np.concatenate([table[ids].max(axis=0), table[ids].min(axis=0)])
    return vectors
