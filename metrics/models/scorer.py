"""The interface through which metrics use a trained network of any architecture."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from metrics.column import Column
from metrics.errors import MetricError
from metrics.models.architectures import MODULES

if TYPE_CHECKING:
    from metrics.models.architectures.base import Architecture
    from metrics.models.encoder import Encoder


def find(name: str) -> type[Architecture]:
    from metrics.models.architectures.base import ARCHITECTURES

    for module in MODULES:
        if name not in ARCHITECTURES:
            importlib.import_module(module)
    if name not in ARCHITECTURES:
        raise MetricError(f"unknown architecture {name!r}; known: {', '.join(sorted(ARCHITECTURES))}")
    return ARCHITECTURES[name]


class Scorer:
    """Scores readings with the network of a checkpoint."""

    def __init__(self, network: Any, encoder: Encoder) -> None:
        self.network, self.encoder = network, encoder

    def logits(self, readings: Sequence[Any]) -> Column:
        """Return the logit of each reading, NaN for None: (readings,), or (readings, outputs) for several outputs."""
        rows = [row for row, reading in enumerate(readings) if reading is not None]
        outputs = self.network.outputs
        column = np.full((len(readings), outputs) if outputs > 1 else len(readings), np.nan)
        if rows:
            column[rows] = self.network.scores([readings[row] for row in rows], self.encoder)
        return column

    def probabilities(self, readings: Sequence[Any]) -> Column:
        return probabilities(self.logits(readings))


def probabilities(logits: Column) -> Column:
    """Return 1 / (1 + e^−logit)."""
    return np.asarray(0.5 * (1 + np.tanh(logits / 2)))
