"""Facts that a reply may rest on, as sentences and as rows of a table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.dataset import Item
from metrics.trained.heads.pairs import Rows, Table, items_table

if TYPE_CHECKING:
    from metrics.models.encoder import Encoder

SENTENCES = 32
"""How many sentences of facts are read for an item."""
_PREFIX = re.compile(r"^(your|partner's) persona:\s*")
_END = re.compile(r"(?<=[.!?])\s+")


def sentences(facts: Iterable[str]) -> list[str]:
    """The sentences of facts that hold a letter or digit, without the words that say whose persona it is."""
    found = [part for fact in facts for part in _END.split(_PREFIX.sub("", fact.strip()))]
    return [part for part in found if any(map(str.isalnum, part))][:SENTENCES]


def facts_table(items: Sequence[Item], facts: Sequence[Sequence[str]], encoder: Encoder) -> tuple[Table, Rows, Rows]:
    """The table of contexts, responses and facts, with the rows of the first two."""
    return items_table(items, encoder, *(text for several in facts for text in several))


def fact_rows(table: Table, facts: Sequence[Sequence[str]]) -> Rows:
    """The rows of each item's facts, filled up with 0: (items, most facts of an item, at least 1)."""
    longest = max((len(several) for several in facts), default=0)
    found = np.zeros((len(facts), max(1, longest)), dtype=np.intp)
    for place, several in enumerate(facts):
        rows = table.rows(several)
        found[place, : np.count_nonzero(rows)] = rows[rows > 0]
    return found
