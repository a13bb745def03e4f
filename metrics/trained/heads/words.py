"""What RUBER reads: texts as rows of frozen input embeddings of the encoder, token by token."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from benchmarks.corpora.corpora import Dialogue
from benchmarks.dataset import Item
from metrics.errors import MetricError
from metrics.metric import Column
from metrics.models.memory import Vectors
from metrics.text.words import reply
from metrics.trained.heads.pairs import TURNS, Rows, contexts, probabilities, settled
from metrics.training.recipe import Objective, TrainingData

if TYPE_CHECKING:
    from metrics.models.encoder import Encoder

CONTEXT, RESPONSE = 40, 30
"""Tokens that are read of a context, its last, and of a response, its first."""
MARGIN = 0.5
BATCH = BLOCK = 64

Tokens = npt.NDArray[np.int64]


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
        found = np.zeros((len(rows), int(lengths.max()), self.width), dtype=np.float32)
        for place, row in enumerate(rows):
            found[place, : len(row)] = self.table[row]
        return torch.from_numpy(found), torch.from_numpy(lengths)

    def extremes(self, texts: Sequence[str]) -> Vectors:
        """The largest and the smallest of each dimension over the tokens: (texts, 2 · width); zeros without a token."""
        found = np.zeros((len(texts), 2 * self.width), dtype=np.float32)
        for place, row in enumerate(self.tokens(texts)):
            if len(row):
                vectors = self.table[row]
                found[place] = np.concatenate([vectors.max(axis=0), vectors.min(axis=0)])
        return found


def query(utterances: Sequence[Tokens]) -> Tokens:
    """The end of what the utterances say, in the order in which they were said."""
    return np.concatenate([np.zeros(0, dtype=np.int64), *utterances])[-CONTEXT:]


def unreferenced(items: Sequence[Item], words: Words, network: Any) -> Column:
    """The probability that each response belongs to its context, 0 to 1; NaN without a context."""
    import torch

    network = network.cpu().double().eval()
    before = contexts(items)

    def logits(rows: Rows) -> Column:
        queries = [query(words.tokens(before[row][::-1])) for row in rows]
        replies = [tokens[:RESPONSE] for tokens in words.tokens([reply(items[row]) for row in rows])]
        (left, lengths), (right, others) = words.padded(queries), words.padded(replies)
        with torch.inference_mode():
            found: Column = network(left.double(), lengths, right.double(), others).numpy()
        return found

    column = np.full(len(items), np.nan)
    there = np.array([row for row, texts in enumerate(before) if texts[0]], dtype=np.intp)
    for start in range(0, len(there), BLOCK):
        rows = there[start : start + BLOCK]
        column[rows] = probabilities(settled(rows, logits))
    return column


def hinge_objective(data: TrainingData, words: Words, more: Mapping[str, Any]) -> Objective:
    """A network to give a true reply `MARGIN` more than that of another pair of the batch."""
    from metrics.trained.heads.recurrent import Recurrent

    training, held = (_pairs(some, words) for some in (data.dialogues(), data.held_out()))
    if not training or not held:
        raise MetricError(f"the corpora have {len(training)} replies to train on and {len(held)} held out; take larger "
                          "ones")
    config = {"width": words.width, **more}

    def batch(some: Sequence[tuple[Tokens, Tokens]], rng: np.random.Generator) -> tuple[Any, ...]:
        chosen = [some[row] for row in rng.integers(len(some), size=BATCH)]
        return (*words.padded([before for before, _ in chosen]), *words.padded([after for _, after in chosen]))

    rng = data.rng
    batches = [batch(held, rng) for _ in range(8)]
    return Objective(Recurrent(**config), config, lambda rng: batch(training, rng), batches, hinge)


def hinge(network: Any, batch: tuple[Any, Any, Any, Any]) -> Any:
    """max(0, margin − s(true) + s(false)), where s is the sigmoid."""
    import torch

    context, lengths, reply, others = batch
    left, right = network.read(network.context, context, lengths), network.read(network.reply, reply, others)
    true, false = (torch.sigmoid(network.related(left, one)) for one in (right, right.roll(1, 0)))
    return (MARGIN - true + false).clamp_min(0).mean()


def _pairs(dialogues: Sequence[Dialogue], words: Words) -> list[tuple[Tokens, Tokens]]:
    """Every utterance that has one before it, with the end of the three before it."""
    found = []
    said = iter(words.tokens([turn.text for dialogue in dialogues for turn in dialogue.utterances]))
    for dialogue in dialogues:
        turns = [tokens for tokens in (next(said) for _ in dialogue.utterances) if len(tokens)]
        found += [(query(turns[max(0, place - TURNS) : place]), turns[place][:RESPONSE])
                  for place in range(1, len(turns))]
    return found
