"""Readings: the texts, pairs and dialogues that are inputs of a scorer, made from items."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from benchmarks.dataset import Item
from metrics.column import Column
from metrics.text.words import Aggregation, over_references, reply, sharing


class Pair(NamedTuple):
    """A response and the utterances or facts before it, in order; `reference` is a known good response."""

    context: tuple[str, ...]
    response: str
    reference: str = ""


Dialogue: TypeAlias = tuple[str, ...]
Reading: TypeAlias = str | Pair | Dialogue


def spoken(texts: Iterable[str]) -> tuple[str, ...]:
    return tuple(text for text in texts if text.strip())


def pairs(items: Sequence[Item]) -> list[Pair | None]:
    """Return each item's context and response; None without a context."""
    contexts = [spoken(turn.text for turn in item.context) for item in items]
    return [Pair(context, reply(item)) if context else None for context, item in zip(contexts, items, strict=True)]


def responses(items: Sequence[Item]) -> list[str]:
    return [reply(item) for item in items]


def dialogues(items: Sequence[Item]) -> list[Dialogue | None]:
    """Return each item's utterances; None for fewer than two, or for a blank response."""
    texts = [() if item.response is not None and not item.response.text.strip() else
             spoken(turn.text for turn in item.utterances) for item in items]
    return [dialogue if len(dialogue) > 1 else None for dialogue in texts]


def by_reference(items: Sequence[Item], references: Aggregation,
                 score: Callable[[Sequence[tuple[int, str, str]]], Column]) -> Column:
    """Return the mean or best `score` over each item's references; NaN without references.

    `score` takes tuples of the item's index, a reference and the response; `standard` means `max`.
    """
    rows = [(row, reference.text, response)
            for shared, members in sharing(items, "max" if references == "standard" else references)
            for row, response in members for reference in shared]
    column = np.full(len(items), np.nan)
    scores: dict[int, list[float]] = {}
    for (row, *_), value in zip(rows, score(rows) if rows else (), strict=True):
        scores.setdefault(row, []).append(float(value))
    for row, values in scores.items():
        column[row] = over_references(values, references)
    return column
