"""`judge:PROMPT[model=NAME]`: a language model behind an OpenAI-compatible endpoint, asked with a prompt;
`judge:PROMPT[lm=NAME]`: a language model on this machine.

PROMPT is the name of a shipped prompt (`llm-eval`, `g-eval`, `quality`, `relevance`) or the path of a file
(`./my_judge.toml`, see metrics/judges/prompt.py). Each quality of the prompt is a column on its own scale; the plain
column is their mean, with each scale mapped to 0..1.

An endpoint's score is the mean over the samples; items with the same texts are asked about once. The prompt, the model,
its sampling and the server (as a digest of its address) are in the signature; options that do not affect scores, such
as the number of concurrent requests, are `unsigned`.

A local judge samples and parses nothing, so the same model gives the same score. It is computed from the probabilities
of the chat model's next token, at the position of the score:

    answer = "number"    the mean of the integers on the scale, weighted by their probabilities
    answer = "json"      likewise for each quality, after the start of a JSON object with the quality as its first key
    answer = "yes"       log p(Yes) − log p(No)

The probabilities of all other tokens are ignored. The common beginning of several prompts is processed once.
"""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, cast

import numpy as np
import numpy.typing as npt

from benchmarks.dataset import Item
from metrics.errors import BadOption, CannotScore, MissingResource
from metrics.judges import endpoint, prompt, spending
from metrics.judges.answer import AnswerArchive, ReadScore
from metrics.judges.prompt import JudgedQuality, Prompted, Question
from metrics.judges.sampling import Sampler
from metrics.judges.spending import Estimate
from metrics.metric import Columns, Metric, MetricCard, variant
from metrics.models.causal import LanguageModel
from metrics.models.service import Models
from metrics.paths import label

TOP_LOGPROBS = 20
"""Alternatives requested per token; the maximum that endpoints allow."""
BOUNDS = {"samples": (1, 1000), "tries": (1, 100), "concurrency": (1, 256), "max_tokens": (0, 1e6), "seed": (0, 1e12),
          "temperature": (0, 2), "timeout": (0.01, 3600)}
YES, NO = ("Yes", " Yes", "yes", " yes"), ("No", " No", "no", " no")


def metric_class(name: str) -> type[Metric]:
    """Return the metric of a prompt, with the prompt's defaults for its options."""
    judge_prompt = prompt.find(name)
    card = MetricCard(
        name=label("judge", name), title=f"{judge_prompt.title}, a language model as judge",
        columns=judge_prompt.columns, family="judge", levels=judge_prompt.levels, needs=judge_prompt.needs, revision=2,
        paper=judge_prompt.paper,
        notes="Asks over the network: the dialogues are sent to the given endpoint.",
        unsigned=("lm", "url", "key_from", "concurrency", "timeout"))
    defaults = (("samples", int), ("temperature", float), ("max_tokens", int), ("logprobs", bool))
    options = [(name, type_, getattr(judge_prompt, name)) for name, type_ in defaults]
    if judge_prompt.answer == "json":
        options.append(("structured", bool, True))
    return variant(Judge, options, card=card, prompt=judge_prompt)


@dataclass(frozen=True, slots=True)
class Judge(Prompted):
    """The answers of a model to a prompt, on the prompt's scales."""

    card: ClassVar[MetricCard]
    model: str = ""
    lm: str = ""
    samples: int = 1
    temperature: float = 0.0
    max_tokens: int = 256
    logprobs: bool = False
    tries: int = 6
    seed: int = 0
    url: str = ""
    key_from: str = ""
    concurrency: int = 8
    timeout: float = 60.0
    structured: ClassVar[bool] = False
    """Whether to request a JSON object; prompts with `answer = "json"` make it their last option."""
    first_sample: ClassVar[int] = 0
    """The first of the samples; a judge with other samples asks the same questions again."""

    def __post_init__(self) -> None:
        for name, (low, high) in BOUNDS.items():
            if not low <= getattr(self, name) <= high:
                raise BadOption(f"{self.card.name}: {name} must be {low:g} to {high:g}, not {getattr(self, name)}")
        if self.prompt.answer == "yes" and not self.logprobs:
            raise BadOption(f"{self.card.name}: logprobs=false: the score of a yes-or-no question is computed from "
                            "token probabilities; judge:g-eval and judge:llm-eval work without")
        if self.url:
            endpoint.address(self.url)
        if self.key_from and not self.key_from.isidentifier():
            raise BadOption(f"{self.card.name}: key_from must name an environment variable, not be the key itself")

    @classmethod
    def for_options(cls, values: Mapping[str, Any]) -> type[Metric]:
        """Return the class of local judges if `lm` is set."""
        if not values.get("lm"):
            return cast("type[Metric]", cls)
        if others := values.keys() - {"lm"}:
            raise BadOption(f"{cls.card.name}: lm is a model on this machine; {min(others)} applies only to endpoints")
        card = dataclasses.replace(cls.card, models=("lm",), revision=2, unsigned=(), notes="Asks a language model on "
                                   "this machine; the score is computed from the probabilities of its answers.")
        return variant(LocalJudge, card=card, prompt=cls.prompt)

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return a score per quality, on its scale, and their mean; NaN where no answer contained a score."""
        questions = self.questions(items)
        distinct = _distinct_questions(questions)
        samples = dict(zip(distinct, self.sampler(models).sample_scores(distinct), strict=True))
        table = np.full((len(self.prompt.qualities), len(items)), np.nan)
        for row, item_questions in questions.items():
            for question in item_questions:
                for quality in question.qualities:
                    table[self.prompt.qualities.index(quality), row] = _mean(quality, samples[question])
        return prompt.columns(self.prompt, table)

    def questions(self, items: Sequence[Item]) -> dict[int, tuple[Question, ...]]:
        """Return the questions about each item that has what the prompt needs, by the item's position."""
        return {row: prompt.questions(self.prompt, item) for row, item in enumerate(items) if self.takes(item)}

    def estimate(self, items: Sequence[Item], models: Models) -> Estimate:
        return self.sampler(models).estimate(_distinct_questions(self.questions(items)))

    def sampler(self, models: Models) -> Sampler:
        """Return an object that sends the judge's questions and reads the stored answers."""
        self.depends(models)
        folder = f"{self.prompt.name}-{self.prompt.file_digest}"  # the same for every choice of the prompt's questions
        spent = spending.of_run(models)
        return Sampler(
            self.card.name, self._body(), AnswerArchive(models.home, folder, self.model, endpoint.url_of(self.url)),
            lambda: endpoint.find(self.url, self.key_from, self.timeout, self.tries, spent), spent,
            range(self.first_sample, self.first_sample + self.samples), self.tries, self.concurrency, self.seed,
            models.stopping)

    def depends(self, models: Models) -> Mapping[str, str]:
        if not self.model:
            raise MissingResource(f"{self.card.name}: no model: use {self.card.name}[lm=NAME] for one on this machine, "
                                  "or [model=NAME] for one behind an endpoint")
        server = hashlib.sha256(endpoint.url_of(self.url).encode()).hexdigest()[:6]
        return {"prompt": f"{self.prompt.name}@{self.prompt.digest}", "server": server}

    def _body(self) -> dict[str, Any]:
        """Return the body of every request without its question."""
        body: dict[str, Any] = {"response_format": self._schema()} if self.structured else {}
        body |= {**json.loads(self.prompt.request), "model": self.model, "temperature": self.temperature}
        if self.max_tokens:
            body["max_tokens"] = self.max_tokens
        if self.logprobs:
            body |= {"logprobs": True, "top_logprobs": TOP_LOGPROBS}
        return body

    def _schema(self) -> dict[str, Any]:
        names = [quality.name for quality in self.prompt.qualities]
        schema = {"type": "object", "properties": {name: {"type": "number"} for name in names}, "required": names,
                  "additionalProperties": False}
        return {"type": "json_schema", "json_schema": {"name": self.prompt.name, "strict": True, "schema": schema}}


