"""My metric: the share of the response's words that are new in the dialogue."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from benchmarks.dataset import Item
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models
from metrics.text.words import reply, words


@dataclass(frozen=True, slots=True)
class MyMetric:
    """New words / words."""

    card: ClassVar[MetricCard] = MetricCard(
        name="my-metric", title="My metric", columns=("my-metric",), family="plug-in",
        notes="Share of the response's words that are new in the dialogue.")
    distinct: bool = False  # an option: harness run --metric "my-metric[distinct=true]"

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return a share, 0 to 1; NaN for a response without a word."""
        return {"my-metric": np.array([self._share(item) for item in items])}

    def _share(self, item: Item) -> float:
        before = {word for turn in item.context for word in words(turn.text)}
        response = words(reply(item))
        if self.distinct:
            response = list(dict.fromkeys(response))
        return sum(word not in before for word in response) / len(response) if response else np.nan
