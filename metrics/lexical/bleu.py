"""BLEU (Papineni et al., 2002) of a single response, orders 1 to 4, equal to sacreBLEU's `sentence_score`.

Since sentences are short, orders longer than the response are skipped (effective order) and zero matches are smoothed.
`standard` clips an n-gram at its largest count in a single reference and compares with the closest reference length.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal, TypeAlias

from benchmarks.dataset import Item
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models
from metrics.text.words import Aggregation, BitTexts, Tokenizer, over_references, reference_groups, tokens, unscored

ORDERS = (1, 2, 3, 4)

Smoothing: TypeAlias = Literal["exp", "add-k", "floor", "none"]
"""Orders without matches count as 1/2, 1/4, ... of a match (exp) or as 0.1 (floor); add-k adds a match and an n-gram to
orders above 1."""


@dataclass(frozen=True, slots=True)
class Bleu:
    """BLEU-n = 100 · BP · exp(1/n · Σ_{k≤n} log p_k),  p_k = clipped matches / n-grams,  BP = exp(min(0, 1 − r/c))."""

    card: ClassVar[MetricCard] = MetricCard(
        name="bleu", title="BLEU", columns=tuple(f"bleu-{order}" for order in ORDERS), family="lexical",
        needs=("references",), paper="https://aclanthology.org/P02-1040",
        notes="Equals sacreBLEU's sentence BLEU (effective order; 13a, or the language's tokenizer), 0 to 100.",
        system="as published",
    )
    references: Aggregation = "standard"
    smoothing: Smoothing = "exp"
    lowercase: bool = False
    tokenize: Tokenizer = "language"

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return BLEU, 0 to 100; NaN without a reference."""
        table = unscored(len(ORDERS), len(items))
        for references, replies in reference_groups(items, self.references):
            language = items[replies[0][0]].language
            tokenised = [tokens(reference.text, self.lowercase, language, self.tokenize) for reference in references]
            pools = [BitTexts(texts) for texts in ([tokenised] if self.references == "standard" else zip(tokenised))]
            for row, text in replies:
                response = tokens(text, self.lowercase, language, self.tokenize)
                scores = [geometric_means(_matches(response, pool), len(response), closest(len(response), pool.lengths),
                                          self.smoothing) for pool in pools]
                table[:, row] = scores[0] if len(pools) == 1 else [over_references(order, self.references)
                                                                   for order in zip(*scores, strict=True)]
        return dict(zip(self.card.columns, table, strict=True))


@functools.lru_cache(maxsize=1 << 12)
def geometric_means(matches: tuple[float, ...], length: int, closest: int, smoothing: Smoothing) -> tuple[float, ...]:
    """Return BLEU-n for each n, 0 if no order up to n has a match; cached, as short texts often have equal counts."""
    brevity = 1.0 if length >= closest else math.exp(1 - closest / length) if length else 0.0
    scores: list[float] = []
    logs: list[float] = []
    mean, doubled, matched = 0.0, 1.0, False
    for order, match in enumerate(matches, 1):
        matched = matched or match > 0
        added = smoothing == "add-k" and order > 1
        total = max(0, length - order + 1) + added
        if total > 0:
            doubled *= 2 if match == 0 else 1
            logs.append(_log_precision(match + added, total, doubled, smoothing))
            mean = brevity * math.exp(sum(logs) / order)
        scores.append(mean if matched else 0.0)
    return tuple(scores)


def closest(length: int, lengths: Sequence[int]) -> int:
    """Return the reference length nearest to that of the response; the shorter one in a tie."""
    return min(lengths, key=lambda other: (abs(other - length), other))


def _log_precision(match: float, total: int, doubled: float, smoothing: Smoothing) -> float:
    if match > 0:
        return math.log(100.0 * match / total)
    if smoothing == "exp":
        return math.log(100.0 / (doubled * total))
    return math.log(100.0 * 0.1 / total) if smoothing == "floor" else -math.inf


def _matches(response: Sequence[str], references: BitTexts) -> tuple[int, ...]:
    matches = [0] * len(ORDERS)
    for order, matched in enumerate(references.matches(response, len(ORDERS))):
        if not matched:  # so no longer n-gram matches either
            break
        matches[order] = len(matched)
        if len(set(matched)) < len(matched):
            matches[order] -= sum(max(0, count - max(references.counts(bits)))
                                  for bits, count in Counter(matched).items() if count > 1)
    return tuple(matches)
