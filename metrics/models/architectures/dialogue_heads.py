"""Heads for single utterances and whole dialogues on a frozen encoder, and RUBER's network on its input embeddings.

The vectors are those of heads.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from metrics.models.architectures.base import Architecture
from metrics.models.architectures.heads import TURNS, means, standardised
from metrics.models.encoder import Encoder
from metrics.models.memory import Vectors
from metrics.models.text_table import TextTable, padded
from metrics.models.tokens import Dialogue, Pair

PREVIOUS_TURNS = 2
"""Number of preceding utterances whose cosine with an utterance is an input."""
CONTEXT, RESPONSE = 40, 30
"""Tokens that RUBER uses: the last ones of a context, the first ones of a response."""


class UtteranceHead(Architecture, name="utterance-head"):
    """A network with one hidden layer on the mean of an utterance's states, their maximum, or both.

    `low` and `high` are quartiles of the negative log-likelihood of replies (USL-H).
    """

    def __init__(self, width: int, reads: Literal["mean", "max", "both"] = "both", hidden: int = 96,
                 dropout: float = 0.2, low: float = 0.0, high: float = 1.0) -> None:
        super().__init__()
        self.low, self.high = low, high
        self.part = {"mean": slice(0, width), "max": slice(width, 2 * width), "both": slice(0, 2 * width)}[reads]
        inputs = self.part.stop - self.part.start
        self.layers = nn.Sequential(nn.Dropout(dropout), nn.Linear(inputs, hidden), nn.GELU(), nn.Dropout(dropout),
                                    nn.Linear(hidden, 1))

    def texts(self, reading: str) -> Iterable[str]:
        return [reading]

    def inputs(self, readings: Sequence[str], table: TextTable) -> tuple[Any, ...]:
        return (table.tensor(table.rows(readings)),)

    def forward(self, reply: Any) -> Any:
        return self.layers(standardised(reply)[..., self.part]).squeeze(-1)


class Regression(Architecture, name="regression"):
    """A logistic regression on three sub-scores, and one on the first two, used if the third is missing."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.without_facts = nn.Linear(2, 1)
        self.with_facts = nn.Linear(3, 1)

    def inputs(self, readings: Sequence[Sequence[float]], table: Any) -> tuple[Any, ...]:
        return (torch.tensor(np.asarray(readings), dtype=torch.float32),)

    def forward(self, scores: Any) -> Any:
        with_facts = self.with_facts(scores.nan_to_num())
        without_facts = self.without_facts(scores[:, :2].nan_to_num())
        return torch.where(scores[:, 2:].isnan(), without_facts, with_facts).squeeze(-1)


