"""RUBER's two parts and their blends (Tao et al. 2018), which BERT-RUBER shares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Literal, TypeAlias

import numpy as np

from benchmarks.dataset import Item
from metrics.metric import Column
from metrics.models.memory import Vectors
from metrics.text.similarity import cosines
from metrics.text.words import Aggregation, over_references, sharing

Blend: TypeAlias = Literal["min", "mean", "geometric", "max"]
BLENDS: dict[str, Callable[[Column, Column], Column]] = {
    "min": np.minimum,
    "mean": lambda one, other: (one + other) / 2,
    "geometric": lambda one, other: np.sqrt(one * other),
    "max": np.maximum,
}


def blended(blend: Blend, referenced: Column, unreferenced: Column) -> Column:
    """Both parts as one, 0 to 1; NaN where either is missing."""
    return BLENDS[blend](referenced, unreferenced)


def referenced(items: Sequence[Item], vectors: Callable[[Sequence[str]], Vectors], references: Aggregation) -> Column:
    """(1 + cos) / 2 of the response's vector and its reference's: 0 to 1, NaN without a reference."""
    column = np.full(len(items), np.nan)
    for together, replies in sharing(items, "max" if references == "standard" else references):
        ours = vectors([reference.text for reference in together])
        theirs = vectors([text for _, text in replies])
        for (row, _), reply in zip(replies, theirs, strict=True):
            column[row] = (1 + over_references(cosines(ours, np.broadcast_to(reply, ours.shape)).tolist(),
                                               references)) / 2
    return column
