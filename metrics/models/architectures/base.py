"""The registry of architectures and their base classes, for networks that score readings: texts, pairs or dialogues.

An `Architecture` uses the vectors of a frozen encoder. A `TokenArchitecture` is a head on a transformer that encodes a
reading as one sequence and is trained along with it; the fine-tuned encoder is named `ENCODER+CHECKPOINT`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, cast

import numpy as np
import torch
from torch import nn

from metrics.column import Column
from metrics.models.encoder import Encoder, Pooling
from metrics.models.memory import Vectors
from metrics.models.text_table import TextTable
from metrics.models.tokens import Pair, Reading

READINGS_PER_PASS = 256
"""Number of readings in a forward pass."""
DIALOGUE_LIMIT = 512
"""Maximum number of tokens of a dialogue to score; earlier ones are dropped."""
DECIMALS = 6
"""Decimals of a logit; rounding makes equal readings in different batches tie."""
ARCHITECTURES: dict[str, type[Architecture]] = {}


class Architecture(nn.Module):
    """A network that turns readings into logits, registered under its `name`.

    `inputs` turns readings into tensors, `forward` turns these into logits. `depth` is the encoder layer to use, 0 for
    the last. `settings` names the recipe's settings that the network uses, besides those that apply to every network.
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
        """Return the logits: (readings,), or (readings, outputs)."""
        table = self.table(encoder)
        table.add(text for reading in readings for text in self.texts(reading))
        return self.logits(readings, table)

    def logits(self, readings: Sequence[Any], table: Any) -> Column:
        """Return the logits of readings whose texts are in the table."""
        return self.by_block(readings, lambda rows: self.inputs([readings[row] for row in rows], table))

    def by_block(self, readings: Sequence[Any], inputs: Callable[[list[int]], tuple[Any, ...]]) -> Column:
        """Return the logits of all readings; `inputs` returns the tensors of a batch, given its rows."""
        device = next(self.parameters()).device
        column: Column = np.zeros((len(readings), self.outputs) if self.outputs > 1 else len(readings))
        with torch.inference_mode():
            for rows in self.blocks(readings):
                column[rows] = self(*(tensor.to(device) for tensor in inputs(rows))).float().cpu().numpy()
        return column.round(DECIMALS)

    def blocks(self, readings: Sequence[Any]) -> Iterator[list[int]]:
        """Yield the rows of each batch."""
        rows = list(range(len(readings)))
        yield from (rows[start : start + READINGS_PER_PASS] for start in range(0, len(rows), READINGS_PER_PASS))


class TokenArchitecture(Architecture):
    """A head on the pooled states of a transformer.

    `length` is the token limit in training and of pairs in scoring, `layers` the number of layers used (0 for all), and
    `token_dropout` applies to their states. With `separator`, an extra token ends each utterance of a dialogue.
    """

    settings: ClassVar[tuple[str, ...]] = ("batch", "margin", "length", "rank", "body_rate", "checkpointing", "masked")

    def __init__(self, pooling: Pooling = "cls", length: int = 128, layers: int = 0, token_dropout: float = 0.0,
                 separator: bool = False) -> None:
        super().__init__()
        self.pooling, self.length, self.depth = pooling, length, layers
        self.token_dropout, self.separator = token_dropout, separator
        self.dense: nn.Linear | None = None

    def encoder_name(self, encoder: str, weights: str) -> str:
        return f"{encoder}+{weights}"

    def reading(self, reading: Any) -> Reading:
        """Return the text, pair or dialogue that the transformer encodes."""
        return cast(Reading, reading)

    def extra_inputs(self, readings: Sequence[Any]) -> tuple[Any, ...]:
        """Return the inputs of `forward` other than the pooled states."""
        return ()

    def scores(self, readings: Sequence[Any], encoder: Encoder) -> Column:
        inputs = [self.reading(reading) for reading in readings]
        limit = None if isinstance(inputs[0], str) else self.length if isinstance(inputs[0], Pair) else DIALOGUE_LIMIT
        vectors = encoder.readings(inputs, self.pooling, limit)
        return self.by_block(readings, lambda rows: (
            torch.from_numpy(vectors[rows]), *self.extra_inputs([readings[row] for row in rows])))


class BiEncoder(TokenArchitecture, name="bi-encoder"):
    """A transformer without a head, trained to compare its pooled states by cosine."""

    settings = ("batch", "length", "rank", "body_rate", "checkpointing")

    def __init__(self, width: int, length: int = 64) -> None:
        super().__init__("mean", length)


class CrossEncoder(TokenArchitecture, name="cross-encoder"):
    """A linear layer on the pooled state, preceded by a tanh hidden layer unless `hidden` is 0.

    `low` and `high` are quartiles of the negative log-likelihood of replies (USL-H).
    """

    settings = (*TokenArchitecture.settings, "next_sentence")

    def __init__(self, width: int, hidden: int = 0, dropout: float = 0.1, outputs: int = 1, low: float = 0.0,
                 high: float = 1.0, **reading: Any) -> None:
        super().__init__(**reading)
        self.outputs, self.low, self.high = outputs, low, high
        self.dense = nn.Linear(width, hidden) if hidden else None
        self.dropout = nn.Dropout(dropout)
        self.out = nn.Linear(hidden or width, outputs)

    def forward(self, pooled: Any) -> Any:
        """Return the logits: (B, width) to (B,), or (B, outputs)."""
        states = pooled if self.dense is None else torch.tanh(self.dense(self.dropout(pooled)))
        logits = self.out(self.dropout(states))
        return logits.squeeze(-1) if self.outputs == 1 else logits