class DialogueReader(nn.Module):
    """A linear layer and two convolutions over three utterances, averaged over the dialogue.

    Inputs are an utterance, its product with the previous one and its cosines with the previous two.
    """

    def __init__(self, width: int, size: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.down = nn.Linear(2 * width, size)
        self.first = nn.Linear(3 * (2 * size + PREVIOUS_TURNS), hidden)
        self.second = nn.Linear(3 * hidden, hidden)
        self.dropout = nn.Dropout(dropout)

    def forward(self, dialogues: Any) -> Any:
        """Encode dialogues padded with zeros: (B, T, 2 · width) to (B, hidden)."""
        present = (dialogues != 0).any(-1, keepdim=True)  # (B, T, 1)
        reduced = torch.tanh(self.down(standardised(dialogues))) * present  # (B, T, size)
        product = reduced * shifted(reduced, 1) * reduced.shape[-1] ** 0.5
        units = means(dialogues)
        cosines = torch.stack([(units * shifted(units, offset)).sum(-1) for offset in range(1, PREVIOUS_TURNS + 1)], -1)
        features = self.dropout(torch.cat([reduced, product, cosines], -1))  # (B, T, 2 · size + PREVIOUS_TURNS)
        states = functional.gelu(self.first(neighbours(features))) * present  # (B, T, hidden)
        states = states + functional.gelu(self.second(neighbours(self.dropout(states)))) * present
        return states.sum(1) / present.sum(1).clamp_min(1)


class DialogueConvolution(Architecture, name="dialogue-convolution"):
    """FineD-Eval's small network: a DialogueReader followed by a linear layer."""

    def __init__(self, width: int, outputs: int = 1, size: int = 64, hidden: int = 64, dropout: float = 0.2) -> None:
        super().__init__()
        self.outputs = outputs
        self.reader = DialogueReader(width, size, hidden, dropout)
        self.dropout = nn.Dropout(dropout)
        self.out = nn.Linear(hidden, outputs)

    def texts(self, reading: Dialogue) -> Iterable[str]:
        return reading

    def inputs(self, readings: Sequence[Dialogue], table: TextTable) -> tuple[Any, ...]:
        return (table.tensor(padded([table.nonzero_rows(texts) for texts in readings])),)

    def forward(self, dialogues: Any) -> Any:
        logits = self.out(self.dropout(self.reader(dialogues)))
        return logits.squeeze(-1) if self.outputs == 1 else logits


def shifted(utterances: Any, offset: int) -> Any:
    """Shift the utterances to the right by `offset` positions, with zeros at the beginning: (B, T, H)."""
    return functional.pad(utterances, (0, 0, offset, 0))[:, : utterances.shape[1]]


def neighbours(utterances: Any) -> Any:
    """Concatenate each utterance with the previous and the next one: (B, T, 3 · H)."""
    later = functional.pad(utterances, (0, 0, 0, 1))[:, 1:]
    return torch.cat([shifted(utterances, 1), utterances, later], -1)


class TokenTable:
    """The token ids of texts, and the encoder's input embeddings."""

    def __init__(self, encoder: Encoder) -> None:
        self._tokenizer, self._embeddings = encoder.tokenizer, encoder.embeddings()
        self.width = int(self._embeddings.shape[1])
        self.tokens: dict[str, list[int]] = {}

    def add(self, texts: Iterable[str]) -> None:
        missing = list(dict.fromkeys(text for text in texts if text not in self.tokens))
        self.tokens |= zip(missing, self._tokenizer.plain(missing), strict=True)

    def tensors(self, rows: Sequence[Sequence[int]]) -> tuple[Any, Any]:
        """Return the vectors of rows of tokens (rows, longest, width), zero-padded, and their lengths, at least 1."""
        lengths = torch.tensor([max(1, len(row)) for row in rows])
        vectors = torch.zeros(len(rows), int(lengths.max()), self.width)
        for index, row in enumerate(rows):
            vectors[index, : len(row)] = torch.from_numpy(self._embeddings[np.array(row, dtype=np.intp)])
        return vectors, lengths


class Recurrent(Architecture, name="recurrent"):
    """RUBER's unreferenced part: GRUs encode context and response, and a network scores [q ; r ; qᵀMr].

    Words are the encoder's frozen input embeddings (B, T, width), projected to `size`; lengths (B,) are at least 1.
    """

    def __init__(self, width: int, size: int = 128, hidden: int = 64, layers: int = 1, dropout: float = 0.1) -> None:
        super().__init__()
        self.down = nn.Linear(width, size)
        self.context, self.reply = (nn.ModuleList(
            nn.GRU(size, hidden, layers, batch_first=True, dropout=dropout if layers > 1 else 0.0)
            for _ in ("forwards", "backwards")) for _ in ("context", "reply"))
        for name, weight in (*self.context.named_parameters(), *self.reply.named_parameters()):
            if "weight" in name:  # PyTorch's default biases drown out the input, above all in a second layer
                nn.init.orthogonal_(weight)
            else:
                nn.init.zeros_(weight)
        self.bilinear = nn.Linear(2 * hidden, 2 * hidden, bias=False)
        nn.init.eye_(self.bilinear.weight)
        self.scale = nn.LayerNorm(2 * hidden)  # initial states are too small for a sigmoid with a hinge loss
        self.layers = nn.Sequential(nn.Dropout(dropout), nn.Linear(4 * hidden + 1, 2 * hidden), nn.Tanh(),
                                    nn.Linear(2 * hidden, 1))

    @classmethod
    def table(cls, encoder: Encoder, encode: Callable[[Sequence[str]], Vectors] | None = None) -> TokenTable:
        return TokenTable(encoder)

    def texts(self, reading: Pair) -> Iterable[str]:
        return [*reading.context[-TURNS:], reading.response]

    def inputs(self, readings: Sequence[Pair], table: TokenTable) -> tuple[Any, ...]:
        queries = [[token for text in pair.context[-TURNS:] for token in table.tokens[text]][-CONTEXT:]
                   for pair in readings]
        return *table.tensors(queries), *table.tensors([table.tokens[pair.response][:RESPONSE] for pair in readings])

    def final_states(self, grus: Any, words: Any, lengths: Any) -> Any:
        """Return the final states of both directions: (B, 2 · hidden)."""
        reduced = torch.tanh(self.down(functional.layer_norm(words, words.shape[-1:])))  # (B, T, size)
        last = lengths.unsqueeze(1) - 1
        steps = torch.arange(words.shape[1], device=words.device)
        order = torch.where(steps <= last, last - steps, steps)  # each row reversed, padding left in place
        backwards = reduced.gather(1, order.unsqueeze(-1).expand_as(reduced))
        rows = torch.arange(len(words), device=words.device)
        return self.scale(torch.cat([gru(sequence)[0][rows, last[:, 0]]
                                     for gru, sequence in zip(grus, (reduced, backwards), strict=True)], dim=-1))

    def forward(self, context: Any, context_lengths: Any, reply: Any, reply_lengths: Any) -> Any:
        query = self.final_states(self.context, context, context_lengths)
        answer = self.final_states(self.reply, reply, reply_lengths)
        bilinear = (self.bilinear(query) * answer).sum(-1, keepdim=True) / query.shape[-1] ** 0.5
        return self.layers(torch.cat([query, answer, bilinear], dim=-1)).squeeze(-1)
