"""A trained judgement of context, reference and response, over the references that an item has."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from benchmarks.dataset import Item
from metrics.metric import Column
from metrics.text.words import Aggregation, over_references, sharing
from metrics.trained.heads.pairs import Rows, Table, items_table

if TYPE_CHECKING:
    from metrics.models.encoder import Encoder

Judgement: TypeAlias = Callable[[Table, Rows, Rows, Rows], Column]
"""What is thought of contexts (n, TURNS), references (n,) and responses (n,) of a table."""


def against_references(items: Sequence[Item], encoder: Encoder, references: Aggregation, judge: Judgement) -> Column:
    """The judgement with each reference, as one: their mean or the best; NaN without a reference."""
    texts = [reference.text for item in items for reference in item.references]
    table, contexts, replies = items_table(items, encoder, *texts)
    owners: list[int] = []
    others: list[str] = []
    for together, members in sharing(items, "max" if references == "standard" else references):
        for row, _ in members:
            owners += [row] * len(together)
            others += [reference.text for reference in together]
    column = np.full(len(items), np.nan)
    if owners:
        owner = np.array(owners, dtype=np.intp)
        scores = judge(table, contexts[owner], table.rows(others), replies[owner])
        starts = np.flatnonzero(np.diff(owner, prepend=-1))
        for start, part in zip(starts, np.split(scores, starts[1:]), strict=True):
            column[owner[start]] = over_references(part.tolist(), references)
    return column
