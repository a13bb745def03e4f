"""BLEU (Papineni et al., 2002) of a single response, orders 1 to 4, computed by sacreBLEU.

Since sentences are short, orders longer than the response are skipped (effective order) and zero matches are smoothed.
`standard` clips an n-gram at its largest count in a single reference and compares with the closest reference length.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

from benchmarks.dataset import Item
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models
from metrics.text.words import Aggregation, Tokenizer, over_references, reference_groups, sacrebleu, unscored

if TYPE_CHECKING:
    from sacrebleu.metrics.bleu import BLEUScore

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
            package = sacrebleu(items[replies[0][0]].language, self.tokenize, self.lowercase)
            texts = [reference.text for reference in references]
            groups = [texts] if self.references == "standard" else [[text] for text in texts]
            for row, text in replies:
                counts = [package.sentence_score(text, group) for group in groups]
                scores = [smoothed(count.counts, count, self.smoothing) for count in counts]
                table[:, row] = [over_references(order, self.references) for order in zip(*scores, strict=True)]
        return dict(zip(self.card.columns, table, strict=True))


def smoothed(matches: Sequence[Any], counts: BLEUScore, smoothing: Smoothing) -> list[float]:
    """Return BLEU-n for each n, given the matches of each order, which replace those of `counts`."""
    from sacrebleu.metrics.bleu import BLEU

    return [BLEU.compute_bleu(list(matches[:order]), counts.totals[:order], counts.sys_len, counts.ref_len, smoothing,
                              effective_order=True, max_ngram_order=order).score for order in ORDERS]
