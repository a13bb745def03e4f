"""What RUBER reads: texts as frozen input embeddings of the encoder, token by token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks.corpora.corpora import Dialogue
from metrics.errors import MetricError
from metrics.models.memory import Vectors
from metrics.trained.heads.table import TURNS
from metrics.training.recipe import TrainingData

if TYPE_CHECKING:
    from metrics.models.encoder import Encoder

CONTEXT, RESPONSE = 40, 30
"""Tokens that are read of a context, its last, and of a response, its first."""
BATCH = 64

Tokens: TypeAlias = npt.NDArray[np.int64]
TokenPairs: TypeAlias = Sequence[tuple[Tokens, Tokens]]
"""Contexts with their replies."""


class Words:
    """The tokens of texts, and their vectors."""

    def __init__(self, encoder: Encoder) -> None:
        self._tokenizer = encoder.tokenizer
        self.table = encoder.embeddings()

    @property
    def width(self) -> int:
        """The length of a word's vector."""
        return int(self.table.shape[1])

    def tokens(self, texts: Sequence[str]) -> list[Tokens]:
        """The tokens of each text."""
        return [np.array(ids, dtype=np.int64) for ids in self._tokenizer.plain(texts)]

    def padded(self, rows: Sequence[Tokens]) -> tuple[Any, Any]:
        """The vectors of rows of tokens (rows, longest, width), zeros behind the end, and their lengths, at least 1."""
        import torch

        lengths = np.array([max(1, len(row)) for row in rows])
        vectors = np.zeros((len(rows), int(lengths.max()), self.width), dtype=np.float32)
        for place, row in enumerate(rows):
            vectors[place, : len(row)] = self.table[row]
        return torch.from_numpy(vectors), torch.from_numpy(lengths)

    def batch(self, pairs: TokenPairs, rng: np.random.Generator) -> tuple[Any, ...]:
        """BATCH pairs at random: contexts and their lengths, replies and their lengths."""
        chosen = [pairs[row] for row in rng.integers(len(pairs), size=BATCH)]
        return (*self.padded([before for before, _ in chosen]), *self.padded([after for _, after in chosen]))

    def extremes(self, texts: Sequence[str]) -> Vectors:
        """The largest and the smallest of each dimension over the tokens: (texts, 2 · width); zeros without a token."""
        extremes = np.zeros((len(texts), 2 * self.width), dtype=np.float32)
        for place, row in enumerate(self.tokens(texts)):
            if len(row):
                vectors = self.table[row]
                extremes[place] = np.concatenate([vectors.max(axis=0), vectors.min(axis=0)])
        return extremes


def query(utterances: Sequence[Tokens]) -> Tokens:
    """The last CONTEXT tokens of the utterances, which are in their order."""
    return np.concatenate([np.zeros(0, dtype=np.int64), *utterances])[-CONTEXT:]


def word_pairs(data: TrainingData, words: Words) -> tuple[TokenPairs, TokenPairs]:
    """Every utterance that has one before it, with the end of the three before it: to train on, and held out."""
    training, held = (_pairs(dialogues, words) for dialogues in (data.dialogues(), data.held_out()))
    if not training or not held:
        raise MetricError(f"the corpora have {len(training)} replies to train on and {len(held)} held out; take larger "
                          "ones")
    return training, held


def _pairs(dialogues: Sequence[Dialogue], words: Words) -> TokenPairs:
    pairs = []
    tokens = iter(words.tokens([turn.text for dialogue in dialogues for turn in dialogue.utterances]))
    for dialogue in dialogues:
        turns = [row for row in (next(tokens) for _ in dialogue.utterances) if len(row)]
        pairs += [(query(turns[max(0, place - TURNS) : place]), turns[place][:RESPONSE])
                  for place in range(1, len(turns))]
    return pairs
