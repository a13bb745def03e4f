"""Greedy Matching (Rus and Lintean, 2012), as used on responses by Liu et al. (2016).

Each word is matched with the most similar word of the other text, by cosine; the score is the average of the two texts'
means over their words. The scripts of Liu et al. use dot products, which are cosines only if the vectors have length
1; nlg-eval uses cosines, as here. Words and unknown words are treated as in Embedding Average; `standard` means `max`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

import numpy as np

from benchmarks.dataset import Item
from metrics.embedding.embedding_average import DEPARTURES
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models
from metrics.models.vectors import WordVectors
from metrics.text.similarity import WeightedVectors, soft_match, unit
from metrics.text.words import Aggregation, against_references, words


@dataclass(frozen=True, slots=True)
class GreedyMatching:
    """½ · (mean over w in response of max over v in reference of cos(e(w), e(v)) + the same with both exchanged)."""

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
        known = partial(_known_words, models.vectors(self.vectors))
        return {"greedy-matching": np.clip(against_references(items, self.references, known, _matching_score), -1, 1)}


def _known_words(vectors: WordVectors, text: str, language: str) -> WeightedVectors:
    """Return the unit vectors of a text's distinct known words, and the weight of each in the mean."""
    counts = Counter(word for word in words(text, language) if word in vectors)
    weights = np.array(list(counts.values()), dtype=np.float64)
    return unit(vectors.of(counts)), weights / max(1, weights.sum())


def _matching_score(response: WeightedVectors, reference: WeightedVectors) -> float:
    # einsum, because a threaded matrix product of this size is slower, and its rounding depends on the size and
    # would break ties between equal scores
    cosines = np.einsum("ik,jk->ij", response[0], reference[0]).astype(np.float64)
    return sum(soft_match(cosines, response[1], reference[1])) / 2
