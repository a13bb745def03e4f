"""The two measures of Pang et al. (2020) that need only GPT-2: context coherence and fluency of the response.

Each is a mean log-likelihood per token, scaled to 0..1 by the 5th percentile of the dataset. As in the paper, and
unlike its released script, the coherence is divided by the response's length.

Departures besides those in the card: the first token of a response follows the beginning-of-text token; an empty
response, which the script scores −10⁶, gets 0 and does not affect the percentile.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from benchmarks.dataset import Item
from metrics.likelihood._context import LONGEST, Separator, Turns, conditional, scaled, unconditional
from metrics.metric import Columns, MetricCard
from metrics.models.service import Models


@dataclass(frozen=True, slots=True)
class Holistic:
    """1 − max(low, m) / low,  low the 5th percentile of m,  m = 1/n · Σ_t log p(r_t | c, r_<t) or without c."""

    card: ClassVar[MetricCard] = MetricCard(
        name="holistic", title="Holistic evaluation: coherence and fluency",
        columns=("holistic-coherence", "holistic-fluency"), family="likelihood", models=("lm",), scope="dataset",
        revision=2, paper="https://aclanthology.org/2020.acl-main.333",
        notes="Likelihood of the response with and without its context, scaled within the dataset.",
        system="same method, smaller model", later=("longest",),
        departures=(
            "A small causal model by default, not a GPT-2 fine-tuned on the dialogues.",
            "The whole context is used, not one utterance (turns=last); the first token of a response counts.",
            "The context is truncated to 1,024 tokens, in whole turns (longest).",
        ),
    )
    lm: str = ""
    turns: Turns = "all"
    separator: Separator = "space"
    longest: int = LONGEST

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return coherence and fluency, 0 to 1; coherence is NaN without a context."""
        model = models.lm(self.lm)
        return {"holistic-coherence": scaled(conditional(items, model, self.turns, self.separator, self.longest)),
                "holistic-fluency": scaled(unconditional(items, model))}
