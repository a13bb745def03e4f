"""Vectors of texts from a frozen encoder, by row, and the scores that a network computes from them.

    TextTable(texts, read)               one row for each distinct text; row 0 stands for a blank or missing text
    items_table(items, encoder)          the table of some items, with the rows of their contexts and responses
    network_scores(network, table, ...)  what a network computes of rows, whatever else is in the batch

A network reads an utterance as the mean and the maximum of its token states, side by side (2 · width). A context is its
last three utterances that hold words, the last one first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks.dataset import Item
from metrics.metric import Column
from metrics.models.device import on_one_core
from metrics.models.memory import Vectors
from metrics.text.words import Aggregation, over_references, reply, sharing

if TYPE_CHECKING:
    from metrics.models.encoder import Encoder
    from metrics.models.service import Models

FIVE = ("dailydialog", "empatheticdialogues", "personachat", "topical_chat", "wizard_of_wikipedia")
"""The corpora of the metrics that need nothing but dialogues."""
TURNS = 3
"""How many utterances before a response are read."""
BLOCK = 256
"""Rows that a network reads at a time."""
DECIMALS = 10
"""Decimals of a score that was computed in double precision."""
DOUBTFUL = 5e-3
"""A value this near to the middle between two rounded scores, in units of the last decimal, is computed alone: a batch
changes the thirteenth decimal at most, which could decide how it is rounded."""

Rows: TypeAlias = npt.NDArray[np.intp]


class TextTable:
    """The vectors of distinct texts; row 0 is zeros and stands for a missing or blank text."""

    def __init__(self, texts: Iterable[str], read: Callable[[Sequence[str]], Vectors]) -> None:
        """`read` gives the mean and the maximum of the token states of each text, zeros for an empty one."""
        distinct = list(dict.fromkeys(text for text in texts if text.strip()))
        self._rows = {text: row for row, text in enumerate(distinct, 1)}
        self.vectors = read(["", *distinct])

    @property
    def texts(self) -> list[str]:
        """The text of each row."""
        return ["", *self._rows]

    @property
    def width(self) -> int:
        """The width of the encoder: half the length of a row."""
        return int(self.vectors.shape[1]) // 2

    def rows(self, texts: Iterable[str]) -> Rows:
        """The row of each text."""
        return np.array([self._rows.get(text, 0) for text in texts], dtype=np.intp)

    def spoken(self, texts: Iterable[str]) -> Rows:
        """The rows of the texts in which the encoder reads something."""
        rows = self.rows(texts)
        return rows[self.vectors[rows].any(axis=1)]

    def tensor(self, rows: Rows) -> Any:
        """The vectors of the rows as a tensor of floats: (*rows, 2 · width)."""
        import torch

        return torch.from_numpy(self.vectors[rows].astype(np.float32))


def padded(rows: Sequence[Rows]) -> Rows:
    """Rows of several texts each as one array (len(rows), most texts), 0 behind the last."""
    filled = np.zeros((len(rows), max(map(len, rows), default=1) or 1), dtype=np.intp)
    for place, several in enumerate(rows):
        filled[place, : len(several)] = several
    return filled


def reading(encoder: Encoder) -> Callable[[Sequence[str]], Vectors]:
    """The function by which an encoder gives the vectors of a table."""
    return lambda texts: np.hstack([encoder.sentences(texts, "mean"), encoder.sentences(texts, "max")])


def last_turns(texts: Iterable[str]) -> list[str]:
    """The last TURNS texts that hold words, the last one first, filled up with empty ones."""
    spoken = [text for text in texts if text.strip()][: -TURNS - 1 : -1]
    return spoken + [""] * (TURNS - len(spoken))


def contexts(items: Sequence[Item]) -> list[list[str]]:
    """The last utterances before each response, the last one first; the first is empty where there is no context."""
    return [last_turns(turn.text for turn in item.context) for item in items]


def items_table(items: Sequence[Item], encoder: Encoder, *more: str,
                whole: bool = False) -> tuple[TextTable, Rows, Rows]:
    """A table of the items' texts and of `more`, with the rows of their contexts (items, TURNS) and responses.

    A `whole` context is one text, (items, 1).
    """
    before, responses = contexts(items), [reply(item) for item in items]
    if whole:
        before = [[" ".join(turn.text for turn in item.context if turn.text.strip())] for item in items]
    table = TextTable([*(text for texts in before for text in texts), *responses, *more], reading(encoder))
    rows = np.array([table.rows(texts) for texts in before], dtype=np.intp).reshape(-1, 1 if whole else TURNS)
    return table, rows, table.rows(responses)


def pair_probabilities(items: Sequence[Item], models: Models, weights: str, encoder: str, kind: str,
                       whole: bool = False) -> Column:
    """The sigmoid of what a network of that kind gives of context and response: 0 to 1, NaN without a context."""
    from metrics.trained.heads import networks

    network = models.trained(weights, getattr(networks, kind), encoder)
    table, before, replies = items_table(items, models.encoder(encoder), whole=whole)
    return fill(before[:, 0] > 0, lambda rows: probabilities(
        network_scores(network, table, before[rows], replies[rows])))


def response_probabilities(items: Sequence[Item], models: Models, weights: str, encoder: str) -> Column:
    """The sigmoid of what an UtteranceHead gives of the response: 0 to 1."""
    from metrics.trained.heads.networks import UtteranceHead

    network, responses = models.trained(weights, UtteranceHead, encoder), [reply(item) for item in items]
    table = TextTable(responses, reading(models.encoder(encoder)))
    return probabilities(network_scores(network, table, table.rows(responses)))


def against_references(items: Sequence[Item], encoder: Encoder, references: Aggregation,
                       judge: Callable[[TextTable, Rows, Rows, Rows], Column], whole: bool = False) -> Column:
    """The mean or the best over an item's references of `judge`; NaN without a reference.

    `judge` scores contexts (n, TURNS), or whole ones (n, 1), references (n,) and responses (n,), as rows of a table.
    """
    table, before, replies = items_table(
        items, encoder, *(reference.text for item in items for reference in item.references), whole=whole)
    return by_reference(items, references, lambda owner, texts: judge(
        table, before[owner], table.rows(texts), replies[owner]))


def by_reference(items: Sequence[Item], references: Aggregation,
                 judge: Callable[[Rows, Sequence[str]], Column]) -> Column:
    """The mean or the best over an item's references of `judge`, which scores places of items and references' texts."""
    owners: list[int] = []
    texts: list[str] = []
    for together, members in sharing(items, "max" if references == "standard" else references):
        for row, _ in members:
            owners += [row] * len(together)
            texts += [reference.text for reference in together]
    column = np.full(len(items), np.nan)
    if owners:
        owner = np.array(owners, dtype=np.intp)
        scores = judge(owner, texts)
        starts = np.flatnonzero(np.diff(owner, prepend=-1))
        for start, part in zip(starts, np.split(scores, starts[1:]), strict=True):
            column[owner[start]] = over_references(part.tolist(), references)
    return column


def network_scores(network: Any, table: TextTable, *rows: Rows) -> Column:
    """network(*vectors) for the vectors of each row, (rows, ...), rounded to DECIMALS."""
    return stable(np.arange(len(rows[0])),
                  lambda chosen: raw_scores(network, table, *(several[chosen] for several in rows)))


def raw_scores(network: Any, table: TextTable, *rows: Rows) -> Column:
    """network(*vectors) for the vectors of each row, (rows, ...), in double precision, not rounded."""
    network = network.cpu().double().eval()
    return in_blocks(np.arange(len(rows[0])), lambda block: network(
        *(table.tensor(several[block]).double() for several in rows)))


def in_blocks(rows: Rows, compute: Callable[[Rows], Any]) -> Column:
    """What a network computes of rows, BLOCK at a time."""
    import torch

    with torch.inference_mode():
        scores = [compute(rows[start : start + BLOCK]).numpy() for start in range(0, len(rows), BLOCK)]
    return np.concatenate(scores or [np.zeros(0)])


def stable(rows: Rows, compute: Callable[[Rows], Column]) -> Column:
    """What is computed of the rows, rounded to DECIMALS: the same in any batch and on any number of cores.

    Rounding hides what a batch changes, unless a value lies where its last bits decide how it is rounded: such a row is
    computed once more, alone.
    """
    with on_one_core():
        scores = compute(rows)
        scaled = scores.reshape(len(rows), -1) * 10.0**DECIMALS
        doubtful = (np.abs(scaled - np.floor(scaled) - 0.5) < DOUBTFUL).any(axis=1)
        for place in np.flatnonzero(doubtful):
            scores[place] = compute(rows[place : place + 1])[0]
    return scores.round(DECIMALS)


def by_length(lengths: Sequence[int], most: int) -> Iterator[list[int]]:
    """Places of dialogues of similar length, so that there is little padding: up to `most` utterances with it.

    Those of fewer than two utterances are in none.
    """
    block: list[int] = []
    for place in sorted((place for place, length in enumerate(lengths) if length > 1), key=lengths.__getitem__):
        if block and (len(block) + 1) * lengths[place] > most:
            yield block
            block = []
        block.append(place)
    if block:
        yield block


def fill(available: npt.NDArray[np.bool_], score: Callable[[npt.NDArray[np.bool_]], Column]) -> Column:
    """The scores of the rows that can be scored, NaN for the others."""
    column = np.full(len(available), np.nan)
    if available.any():
        column[available] = score(available)
    return column


def probabilities(logits: Column) -> Column:
    """1 / (1 + e^−x), 0 to 1."""
    return np.asarray(0.5 * (1 + np.tanh(logits / 2))).round(DECIMALS)
