"""ΔBLEU (Galley et al., 2015): BLEU with references rated by people, from 1 (apt) to −1 (inept).

N-grams of good references count more than n-grams found only in poor ones; n-grams found only in references rated below
zero count against the response. `Reference.weight` is the rating.

The paper scores corpora. For single responses, BLEU's smoothing is applied to matches divided by the largest weight, so
that the score does not depend on the scale of the weights. Matches of an order that sum to less than 0 count as 0.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from benchmarks.dataset import Item
from metrics.lexical.bleu import ORDERS, Smoothing, smoothed
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models
from metrics.text.words import Ngram, ngrams, reference_groups, sacrebleu, tokens, unscored


@dataclass(frozen=True, slots=True)
class DeltaBleu:
    """p_n = Σ_g max_{j: g∈r_j} w_j · min(#_g(h), #_g(r_j))  /  Σ_g max_j w_j · #_g(h), combined as BLEU-4."""

    card: ClassVar[MetricCard] = MetricCard(
        name="delta-bleu", title="ΔBLEU", columns=("delta-bleu",), family="lexical",
        needs=("references",), paper="https://aclanthology.org/P15-2073",
        notes="BLEU-4 with weighted references, 0 to 100; equals BLEU-4 where all weights are the same.",
        system="as published",
    )
    smoothing: Smoothing = "exp"
    lowercase: bool = False

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return ΔBLEU, 0 to 100; NaN without a reference of positive weight."""
        table = unscored(1, len(items))
        for references, replies in reference_groups(items, "standard"):
            weights = [reference.weight for reference in references]
            largest_weight = max(weights)
            if largest_weight <= 0:
                continue
            language = items[replies[0][0]].language
            package, texts = sacrebleu(language, lowercase=self.lowercase), [reference.text for reference in references]
            counted = list(zip(weights, (self._ngrams(text, language) for text in texts), strict=True))
            for row, text in replies:
                totals = _weighted_matches(self._ngrams(text, language), counted)
                matches = [max(0.0, total / largest_weight) for total in totals]
                table[0, row] = smoothed(matches, package.sentence_score(text, texts), self.smoothing)[-1]
        return {"delta-bleu": table[0]}

    def _ngrams(self, text: str, language: str) -> Counter[Ngram]:
        words = tokens(text, self.lowercase, language)
        return Counter(ngram for order in ORDERS for ngram in ngrams(words, order))


def _weighted_matches(response: Counter[Ngram], references: Sequence[tuple[float, Counter[Ngram]]]) -> list[float]:
    """Return for each order the sum over the response's n-grams of the best weighted match with a reference."""
    totals = [0.0] * len(ORDERS)
    for ngram, count in response.items():
        totals[len(ngram) - 1] += max((weight * min(count, counts[ngram]) for weight, counts in references
                                       if ngram in counts), default=0.0)
    return totals