def _distinct_questions(questions: Mapping[int, tuple[Question, ...]]) -> list[Question]:
    return list(dict.fromkeys(itertools.chain.from_iterable(questions.values())))


def _mean(quality: JudgedQuality, samples: Sequence[Mapping[str, ReadScore]]) -> float:
    values = [sample[quality.name].value for sample in samples if quality.name in sample]
    return math.fsum(values) / len(values) if values else math.nan


@dataclass(frozen=True, slots=True)
class LocalJudge(Prompted):
    """Ratings computed from the probabilities of a language model's answers."""

    card: ClassVar[MetricCard]
    lm: str = ""

    def score(self, items: Sequence[Item], models: Models) -> Columns:
        """Return a score per quality and their mean; NaN for items that lack what the prompt needs or are too long."""
        model = models.lm(self.lm)
        if self.prompt.answer == "yes":
            answers = [*model.tokens_among(YES), *model.tokens_among(NO)]
        else:
            answers = sorted({str(value) for quality in self.prompt.qualities for value in _scale_values(quality)})
        questions = {row: texts for row, item in enumerate(items)
                     if self.takes(item) and (texts := self._questions(item, model))}
        if not questions and any(map(self.takes, items)):
            raise CannotScore(f"the questions about all items are too long for {model.name}, even without context")
        table = np.full((len(self.prompt.qualities), len(items)), np.nan)
        for row, logits in zip(questions, model.answers([*questions.values()], answers), strict=True):
            for index, quality in enumerate(self.prompt.qualities):
                table[index, row] = self._value(quality, logits[index].astype(np.float64), answers)
        return prompt.columns(self.prompt, table)

    def depends(self, models: Models) -> Mapping[str, str]:
        return {"prompt": f"{self.prompt.name}@{self.prompt.digest}"}

    def _questions(self, item: Item, model: LanguageModel) -> tuple[str, ...]:
        """Return a prompt per quality, without the oldest turns if necessary; empty if none is short enough."""
        for start in range(len(item.utterances)):
            questions = prompt.questions(self.prompt, dataclasses.replace(item, context=item.context[start:]))
            texts = tuple(model.conversation(question.messages) + answer
                          for question in questions for answer in _answer_prefixes(question))
            if all(map(model.fits, texts)):
                return texts
        return ()

    def _value(self, quality: JudgedQuality, logits: npt.NDArray[np.float64], answers: Sequence[str]) -> float:
        if self.prompt.answer == "yes":
            yes, no = (logits[[answer in side for answer in answers]] for side in (YES, NO))
            return float(np.logaddexp.reduce(yes) - np.logaddexp.reduce(no))
        values = np.array([float(answer) for answer in answers])
        on_scale = (values >= quality.low) & (values <= quality.high)
        weights = np.exp(logits[on_scale] - logits[on_scale].max())
        return float((values[on_scale] * weights).sum() / weights.sum())


def _answer_prefixes(question: Question) -> list[str]:
    """Return the text that precedes each score in an answer."""
    return [f'{{"{quality.name}": ' for quality in question.qualities] if question.answer_format == "json" else [""]


def _scale_values(quality: JudgedQuality) -> range:
    """Return the integers on a scale; raise BadOption if one of them has several digits or a sign."""
    if quality.low < 0 or quality.high > 9:
        raise BadOption(f"the scale of {quality.name} is {quality.low:g} to {quality.high:g}, but with `lm=` it must "
                        "lie within 0 to 9, since the answer is a single digit")
    return range(math.ceil(quality.low), math.floor(quality.high) + 1)
