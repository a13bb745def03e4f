"""A classifier on top of a transformer that encodes a text, a pair or a dialogue as one sequence.

The transformer's weights, or adapters to them, are trained too: the fine-tuned encoder is named `ENCODER+CHECKPOINT`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, cast

import torch
from torch import nn

from metrics.column import Column
from metrics.models.architectures.base import Architecture
from metrics.models.encoder import Encoder, Pooling
from metrics.models.readings import Pair, Reading

DIALOGUE_LIMIT = 512
"""Maximum number of tokens of a dialogue to score; earlier ones are dropped."""


class TokenArchitecture(Architecture):
    """A head on the pooled states of a transformer that is trained along with it.

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
        device = next(self.parameters()).device
        return self.by_block(readings, lambda rows: self(
            torch.from_numpy(vectors[rows]).to(device),
            *(part.to(device) for part in self.extra_inputs([readings[row] for row in rows]))))


class BiEncoder(TokenArchitecture, name="bi-encoder"):
    """A transformer trained so that its pooled states can be compared by cosine; it has no head."""

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
        """Return the logit of each row: (B, width) to (B,), or (B, outputs)."""
        states = pooled if self.dense is None else torch.tanh(self.dense(self.dropout(pooled)))
        logits = self.out(self.dropout(states))
        return logits.squeeze(-1) if self.outputs == 1 else logits
