"""Perplexity of the response under a language model, negated so that higher is better.

`context=none` scores the response alone, `all` after the whole context and `last` after its last utterance. Without a
context, the first token follows the model's beginning-of-text token; scripts that use a model's loss skip it. A long,
ordinary response is less surprising per token than a short one; compare the metric `length`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Literal

import numpy as np

from benchmarks.dataset import Item
from metrics.likelihood._context import LONGEST, Separator, conditional, unconditional
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models

_MAX_EXPONENT = 700.0
"""Limit of the exponent; exp overflows above about 709."""


@dataclass(frozen=True, slots=True)
class Perplexity:
    """−exp(−1/n · Σ_t log p(r_t | r_1 … r_{t−1})), or with the context before r."""

    card: ClassVar[MetricCard] = MetricCard(
        name="perplexity", title="Perplexity (negated)", columns=("perplexity",), family="likelihood", models=("lm",),
        notes="Minus the perplexity of the response under a language model.", system="baseline", later=("longest",),
    )
    lm: str = ""
    context: Literal["none", "all", "last"] = "none"
    separator: Separator = "end"
    longest: int = LONGEST

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return minus the perplexity, at most −1; NaN without a token, or without the requested context."""
        model = models.lm(self.lm)
        means = unconditional(items, model) if self.context == "none" else conditional(
            items, model, self.context, self.separator, self.longest)
        return {"perplexity": np.where(np.isfinite(means), -np.exp(np.minimum(-means, _MAX_EXPONENT)), np.nan)}

    def depends(self, models: Models) -> Mapping[str, str]:
        """Mark scores after contexts of several turns, which an earlier version truncated differently."""
        return {"cut": "turns"} if self.context == "all" else {}
