"""Pointwise mutual information of context and response.

log p(r | c) − log p(r) is large if a response fits this context better than others, so that "I don't know", which is
likely after anything, gains nothing. Li et al. (2016) propose to generate the response that maximises it (maximum
mutual information); here it is computed by a causal language model without fine-tuning.

A dialogue is written with one utterance per line, prefixed by its speaker (`A:`, `B:`). Facts come first, since a
context that is too long loses its beginning. The unconditional likelihood is that of the response after its prefix, or
after `start` and its prefix. The use of prefixes and of the whole context was chosen on DailyDialog++ (docs/models.md),
not on rated datasets.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from benchmarks.dataset import Item
from metrics.likelihood._context import LONGEST, Turns, prefixes
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models
from metrics.text.words import reply, unscored


@dataclass(frozen=True, slots=True)
class Pmi:
    """1/n · Σ_t [log p(r_t | c, r_<t) − log p(r_t | r_<t)]; pmi-sum without 1/n; pmi-share = pmi-sum / −log p(r).

    pmi-likelihood = 1/n · Σ_t log p(r_t | c, r_<t).
    """

    card: ClassVar[MetricCard] = MetricCard(
        name="pmi", title="Pointwise mutual information",
        columns=("pmi", "pmi-sum", "pmi-share", "pmi-likelihood"), family="likelihood", needs=("context",),
        models=("lm",), revision=2, paper="https://aclanthology.org/N16-1014",
        notes="How much likelier the context makes the response, under a language model without fine-tuning.",
        system="baseline", later=("longest",), departures=(
            "The quantity that the paper maximises over responses, computed by a language model without fine-tuning.",
            "The context is truncated to 1,024 tokens, in whole turns (longest)."),
    )
    lm: str = ""
    turns: Turns = "all"
    speakers: bool = True
    facts: bool = True
    start: str = ""
    longest: int = LONGEST

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return natural logarithms and a ratio, pmi-share; NaN without a context or for an empty response."""
        model = models.lm(self.lm)
        rows = [row for row, item in enumerate(items) if reply(item).strip() and any(
            turn.text.strip() for turn in item.context)]
        responses = [self._response(items[row]) for row in rows]
        with_context = model.log_likelihoods([
            (self._context(items[row]), text) for row, text in zip(rows, responses, strict=True)], self.longest)
        without_context = model.log_likelihoods([
            (self._opening(items[row]), text) for row, text in zip(rows, responses, strict=True)])
        conditional, unconditional = (np.array([row.sum(dtype=np.float64) for row in by_token])
                                      for by_token in (with_context, without_context))
        sizes = np.array([max(1, values.size) for values in with_context])
        gain = conditional - unconditional
        columns = np.stack([gain / sizes, gain, gain / np.maximum(-unconditional, 1e-6), conditional / sizes])
        table = unscored(len(columns), len(items))
        table[:, rows] = columns
        return dict(zip(self.card.columns, table, strict=True))

    def _context(self, item: Item) -> tuple[str, ...]:
        facts = [fact for fact in item.facts if fact.strip()] if self.facts else []
        turns = item.context[-1:] if self.turns == "last" else item.context
        by_speaker = self._prefixes(item)
        lines = [f"{by_speaker.get(turn.speaker, '')} {' '.join(turn.text.split())}".strip() for turn in turns]
        *earlier, last = [f"{line}\n" for line in (*facts, *lines)]
        return (*earlier, last + self._last_prefix(item))

    def _opening(self, item: Item) -> str:
        prefix = self._last_prefix(item)
        return f"{self.start}\n{prefix}" if self.start or not prefix else prefix

    def _last_prefix(self, item: Item) -> str:
        return self._prefixes(item).get(item.response.speaker, "") if item.response else ""

    def _prefixes(self, item: Item) -> dict[str, str]:
        return prefixes(item) if self.speakers else {}

    def _response(self, item: Item) -> str:
        text = " ".join(reply(item).split())
        return f" {text}" if self.speakers else text
