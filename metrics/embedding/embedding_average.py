"""Embedding Average (Landauer and Dumais, 1997; Wieting et al., 2016), as used on responses by Liu et al. (2016).

Words are lower-cased and without punctuation (metrics/text/words.py). nlg-eval uses NLTK's tokens and gives an unknown
word the mean of all vectors; here, as in the scripts of Liu et al., unknown words are skipped. A text without known
words scores 0. `standard` means `max`, the best reference, as in nlg-eval.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from benchmarks.dataset import Item
from metrics.metric import Column, Columns, MetricCard
from metrics.models.memory import Vectors
from metrics.models.service import Models
from metrics.models.vectors import WordVectors
from metrics.text.similarity import cosines
from metrics.text.words import Aggregation, against_references, words

DEPARTURES = (
    ("Uses the encoder's input embeddings unless vectors are given; unknown words are skipped, whereas nlg-eval gives "
     "them the mean vector."),
)
"""Departures shared by the metrics that compare word vectors."""


@dataclass(frozen=True, slots=True)
class EmbeddingAverage:
    """cos(ē(response), ē(reference)),  ē(text) = 1/n · Σ e(w) over its n known words."""

    card: ClassVar[MetricCard] = MetricCard(
        name="embedding-average", title="Embedding Average", columns=("embedding-average",), family="embedding",
        needs=("references",), models=("vectors",), paper="https://aclanthology.org/D16-1230",
        system="same method, smaller model",
        departures=DEPARTURES,
    )
    vectors: str = ""
    references: Aggregation = "standard"

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return the cosine of the mean word vectors, −1 to 1; NaN without a reference."""
        return {"embedding-average": pooled_cosines(items, self.references, models.vectors(self.vectors),
                                                    lambda known_vectors: np.asarray(known_vectors.mean(axis=0)))}


def pooled_cosines(items: Sequence[Item], references: Aggregation, vectors: WordVectors,
                   pool: Callable[[Vectors], Vectors]) -> Column:
    """Return the cosine of response and reference, each text pooled from its word vectors; NaN without a reference."""
    def text_vector(text: str, language: str) -> Vectors:
        known_vectors = vectors.of(words(text, language))
        return pool(known_vectors) if len(known_vectors) else np.zeros(vectors.width, dtype=np.float32)

    def cosine(response: Vectors, reference: Vectors) -> float:
        return float(cosines(response, reference))

    return np.asarray(np.clip(against_references(items, references, text_vector, cosine), -1, 1))
