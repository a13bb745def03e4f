"""Greedy Matching (Rus and Lintean, 2012) as Liu et al. (2016) compare responses by it.

Each word is matched with the most similar word of the other text, by cosine; the means over the words of either text
count alike. The scripts of Liu et al. take dot products, which are cosines for vectors of length 1. Words and unknown
words as for Embedding Average; `standard` is `max`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from benchmarks.dataset import Item
from metrics.embedding.embedding_average import DEPARTURES
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models
from metrics.models.vectors import WordVectors
from metrics.text.similarity import SoftMatches, Weighted
from metrics.text.words import Aggregation, over_references, sharing, unscored, words


@dataclass(frozen=True, slots=True)
class GreedyMatching:
    """½ · (mean over w in response of max over v in reference of cos(e(w), e(v)) + the same the other way round)."""

    card: ClassVar[MetricCard] = MetricCard(
        name="greedy-matching", title="Greedy Matching", columns=("greedy-matching",), family="embedding",
        needs=("references",), models=("vectors",), paper="https://aclanthology.org/W12-2018",
        system="same method, smaller model",
        departures=DEPARTURES,
    )
    vectors: str = ""
    references: Aggregation = "standard"

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return the mean cosine of greedily matched words, −1 to 1; NaN without a reference."""
        vectors = models.vectors(self.vectors)
        standing: Aggregation = "max" if self.references == "standard" else self.references
        [column] = unscored(1, len(items))
        for together, replies in sharing(items, standing):
            language = items[replies[0][0]].language
            matches = SoftMatches([_weighted(reference.text, vectors, language) for reference in together])
            for row, text in replies:
                precisions, recalls = matches.of(_weighted(text, vectors, language))
                column[row] = over_references(((precisions + recalls) / 2).tolist(), standing)
        return {"greedy-matching": np.clip(column, -1, 1)}


def _weighted(text: str, vectors: WordVectors, language: str) -> Weighted:
    """Return the vectors of a text's distinct known words and their shares; a zero vector for a text without any."""
    counts = Counter(word for word in words(text, language) if word in vectors)
    if not counts:
        return np.zeros((1, vectors.width), np.float32), np.zeros(1)
    times = np.array(list(counts.values()), dtype=np.float64)
    return vectors.of(counts), times / times.sum()
