"""Context overlap: the share of the response that repeats the context; repetition can pass for relevance."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from benchmarks.dataset import Item
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models
from metrics.text.words import words


@dataclass(frozen=True, slots=True)
class ContextOverlap:
    """|words of the response that occur in the context| / |words of the response|."""

    card: ClassVar[MetricCard] = MetricCard(
        name="context-overlap", title="Context overlap", columns=("context-overlap",), family="control",
        needs=("context",), notes="Share of the response's words that occur in the context.", system="control",
    )

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return a share, 0 to 1; NaN without a context or for a response without words."""
        return {"context-overlap": np.array([_overlap(item) for item in items], dtype=np.float64)}


def _overlap(item: Item) -> float:
    context_words = {word for turn in item.context for word in words(turn.text, item.language)}
    response = words(item.response.text, item.language) if item.response else ()
    if not context_words or not response:
        return np.nan
    return sum(word in context_words for word in response) / len(response)
