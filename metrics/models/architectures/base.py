"""The registry of architectures, and the base class of networks that score texts, pairs or dialogues (readings)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar

import numpy as np
import torch
from torch import nn

from metrics.column import Column
from metrics.models.encoder import Encoder
from metrics.models.memory import Vectors
from metrics.models.text_table import TextTable

BLOCK = 256
"""Readings per forward pass."""
DECIMALS = 6
"""Decimals of a logit; rounding makes equal readings in different batches tie."""
ARCHITECTURES: dict[str, type[Architecture]] = {}


class Architecture(nn.Module):
    """A network that turns readings (texts, pairs, dialogues or others) into logits.

    `inputs` turns readings into tensors, `forward` turns these into logits. `depth` is the encoder layer to use, 0 for
    the last. `settings` are those of a recipe that not every architecture uses. A subclass is registered under its
    `name`.
    """

    name: ClassVar[str]
    settings: ClassVar[tuple[str, ...]] = ("batch", "margin")
    outputs: int = 1
    depth: int = 0

    def __init_subclass__(cls, name: str = "") -> None:
        if name:
            cls.name, ARCHITECTURES[name] = name, cls

    @classmethod
    def table(cls, encoder: Encoder, encode: Callable[[Sequence[str]], Vectors] | None = None) -> Any:
        """Return an empty cache of the encoder's output; its method `add` encodes texts."""
        return TextTable((), encode or encoder.means_and_maxima)

    def texts(self, reading: Any) -> Iterable[str]:
        """Return the texts of a reading that have to be encoded."""
        return ()

    def inputs(self, readings: Sequence[Any], table: Any) -> tuple[Any, ...]:
        """Return the input tensors of readings whose texts are in the table."""
        raise NotImplementedError

    def begin(self, *inputs: Any) -> dict[str, Any]:
        """Initialise from the first batch; return the constructor arguments that this changes."""
        return {}

    def extra_loss(self) -> Any:
        """Return a term that training adds to the loss of the latest logits."""
        return 0.0

    def encoder_name(self, encoder: str, weights: str) -> str:
        """Return the name of the encoder to use: `encoder`, or its version fine-tuned by checkpoint `weights`."""
        return encoder

    def scores(self, readings: Sequence[Any], encoder: Encoder) -> Column:
        """Return the logits of the readings: (readings,), or (readings, outputs)."""
        table = self.table(encoder)
        table.add(text for reading in readings for text in self.texts(reading))
        return self.logits(readings, table)

    def logits(self, readings: Sequence[Any], table: Any) -> Column:
        """Return the logits of readings whose texts are in the table."""
        device = next(self.parameters()).device
        return self.by_block(readings, lambda rows: self(*(
            part.to(device) for part in self.inputs([readings[row] for row in rows], table))))

    def by_block(self, readings: Sequence[Any], compute: Callable[[list[int]], Any]) -> Column:
        """Return the outputs for all readings, computed in batches of rows."""
        column: Column = np.zeros((len(readings), self.outputs) if self.outputs > 1 else len(readings))
        with torch.inference_mode():
            for rows in self.blocks(readings):
                column[rows] = compute(rows).float().cpu().numpy()
        return column.round(DECIMALS)

    def blocks(self, readings: Sequence[Any]) -> Iterator[list[int]]:
        """Yield the rows of each batch."""
        for start in range(0, len(readings), BLOCK):
            yield list(range(start, min(start + BLOCK, len(readings))))
