"""Whole dialogues for networks that read them: rows of a table of vectors, batched as graphs.

    spoken(utterances, table)                a dialogue as rows of the table, and who says each
    graphs(dialogues, table, window)         many of them as one torch-geometric Batch, a node for each utterance
    scored(network, items, encoder, window)  what a network says of each item, the same in whatever company

An edge leads from every utterance j to i where |i − j| ≤ window, i itself included. Its relation says who speaks at
i and at j, and which comes first: S · S · 2 + 1 of them for S speakers, nine for two. Speakers are numbered as they
begin to speak; where there are more than S, those who come later share the last number.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.dataset import Item, Utterance
from metrics.metric import Column
from metrics.trained.heads.pairs import DECIMALS, Rows, Table, reading, settled, where

if TYPE_CHECKING:
    from metrics.models.encoder import Encoder

BLOCK = 1 << 13
"""How many utterances, padded, are judged at a time."""
SPEAKERS = 2
"""How many speakers have relations of their own."""


@dataclass(frozen=True, slots=True)
class Spoken:
    """A dialogue as rows of a table, and who speaks, by the order in which they begin: (utterances,) each."""

    rows: Rows
    speakers: Rows

    def __len__(self) -> int:
        return len(self.rows)


def spoken(utterances: Sequence[Utterance], table: Table) -> Spoken:
    """A dialogue as rows of the table; a blank utterance has the row of zeros."""
    numbers = {who: number for number, who in enumerate(dict.fromkeys(turn.speaker for turn in utterances))}
    return Spoken(table.rows(turn.text for turn in utterances),
                  np.array([numbers[turn.speaker] for turn in utterances], dtype=np.intp))


def graphs(dialogues: Sequence[Spoken], table: Table, window: int, speakers: int = SPEAKERS) -> Any:
    """The dialogues as one Batch: x (utterances, 2 · width), edge_index (2, edges), edge_type (edges,), batch."""
    import torch
    from torch_geometric.data import Batch

    lengths = np.array([len(one) for one in dialogues], dtype=np.intp)
    who = np.concatenate([one.speakers for one in dialogues])
    which = np.repeat(np.arange(len(dialogues)), lengths)
    edges, relations = _edges(which, np.minimum(who, speakers - 1), window, speakers)
    batch = Batch(x=table.tensor(np.concatenate([one.rows for one in dialogues])),
                  edge_index=torch.from_numpy(edges), edge_type=torch.from_numpy(relations),
                  batch=torch.from_numpy(which), ptr=torch.from_numpy(np.concatenate([[0], np.cumsum(lengths)])))
    batch._num_graphs = len(dialogues)
    return batch


def _edges(which: Rows, who: Rows, window: int, speakers: int) -> tuple[Rows, Rows]:
    """Every edge within the window, as (source, target), and its relation."""
    nodes = np.arange(len(which))
    pairs, relations = [], []
    reach = min(window, len(nodes) - 1)
    for away in range(-reach, reach + 1):
        target = nodes[max(0, -away) : len(nodes) - max(0, away)]
        target = target[which[target] == which[target + away]]
        source = target + away
        pairs.append(np.stack([source, target]))
        speak = (who[target] * speakers + who[source]) * 2 + int(away > 0)
        relations.append(speak if away else np.full(len(target), 2 * speakers * speakers))
    return np.concatenate(pairs, axis=1), np.concatenate(relations)


def scored(network: Any, items: Sequence[Item], encoder: Encoder, window: int, speakers: int = SPEAKERS) -> Column:
    """What the network says of each item; NaN of fewer than two utterances, or where none holds words."""
    table = Table((turn.text for item in items for turn in item.utterances), reading(encoder))
    dialogues = [spoken(item.utterances, table) for item in items]
    there = np.array([len(one) > 1 and bool(one.rows.any()) for one in dialogues], dtype=bool)
    return where(there, lambda kept: judged(
        network, [dialogues[place] for place in np.flatnonzero(kept)], table, window, speakers))


def judged(network: Any, dialogues: Sequence[Spoken], table: Table, window: int, speakers: int = SPEAKERS,
           exact: bool = True) -> Column:
    """What the network says of each dialogue; `exact`, in double precision, it is the same in whatever company."""
    import torch

    kind = torch.float64 if exact else torch.float32
    network = network.cpu().to(kind).eval()

    def said(rows: Rows) -> Column:
        found = np.full(len(rows), np.nan)
        with torch.inference_mode():
            for places in _blocks([len(dialogues[row]) for row in rows]):
                batch = graphs([dialogues[row] for row in rows[places]], table, window, speakers)
                batch.x = batch.x.to(kind)
                found[places] = network(batch).numpy()
        return found

    rows = np.arange(len(dialogues))
    return settled(rows, said) if exact else said(rows).round(DECIMALS)


def _blocks(lengths: Sequence[int]) -> Iterator[list[int]]:
    """The places of dialogues of like length, so many as make a block when padded to the longest."""
    block: list[int] = []
    for place in sorted(range(len(lengths)), key=lengths.__getitem__):
        if block and (len(block) + 1) * lengths[place] > BLOCK:
            yield block
            block = []
        block.append(place)
    if block:
        yield block
