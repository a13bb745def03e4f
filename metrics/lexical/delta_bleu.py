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
from metrics.lexical.bleu import ORDERS, Smoothing, closest, geometric_means
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models
from metrics.text.words import BitTexts, reference_groups, tokens, unscored


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
            pool = BitTexts([tokens(reference.text, self.lowercase, language) for reference in references])
            for row, text in replies:
                response = tokens(text, self.lowercase, language)
                totals = _weighted_matches(response, pool, weights)
                matches = tuple(max(0.0, total / largest_weight) for total in totals)
                closest_length = closest(len(response), pool.lengths)
                table[0, row] = geometric_means(matches, len(response), closest_length, self.smoothing)[-1]
        return {"delta-bleu": table[0]}


def _weighted_matches(response: Sequence[str], pool: BitTexts, weights: Sequence[float]) -> list[float]:
    """Return for each order the sum over the response's n-grams of the best weighted match with a reference."""
    def best_match(count: int, counts: Sequence[int]) -> float:
        return max(weight * min(count, in_reference)
                   for weight, in_reference in zip(weights, counts, strict=True) if in_reference)

    return [sum(best_match(count, pool.counts(bits)) for bits, count in Counter(matched).items())
            for matched in pool.matches(response, len(ORDERS))]
