"""BERT-RUBER (Ghazarian et al. 2019): RUBER on pooled contextual embeddings instead of word vectors and GRUs.

The unreferenced part is a small network over [q ; r ; qᵀMr], trained by cross entropy to separate each reply from a
reply of another dialogue. The referenced part is the cosine of the pooled embeddings of response and reference. In
`small`, mean and max pooling are concatenated, and M has low rank; `paper` pools as the paper's best model (max).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from benchmarks.dataset import Item
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models
from metrics.models.tokens import pairs
from metrics.text.words import Aggregation
from metrics.trained.ruber import Blend, blended, referenced
from metrics.training.recipe import Trainable, recipes_of


@dataclass(frozen=True, slots=True)
class BertRuber(Trainable):
    """σ(net([q ; r ; qᵀMr])), and its blend with (1 + cos(r, g)) / 2."""

    recipes = recipes_of("bert-ruber")
    card = MetricCard(
        name="bert-ruber", title="BERT-RUBER",
        columns=("bert-ruber", "bert-ruber-referenced", "bert-ruber-unreferenced"), family="trained",
        models=("encoder",), checkpoints=("bert-ruber",), paper="https://aclanthology.org/W19-2310",
        trained_on=", ".join(recipes["small"].corpora),
        notes="The unreferenced part needs a context, the referenced one a reference, their blend both.",
        system="same method, smaller model", fitted_on="dialogues", departures=(
            ("A frozen encoder of 22 M parameters in place of a frozen BERT; a query of three utterances in "
             "place of one, and the cosine with each as an extra input."),
            "Cosines are scaled to 0..1 by (1 + cos) / 2, not by a dataset's extremes."))
    encoder: str = ""
    blend: Blend = "mean"
    pooling: Literal["mean", "max"] = "mean"
    references: Aggregation = "standard"
    recipe: Literal["small", "paper"] = "small"

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return three columns, 0 to 1."""
        encoder = models.encoder(self.encoder)
        relatedness = self.scorer(models).probabilities(pairs(items))
        similarity = referenced(items, lambda texts: encoder.sentences(texts, self.pooling), self.references)
        blend = blended(self.blend, similarity, relatedness)
        return dict(zip(self.card.columns, (blend, similarity, relatedness), strict=True))
