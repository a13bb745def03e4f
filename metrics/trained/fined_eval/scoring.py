"""How FineD-Eval scores items: dialogues of like length are read together, in double precision."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.dataset import Item
from metrics.metric import Column, Columns
from metrics.models.service import Models
from metrics.trained.fined_eval.pairs import DIMENSIONS, padded
from metrics.trained.heads.pairs import Table, computed, probabilities, reading, settled

TOGETHER = 4096
"""Utterances, with those that fill up, that are read together."""


def scored(items: Sequence[Item], models: Models, name: str, encoder: str) -> Columns:
    """The three dimensions, 0 to 1, and their mean under the name; NaN for fewer than two utterances with words."""
    from metrics.trained.fined_eval.network import FinedEval

    network, read = models.trained(name, FinedEval, encoder), models.encoder(encoder)
    said = [spoken(item) for item in items]
    table = Table((text for texts in said for text in texts), reading(read))
    there = np.asarray(table.vectors.any(axis=1))  # an encoder can find nothing in what is no blank
    rows = [some[there[some]] for some in map(table.rows, said)]
    found = np.full((len(items), len(DIMENSIONS)), np.nan)
    for places in together([len(one) for one in rows]):
        found[places] = probabilities(settled(np.array(places), lambda some: computed(
            network, table, padded([rows[place] for place in some]))))
    return fused(name, found)


def fused(name: str, found: Column) -> Columns:
    """A column for each dimension (items, 3), and the mean of the three, which is the paper's late fusion."""
    columns = {f"{name}-{dimension}": found[:, place] for place, dimension in enumerate(DIMENSIONS)}
    return {name: found.mean(1), **columns}


def spoken(item: Item) -> list[str]:
    """What is said in a dialogue, or in a context and its response; nothing where the response holds no words."""
    if item.response is not None and not item.response.text.strip():
        return []
    return [turn.text for turn in item.utterances if turn.text.strip()]


def together(lengths: Sequence[int]) -> Iterator[list[int]]:
    """Places of like length, so that few utterances are filled up; those of fewer than two are in none."""
    batch: list[int] = []
    for place in sorted((place for place, length in enumerate(lengths) if length > 1), key=lengths.__getitem__):
        if batch and (len(batch) + 1) * lengths[place] > TOGETHER:
            yield batch
            batch = []
        batch.append(place)
    if batch:
        yield batch
