"""Distinct-n (Li et al., 2016) of a single response: its share of distinct n-grams. Short responses score high."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from benchmarks.dataset import Item
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models
from metrics.text.words import ngrams, reply, tokens, unscored

ORDERS = (1, 2)


@dataclass(frozen=True, slots=True)
class Distinct:
    """distinct-n = |distinct n-grams| / |n-grams|, over BLEU's tokens."""

    card: ClassVar[MetricCard] = MetricCard(
        name="distinct", title="Distinct", columns=tuple(f"distinct-{order}" for order in ORDERS),
        family="lexical", paper="https://aclanthology.org/N16-1014",
        notes="Counted within the response alone; needs no reference.", system="another method",
        departures=("Counted within one response, whereas the paper counts over all responses of a system.",),
    )
    lowercase: bool = False

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return a share, 0 to 1; NaN for a response shorter than n tokens."""
        table = unscored(len(ORDERS), len(items))
        for row, item in enumerate(items):
            response = tokens(reply(item), self.lowercase, item.language)
            for index, order in enumerate(ORDERS):
                if len(response) >= order:
                    table[index, row] = len(set(ngrams(response, order))) / (len(response) - order + 1)
        return dict(zip(self.card.columns, table, strict=True))
