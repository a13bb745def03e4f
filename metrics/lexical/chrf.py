"""chrF (Popović, 2015): the F-score of the character n-grams that response and reference share, as in sacreBLEU.

`word_order=2` adds word n-grams, which makes it chrF++ (Popović, 2017). The best of several references counts, so
`standard` and `max` are the same.
"""

from __future__ import annotations

import string
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

from benchmarks.dataset import Item
from metrics.errors import BadOption
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models
from metrics.text.words import Aggregation, Ngram, against_references, ngrams

_PUNCTUATION = frozenset(string.punctuation)

NgramCounts: TypeAlias = tuple[Counter[str | Ngram], int]
"""The counts of the n-grams of one order, and their total."""


@dataclass(frozen=True, slots=True)
class Chrf:
    """chrF = 100 · (1 + β²) · P · R / (β² · P + R),  P and R the means over the orders that both texts have."""

    card: ClassVar[MetricCard] = MetricCard(
        name="chrf", title="chrF", columns=("chrf",), family="lexical",
        needs=("references",), paper="https://aclanthology.org/W15-3049",
        notes="Equals sacreBLEU's sentence chrF, 0 to 100; word_order=2 is chrF++.", system="as published",
    )
    references: Aggregation = "standard"
    char_order: int = 6
    word_order: int = 0
    beta: float = 2.0
    lowercase: bool = False

    def __post_init__(self) -> None:
        if self.char_order < 0 or self.word_order < 0 or self.char_order + self.word_order < 1:
            raise BadOption("chrf: char_order and word_order must be 0 or more, and not both 0")
        if not self.beta > 0:
            raise BadOption(f"chrf: beta must be greater than 0, not {self.beta}")

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return chrF, 0 to 100; NaN without a reference."""
        return {"chrf": against_references(items, self.references, self._profile, self._f)}

    def _profile(self, text: str, _language: str) -> list[NgramCounts]:
        """Return the n-gram counts of each order, first of characters, then of words."""
        text = text.lower() if self.lowercase else text
        characters = "".join(text.split())
        words = list(_words(text)) if self.word_order else []
        counts: list[Counter[str | Ngram]] = [
            Counter([characters[start : start + order] for start in range(len(characters) - order + 1)])
            for order in range(1, self.char_order + 1)]
        counts += [Counter(ngrams(words, order)) for order in range(1, self.word_order + 1)]
        return [(count, count.total()) for count in counts]

    def _f(self, response: Sequence[NgramCounts], reference: Sequence[NgramCounts]) -> float:
        precision = recall = 0.0
        effective = 0
        for (counts, total), (reference_counts, reference_total) in zip(response, reference, strict=True):
            if counts and reference_counts:
                matches = (counts & reference_counts).total()
                precision += matches / total  # not sum(), whose rounding depends on the version of Python
                recall += matches / reference_total
                effective += 1
        if precision + recall == 0:
            return 0.0
        precision, recall, square = precision / effective, recall / effective, self.beta**2
        return 100 * ((1 + square) * precision * recall / (square * precision + recall))


def _words(text: str) -> Iterator[str]:
    """Yield the words of a text; punctuation at the end of a word, or else at its beginning, is a word too."""
    for word in text.split():
        if len(word) > 1 and word[-1] in _PUNCTUATION:
            yield from (word[:-1], word[-1])
        elif len(word) > 1 and word[0] in _PUNCTUATION:
            yield from (word[0], word[1:])
        else:
            yield word
