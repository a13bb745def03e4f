"""What the metrics on frozen features share: the vectors of utterances by row, pairs of context and reply, scoring.

    Table(texts, read)              a row for each distinct text, row 0 for an utterance that is not there
    pairs(dialogues, table)         every reply of the dialogues with the utterances before it, as rows
    judged(network, table, *rows)   what a network says of rows, the same whatever else is judged with them
    settled(rows, compute)          what is computed of rows, rounded so that it is the same in whatever company

A network sees an utterance as `Table` has it: the mean and the largest of its token states, side by side (2 · width).
A context is its last three utterances that hold words, the last one first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks.corpora.corpora import Dialogue
from benchmarks.dataset import Item
from metrics.errors import MetricError
from metrics.metric import Column
from metrics.models.memory import Vectors
from metrics.text.words import reply
from metrics.training.recipe import TrainingData

if TYPE_CHECKING:
    from metrics.models.encoder import Encoder

FIVE = ("dailydialog", "empatheticdialogues", "personachat", "topical_chat", "wizard_of_wikipedia")
"""The corpora of the metrics that need nothing but dialogues."""
TURNS = 3
"""How many utterances before a response are read."""
BATCH = 128
"""Pairs in a batch, each of which is true, and false with the reply of another."""
BLOCK = 256
"""How many rows are judged at a time."""
DECIMALS = 10
"""Decimals of a score that was computed in double precision."""
DOUBTFUL = 5e-3
"""How near a value may come to the middle between two such scores, in units of the last decimal, before company and the
number of cores, which move the thirteenth decimal at most, could decide which of them it becomes."""

Rows: TypeAlias = npt.NDArray[np.intp]


class Table:
    """The vectors of distinct texts; row 0 is of zeros, and stands for a text that is not there or is blank."""

    def __init__(self, texts: Iterable[str], read: Callable[[Sequence[str]], Vectors]) -> None:
        """`read` gives the mean and the largest of the token states of each text, zeros for an empty one."""
        distinct = list(dict.fromkeys(text for text in texts if text.strip()))
        self._rows = {text: row for row, text in enumerate(distinct, 1)}
        self.vectors = read(["", *distinct])

    @property
    def width(self) -> int:
        """The width of the encoder: a row is twice as long."""
        return int(self.vectors.shape[1]) // 2

    def rows(self, texts: Iterable[str]) -> Rows:
        """The row of each text."""
        return np.array([self._rows.get(text, 0) for text in texts], dtype=np.intp)

    def tensor(self, rows: Rows) -> Any:
        """The vectors of the rows as a tensor of floats: (*rows, 2 · width)."""
        import torch

        return torch.from_numpy(self.vectors[rows].astype(np.float32))


@dataclass(frozen=True, slots=True)
class Pairs:
    """Replies with what was said before them: rows of a table, (pairs, TURNS) and (pairs,)."""

    contexts: Rows
    replies: Rows

    def __len__(self) -> int:
        return len(self.replies)


def pairs(dialogues: Iterable[Dialogue], table: Table) -> Pairs:
    """Every utterance that has one before it, where both hold words."""
    contexts: list[Rows] = []
    replies: list[int] = []
    for dialogue in dialogues:
        said = table.rows(turn.text for turn in dialogue.utterances)
        said = np.concatenate([np.zeros(TURNS, dtype=np.intp), said[said > 0]])
        for place in range(TURNS + 1, len(said)):
            contexts.append(said[place - TURNS : place][::-1])
            replies.append(int(said[place]))
    return Pairs(np.array(contexts, dtype=np.intp).reshape(-1, TURNS), np.array(replies, dtype=np.intp))


@dataclass(frozen=True, slots=True)
class Prepared:
    """Pairs to train on and pairs held out, over one table."""

    table: Table
    training: Pairs
    held: Pairs

    def draw(self, rng: np.random.Generator, size: int = BATCH) -> tuple[Any, Any]:
        """A batch of contexts (size, TURNS, 2 · width) and their replies (size, 2 · width)."""
        return self._batch(self.training, rng.integers(len(self.training), size=size))

    def held_out(self, rng: np.random.Generator, batches: int = 8) -> list[tuple[Any, Any]]:
        """Batches of what is held out."""
        return [self._batch(self.held, rng.integers(len(self.held), size=BATCH)) for _ in range(batches)]

    def checked(self) -> Prepared:
        """The same, or an error where there is nothing to learn from or nothing held out."""
        if not len(self.training) or not len(self.held):
            raise MetricError(f"the corpora have {len(self.training)} replies to train on and {len(self.held)} held "
                              "out; take larger ones")
        return self

    def _batch(self, some: Pairs, chosen: Rows) -> tuple[Any, Any]:
        return self.table.tensor(some.contexts[chosen]), self.table.tensor(some.replies[chosen])


def prepared(data: TrainingData) -> Prepared:
    """Every pair of the training's dialogues."""
    training, held = data.dialogues(), data.held_out()
    table = Table((turn.text for dialogue in (*training, *held) for turn in dialogue.utterances), data.vectors)
    return Prepared(table, pairs(training, table), pairs(held, table)).checked()


