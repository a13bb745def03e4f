"""Repetition: the share of the system's bigrams that it has used before, negated so that higher is better.

A response is compared with itself and the system's earlier turns; in a whole dialogue, every turn of the system is.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

import numpy as np

from benchmarks.dataset import SYSTEM, Item
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models
from metrics.text.words import words


@dataclass(frozen=True, slots=True)
class Repetition:
    """- |bigrams that the system already used| / |bigrams of the judged turns|."""

    card: ClassVar[MetricCard] = MetricCard(
        name="repetition", title="Repetition", columns=("repetition",), family="control",
        levels=("turn", "dialogue"),
        notes="Share of the system's bigrams that it already used in the dialogue, negated.", system="control",
    )

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return a negated share, -1 to 0; NaN where no judged turn has two words."""
        return {"repetition": np.array([_negated_share(item) for item in items], dtype=np.float64)}


def _negated_share(item: Item) -> float:
    has_system = any(turn.speaker == SYSTEM for turn in item.utterances)
    # each turn, and whether it is judged
    turns = [(turn, item.response is None) for turn in item.context if turn.speaker == SYSTEM or not has_system]
    if item.response is not None:
        turns.append((item.response, True))
    used: set[tuple[str, str]] = set()
    repeats = total = 0
    for turn, judged in turns:
        for bigram in pairwise(words(turn.text, item.language)):
            total += judged
            repeats += judged and bigram in used
            used.add(bigram)
    return -repeats / total if total else np.nan
