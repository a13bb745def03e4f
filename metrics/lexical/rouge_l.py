"""ROUGE-L (Lin, 2004): the longest common subsequence of response and reference, as in the rouge-score package.

Its length is computed with one bit per word of the reference (Hyyrö, 2004), for all references in one pass: they are
concatenated in one integer, each followed by a free bit for the carry of the addition.

`max` is the package's `score_multi`. `standard` is the F-measure of the largest precision and the largest recall
over the references, as reported by papers with several references per context.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from benchmarks.dataset import Item, primary_language
from metrics.errors import BadOption
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models
from metrics.text.words import Aggregation, BitTexts, over_references, reference_groups, stem, unscored, words

_WORD = re.compile("[a-z0-9]+")


@dataclass(frozen=True, slots=True)
class RougeL:
    """F = (1 + β²) · P · R / (β² · P + R),  P = LCS / |response|,  R = LCS / |reference|."""

    card: ClassVar[MetricCard] = MetricCard(
        name="rouge-l", title="ROUGE-L", columns=("rouge-l",), family="lexical",
        needs=("references",), paper="https://aclanthology.org/W04-1013",
        notes="Equals the rouge-score package; other toolkits use beta=1.2.", system="as published",
    )
    references: Aggregation = "standard"
    stem: bool = False
    beta: float = 1.0

    def __post_init__(self) -> None:
        if not self.beta > 0:
            raise BadOption(f"rouge-l: beta must be greater than 0, not {self.beta}")

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return ROUGE-L, 0 to 1; NaN without a reference."""
        table = unscored(1, len(items))
        for references, replies in reference_groups(items, self.references):
            language = items[replies[0][0]].language
            pool = BitTexts([_words(reference.text, self.stem, language) for reference in references])
            for row, text in replies:
                response = _words(text, self.stem, language)
                table[0, row] = self._aggregated(_precisions_and_recalls(response, pool))
        return {"rouge-l": table[0]}

    def _aggregated(self, pairs: Sequence[tuple[float, float]]) -> float:
        if self.references == "standard":
            precisions, recalls = zip(*pairs, strict=True)
            return _f(max(precisions), max(recalls), self.beta)
        return over_references([_f(precision, recall, self.beta) for precision, recall in pairs], self.references)


def _f(precision: float, recall: float, beta: float) -> float:
    square = beta * beta
    return (1 + square) * precision * recall / (square * precision + recall) if precision + recall > 0 else 0.0


def _words(text: str, stemmed: bool, language: str) -> list[str]:
    if primary_language(language) != "en":  # the package reads only ASCII letters, and Porter's stems are English
        return words(text, language)
    plain = _WORD.findall(text.lower())  # the package stems only words of more than three letters
    return [stem(word) if len(word) > 3 else word for word in plain] if stemmed else plain


def _precisions_and_recalls(response: Sequence[str], pool: BitTexts) -> list[tuple[float, float]]:
    all_bits = sum(pool.spans)
    open_ = all_bits  # a bit is cleared where the common subsequence grows
    for word in response:
        if matches := open_ & pool.positions.get(word, 0):
            open_ = (open_ + matches | open_ - matches) & all_bits
    return [(common / len(response), common / length) if common else (0.0, 0.0)
            for common, length in zip(pool.counts(all_bits & ~open_), pool.lengths, strict=True)]
