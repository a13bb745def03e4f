"""Vector Extrema (Forgues et al., 2014), as used on responses by Liu et al. (2016).

Each dimension takes the value of largest magnitude over the words, sign included, as in the metric's scripts; some
papers define it as the maximum instead. If two values have equal magnitude, the positive one counts. Tokenisation
and unknown words are as in Embedding Average; `standard` means `max`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from benchmarks.dataset import Item
from metrics.embedding.embedding_average import DEPARTURES, pooled_cosines
from metrics.metric import Columns, MetricCard
from metrics.models.memory import Vectors
from metrics.models.service import Models
from metrics.text.words import Aggregation


@dataclass(frozen=True, slots=True)
class VectorExtrema:
    """cos(x(response), x(reference)),  x_d(text) = max_w e_d(w) if that ≥ |min_w e_d(w)|, else min_w e_d(w)."""

    card: ClassVar[MetricCard] = MetricCard(
        name="vector-extrema", title="Vector Extrema", columns=("vector-extrema",), family="embedding",
        needs=("references",), models=("vectors",), paper="https://aclanthology.org/D16-1230",
        system="same method, smaller model",
        departures=DEPARTURES,
    )
    vectors: str = ""
    references: Aggregation = "standard"

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return the cosine of the extreme values of the word vectors, −1 to 1; NaN without a reference."""
        def extrema(known_vectors: Vectors) -> Vectors:
            high, low = known_vectors.max(axis=0), known_vectors.min(axis=0)
            return np.asarray(np.where(high >= -low, high, low))

        return {"vector-extrema": pooled_cosines(items, self.references, models.vectors(self.vectors), extrema)}
