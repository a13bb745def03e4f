"""chrF (Popović, 2015): the F-score of the character n-grams that response and reference share, by sacreBLEU.

`word_order=2` adds word n-grams, which makes it chrF++ (Popović, 2017). The best of several references counts, so
`standard` and `max` are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from benchmarks.dataset import Item
from metrics.errors import BadOption
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models
from metrics.text.words import Aggregation, against_references


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
        from sacrebleu.metrics.chrf import CHRF

        package = CHRF(self.char_order, self.word_order, self.beta, self.lowercase)  # type: ignore[arg-type]
        return {"chrf": against_references(items, self.references, lambda text, _: text,
                                           lambda response, text: package.sentence_score(response, [text]).score)}
