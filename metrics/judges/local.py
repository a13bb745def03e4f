"""A judge on this machine: the answer of a chat model, read off the probabilities of its next token.

Nothing is sampled and no answer is parsed, so the same model gives the same score. A question is written as the model's
chat template has it, up to the place where the score would stand:

    answer = "number"    the whole numbers of the scale: their mean, weighted by their probabilities
    answer = "json"      the same for each quality, after the beginning of an object that names it first
    answer = "yes"       log p(Yes) − log p(No)

The probability of everything else is left out. The questions about replies to one context share what is read of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from benchmarks.dataset import Item
from metrics.errors import BadOption, CannotScore
from metrics.judges import prompt as prompts
from metrics.judges.prompt import JudgedQuality, Prompt, Question
from metrics.metric import Columns, MetricCard
from metrics.models.causal import Asked, LanguageModel
from metrics.models.service import Models

OTHER = "\ue000"
"""A response that no other begins like."""
YES, NO = ("Yes", " Yes", "yes", " yes"), ("No", " No", "no", " no")


@dataclass(frozen=True, slots=True)
class LocalJudge:
    """Ratings by a language model: expected values over the answers on the prompt's scales."""

    card: ClassVar[MetricCard]
    prompt: ClassVar[Prompt]
    lm: str = ""

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return a score per quality and their mean; NaN for an item that lacks what the prompt needs."""
        model = models.lm(self.lm)
        rows = [row for row, item in enumerate(items) if all(getattr(item, need) for need in self.prompt.needs)]
        asked = [self._asked(items[row], model) for row in rows]
        if self.prompt.answer == "yes":
            answers = [*model.tokens_among(YES), *model.tokens_among(NO)]
        else:
            scales = (_whole(self.prompt, quality) for quality in self.prompt.qualities)
            answers = sorted({str(value) for scale in scales for value in scale})
        table = np.full((len(self.prompt.qualities), len(items)), np.nan)
        for row, read in zip(rows, model.answers(asked, answers), strict=True):
            for place, quality in enumerate(self.prompt.qualities):
                table[place, row] = self._value(quality, read[place].astype(np.float64), answers)
        return prompts.columns(self.prompt, table)

    def depends(self, models: Models) -> tuple[str, ...]:  # noqa: ARG002
        """The prompt as it reads."""
        return (f"prompt={self.prompt.name}@{self.prompt.digest}",)

    def _asked(self, item: Item, model: LanguageModel) -> Asked:
        """Return a text per quality, and the same for another response, to find the part before the response.

        Of a dialogue that is too long for the model the first turns are left out.
        """
        for first in range(len(item.context) + 1):
            shorter = item if not first else replace(item, context=item.context[first:])
            texts = self._texts(shorter, model)
            if all(map(model.fits, texts)):
                other = item.response and replace(item.response, text=OTHER)
                return texts, self._texts(replace(shorter, response=other), model)
        raise CannotScore(f"item {item.id}: the question is too long for {model.name} without any context")

    def _texts(self, item: Item, model: LanguageModel) -> tuple[str, ...]:
        return tuple(text for question in prompts.questions(self.prompt, item)
                     for text in self._written(question, model))

    def _written(self, question: Question, model: LanguageModel) -> list[str]:
        text = model.conversation(question.messages)
        if question.form != "json":
            return [text]
        return [text + '{"' + quality.name + '": ' for quality in question.qualities]

    def _value(self, quality: JudgedQuality, read: npt.NDArray[np.float64], answers: Sequence[str]) -> float:
        if self.prompt.answer == "yes":
            yes, no = ([place for place, answer in enumerate(answers) if answer in side] for side in (YES, NO))
            return float(np.logaddexp.reduce(read[yes]) - np.logaddexp.reduce(read[no]))
        values = np.array([float(answer) for answer in answers])
        on_scale = (values >= quality.low) & (values <= quality.high)
        weights = np.exp(read[on_scale] - read[on_scale].max())
        return float((values[on_scale] * weights).sum() / weights.sum())


def _whole(prompt: Prompt, quality: JudgedQuality) -> list[int]:
    """Return the whole numbers on a scale; BadOption if one of them is not a single token."""
    if quality.low < 0 or quality.high > 9:
        raise BadOption(f"{prompt.name}: the scale of {quality.name} is {quality.low:g} to {quality.high:g}; a model's "
                        "next token is a single digit, so `lm=` takes scales within 0 to 9")
    return list(range(int(np.ceil(quality.low)), int(np.floor(quality.high)) + 1))
