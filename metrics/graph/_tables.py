"""Tables of the texts of items, and scores of batches by length."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from benchmarks.dataset import Item
from metrics.metric import Column
from metrics.models.architectures import DECIMALS
from metrics.models.text_table import Rows, TextTable, reading
from metrics.text.words import reply

if TYPE_CHECKING:
    from metrics.models.encoder import Encoder

TURNS = 3
"""Utterances before a response that are read."""
BLOCK = 256
"""Rows that a network reads at a time."""


def last_turns(texts: Sequence[str]) -> list[str]:
    """Return the last TURNS texts that are not blank, the last one first, padded with empty ones."""
    spoken = [text for text in texts if text.strip()][: -TURNS - 1 : -1]
    return spoken + [""] * (TURNS - len(spoken))


def contexts(items: Sequence[Item]) -> list[list[str]]:
    """Return the last utterances before each response, the last one first; the first is empty without a context."""
    return [last_turns([turn.text for turn in item.context]) for item in items]


def items_table(items: Sequence[Item], encoder: Encoder) -> tuple[TextTable, Rows, Rows]:
    """Return a table of the items' texts, with the rows of their contexts (items, TURNS) and responses."""
    before, responses = contexts(items), [reply(item) for item in items]
    table = TextTable([*(text for texts in before for text in texts), *responses], reading(encoder))
    rows = np.array([table.rows(texts) for texts in before], dtype=np.intp).reshape(-1, TURNS)
    return table, rows, table.rows(responses)


def in_blocks(rows: Rows, compute: Callable[[Rows], Any]) -> Column:
    """Return what a network computes of rows, BLOCK at a time."""
    import torch

    with torch.inference_mode():
        scores = [compute(rows[start : start + BLOCK]).numpy() for start in range(0, len(rows), BLOCK)]
    return np.concatenate(scores or [np.zeros(0)]).astype(np.float64).round(DECIMALS)


def by_length(lengths: Sequence[int], most: int) -> Iterator[list[int]]:
    """Yield places of dialogues of similar length, up to `most` utterances with padding; none of fewer than two."""
    block: list[int] = []
    for place in sorted((place for place, length in enumerate(lengths) if length > 1), key=lengths.__getitem__):
        if block and (len(block) + 1) * lengths[place] > most:
            yield block
            block = []
        block.append(place)
    if block:
        yield block


def fill(available: npt.NDArray[np.bool_], score: Callable[[npt.NDArray[np.bool_]], Column]) -> Column:
    """Return the scores of the rows that can be scored, NaN for the others."""
    column = np.full(len(available), np.nan)
    if available.any():
        column[available] = score(available)
    return column