@dataclass(frozen=True, slots=True)
class Answers:
    """Contexts with several good replies each: rows of a table, (contexts, TURNS), and a row of replies for each."""

    table: Table
    contexts: Rows
    replies: tuple[Rows, ...]

    def draw(self, rng: np.random.Generator, size: int = BATCH) -> tuple[Any, Any, Any]:
        """Contexts (size, TURNS, 2 · width), and a reference and another reply to each (size, 2 · width)."""
        chosen = rng.integers(len(self.contexts), size=size)
        two = np.array([rng.choice(self.replies[row], 2, replace=False) for row in chosen])
        return (self.table.tensor(self.contexts[chosen]), self.table.tensor(two[:, 0]), self.table.tensor(two[:, 1]))

    def pairs(self) -> Pairs:
        """Every reply with its context."""
        counts = [len(rows) for rows in self.replies]
        return Pairs(np.repeat(self.contexts, counts, axis=0), np.concatenate(self.replies))


def answered(data: TrainingData) -> tuple[Answers, Answers]:
    """The dialogues that end in several good replies, to train on and held out."""
    several = "positive_responses"
    parts = [[one for one in some if len(one.labels.get(several, ())) > 1]
             for some in (data.dialogues(), data.held_out())]
    texts = (text for some in parts for one in some
             for text in (*(turn.text for turn in one.utterances), *one.labels[several]))
    table = Table(texts, data.vectors)
    training, held = ([(table.rows(last_turns(turn.text for turn in one.utterances)),
                        _present(table, one.labels[several])) for one in some] for some in parts)
    return _answers(table, training), _answers(table, held)


def _present(table: Table, texts: Iterable[str]) -> Rows:
    rows = np.unique(table.rows(texts))
    return rows[rows > 0]


def _answers(table: Table, found: Iterable[tuple[Rows, Rows]]) -> Answers:
    """Leave out what has no context or fewer than two replies."""
    kept = [(context, replies) for context, replies in found if context[0] and len(replies) > 1]
    if not kept:
        raise MetricError("none of the corpora has contexts with several replies (positive_responses, a list of two "
                          "or more texts beside the utterances, as dailydialog_pp has them)")
    return Answers(table, np.stack([context for context, _ in kept]), tuple(replies for _, replies in kept))


def last_turns(texts: Iterable[str]) -> list[str]:
    """The last texts that hold words, the last one first, filled up with empty ones."""
    kept = [text for text in texts if text.strip()][: -TURNS - 1 : -1]
    return kept + [""] * (TURNS - len(kept))


def contexts(items: Sequence[Item]) -> list[list[str]]:
    """The last utterances before each response, the last one first; the first is empty where there is no context."""
    return [last_turns(turn.text for turn in item.context) for item in items]


def items_table(items: Sequence[Item], encoder: Encoder, *more: str) -> tuple[Table, Rows, Rows]:
    """A table of the items' texts and of `more`, with the rows of their contexts (items, TURNS) and responses."""
    before, responses = contexts(items), [reply(item) for item in items]
    table = Table([*(text for texts in before for text in texts), *responses, *more], reading(encoder))
    rows = np.array([table.rows(texts) for texts in before], dtype=np.intp).reshape(-1, TURNS)
    return table, rows, table.rows(responses)


def reading(encoder: Encoder) -> Callable[[Sequence[str]], Vectors]:
    """How an encoder gives the vectors of a table."""
    return lambda texts: np.hstack([encoder.sentences(texts, "mean"), encoder.sentences(texts, "max")])


def judged(network: Any, table: Table, *rows: Rows) -> Column:
    """What the network gives for the vectors of each row: network(*vectors) of shape (rows, ...), to DECIMALS."""
    return settled(np.arange(len(rows[0])), lambda places: computed(network, table, *(some[places] for some in rows)))


def computed(network: Any, table: Table, *rows: Rows) -> Column:
    """What the network gives for the vectors of each row, in double precision, not rounded."""
    import torch

    network = network.cpu().double().eval()
    found = [np.zeros(0)]
    with torch.inference_mode():
        for start in range(0, len(rows[0]), BLOCK):
            inputs = [table.tensor(some[start : start + BLOCK]).double() for some in rows]
            found.append(network(*inputs).numpy())
    return np.concatenate(found[1:] or found)


def settled(rows: Rows, compute: Callable[[Rows], Column]) -> Column:
    """What is computed of the rows, to DECIMALS: the same in whatever company, and on however many cores.

    Rounding alone hides what those change, until a value stands where its last bits decide: such a row is computed once
    more by itself, on one core.
    """
    import torch

    found = compute(rows)
    scaled = found.reshape(len(rows), -1) * 10.0**DECIMALS
    doubtful = (np.abs(scaled - np.floor(scaled) - 0.5) < DOUBTFUL).any(axis=1)
    cores = torch.get_num_threads()
    try:
        torch.set_num_threads(1)
        for place in np.flatnonzero(doubtful):
            found[place] = compute(rows[place : place + 1])[0]
    finally:
        torch.set_num_threads(cores)
    return found.round(DECIMALS)


def where(there: npt.NDArray[np.bool_], score: Callable[[npt.NDArray[np.bool_]], Column]) -> Column:
    """The scores of the rows that are there, NaN elsewhere."""
    column = np.full(len(there), np.nan)
    if there.any():
        column[there] = score(there)
    return column


def probabilities(logits: Column) -> Column:
    """1 / (1 + e^−x), 0 to 1."""
    return np.asarray(0.5 * (1 + np.tanh(logits / 2))).round(DECIMALS)
