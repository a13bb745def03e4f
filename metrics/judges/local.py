"""A judge on this machine: ratings read off the probabilities of a chat model's next token.

Nothing is sampled or parsed, so the same model gives the same score. A question is written in the model's chat
template, up to the position of the score:

    answer = "number"    the mean of the integers on the scale, weighted by their probabilities
    answer = "json"      likewise for each quality, after the start of a JSON object with the quality as its first key
    answer = "yes"       log p(Yes) − log p(No)

The probabilities of all other tokens are ignored. The common beginning of several prompts is processed once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from benchmarks.dataset import Item
from metrics.errors import BadOption, CannotScore
from metrics.judges import prompt as prompts
from metrics.judges.prompt import JudgedQuality, Prompted
from metrics.metric import Columns, MetricCard
from metrics.models.causal import LanguageModel
from metrics.models.service import Models

YES, NO = ("Yes", " Yes", "yes", " yes"), ("No", " No", "no", " no")


@dataclass(frozen=True, slots=True)
class LocalJudge(Prompted):
    """Ratings by a language model: expected values of its answers on the prompt's scales."""

    card: ClassVar[MetricCard]
    lm: str = ""

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return a score per quality and their mean; NaN for items that lack what the prompt needs or are too long."""
        model = models.lm(self.lm)
        if self.prompt.answer == "yes":
            answers = [*model.tokens_among(YES), *model.tokens_among(NO)]
        else:
            answers = sorted({str(value) for quality in self.prompt.qualities for value in _digits(quality)})
        questions = {row: texts for row, item in enumerate(items)
                     if self.takes(item) and (texts := self._questions(item, model))}
        if not questions and any(map(self.takes, items)):
            raise CannotScore(f"the questions about all items are too long for {model.name}, even without context")
        table = np.full((len(self.prompt.qualities), len(items)), np.nan)
        for row, logits in zip(questions, model.answers([*questions.values()], answers), strict=True):
            for number, quality in enumerate(self.prompt.qualities):
                table[number, row] = self._value(quality, logits[number].astype(np.float64), answers)
        return prompts.columns(self.prompt, table)

    def depends(self, models: Models) -> Mapping[str, str]:
        return {"prompt": f"{self.prompt.name}@{self.prompt.digest}"}

    def _questions(self, item: Item, model: LanguageModel) -> tuple[str, ...]:
        """Return a prompt per quality, without the oldest turns if necessary; none if even the last is too long."""
        for start in range(len(item.utterances)):
            texts = self._texts(replace(item, context=item.context[start:]), model)
            if all(map(model.fits, texts)):
                return texts
        return ()

    def _texts(self, item: Item, model: LanguageModel) -> tuple[str, ...]:
        texts: list[str] = []
        for question in prompts.questions(self.prompt, item):
            text = model.conversation(question.messages)
            json = question.form == "json"
            texts += [text + '{"' + quality.name + '": ' for quality in question.qualities] if json else [text]
        return tuple(texts)

    def _value(self, quality: JudgedQuality, logits: npt.NDArray[np.float64], answers: Sequence[str]) -> float:
        if self.prompt.answer == "yes":
            yes, no = (logits[[answer in side for answer in answers]] for side in (YES, NO))
            return float(np.logaddexp.reduce(yes) - np.logaddexp.reduce(no))
        values = np.array([float(answer) for answer in answers])
        on_scale = (values >= quality.low) & (values <= quality.high)
        weights = np.exp(logits[on_scale] - logits[on_scale].max())
        return float((values[on_scale] * weights).sum() / weights.sum())


def _digits(quality: JudgedQuality) -> list[int]:
    """Return the integers on a scale; raise BadOption if one of them has several digits or a sign."""
    if quality.low < 0 or quality.high > 9:
        raise BadOption(f"the scale of {quality.name} is {quality.low:g} to {quality.high:g}, but with `lm=` it must "
                        "lie within 0 to 9, since the answer is a single digit")
    return list(range(int(np.ceil(quality.low)), int(np.floor(quality.high)) + 1))
