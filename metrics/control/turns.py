"""Turns: the length of the dialogue. People talk longer with a system they like."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from benchmarks.dataset import Item
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models


@dataclass(frozen=True, slots=True)
class Turns:
    """Number of utterances; for a response, those of its context plus one."""

    card: ClassVar[MetricCard] = MetricCard(
        name="turns", title="Turns", columns=("turns",), family="control", levels=("dialogue",),
        notes="Number of utterances of the dialogue, or of the context and the response.", system="control",
    )

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return the number of utterances, 1 or more."""
        return {"turns": np.array([len(item.utterances) for item in items], dtype=np.float64)}
