"""Length: the number of words of the response. People often like the longer reply, and so do many metrics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from benchmarks.dataset import Item
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models
from metrics.text.words import words


@dataclass(frozen=True, slots=True)
class Length:
    """Number of words or non-blank characters of the response; longer counts as better."""

    card: ClassVar[MetricCard] = MetricCard(
        name="length", title="Length", columns=("length",), family="control",
        notes="Words of the response.", system="control",
    )
    unit: Literal["words", "characters"] = "words"

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return the number of words or characters, 0 or more."""
        counts = (self._count(item.response.text, item.language) if item.response else np.nan for item in items)
        return {"length": np.fromiter(counts, dtype=np.float64, count=len(items))}

    def _count(self, text: str, language: str) -> int:
        return len(words(text, language)) if self.unit == "words" else len("".join(text.split()))
