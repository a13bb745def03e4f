"""The prompt of a judge: questions to a language model about a response or a dialogue, read from a TOML file.

    title, paper               description
    answer                     "json": one answer with a number for every quality; "number": one call per quality;
                               "yes": one call per quality, and the score is log p(Yes) − log p(No)
    system, turn, dialogue     templates; a level is judged if its template exists
    needs                      what an item must have: context, references, facts
    samples, temperature, max_tokens, logprobs         defaults of the options of the same name
    [request]                  additional fields of the request, sent as they are
    [[qualities]]              name, low, high, description, steps, rates

`rates` lists the dataset qualities that a question is about. Each of them then has a column NAME@QUALITY, and only the
questions about a dataset's own qualities are asked. The first question is always asked; it gives the plain column, the
score for qualities that no question rates.

A template can use {context}, {response}, {dialogue}, {references} and {facts} of the item, and {qualities} and {form}
for all qualities, or {quality}, {description}, {steps}, {low} and {high} for one. Fields are replaced in one pass, so
braces in a dialogue stay as they are. A paragraph with {context}, {references} or {facts} is dropped if the item has
none.
"""

from __future__ import annotations

import functools
import hashlib
import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, get_args

import numpy as np
import numpy.typing as npt

from benchmarks.dataset import Item, Level, Quality, Utterance
from benchmarks.errors import nearest
from benchmarks.formats import records
from metrics.column import of_quality
from metrics.errors import BadOption, CannotScore, MissingResource, UnknownMetric
from metrics.metric import NEEDS, Columns, Metric, is_name, options, variant

SHIPPED = Path(__file__).parent / "prompts"
ITEM_FIELDS = ("context", "response", "dialogue", "references", "facts")
ALL_FIELDS, ONE_FIELDS = ("qualities", "form"), ("quality", "description", "steps", "low", "high")
"""Fields of templates about the item, about all qualities, and about one quality."""
RESERVED_FIELDS = {"system", "user", "model", "messages", "temperature", "max_tokens", "seed", "logprobs",
                   "top_logprobs", "n"}
"""Fields of a request that a prompt cannot set."""

Name = Annotated[str, records.Rule("lower-case letters, digits and hyphens", is_name)]
_FIELD = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True, slots=True)
class JudgedQuality:
    """A quality that the judge rates, with its scale; higher is better."""

    name: Name
    low: float
    high: float
    description: str = ""
    steps: str = ""
    rates: tuple[str, ...] = ()

    def takes(self, value: float) -> bool:
        return self.low <= value <= self.high


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt file; `name` is derived from the file's name, `file_digest` from its content.

    The `digest` of a prompt that `restricted_to` returns depends only on the questions asked, so that adding a question
    to the file does not change it.
    """

    name: str
    digest: str
    file_digest: str
    title: str
    answer: Literal["json", "number", "yes"]
    qualities: tuple[JudgedQuality, ...]
    paper: str = ""
    system: str = ""
    turn: str = ""
    dialogue: str = ""
    needs: tuple[Literal["context", "references", "facts"], ...] = ()
    samples: int = 1
    temperature: Annotated[float, records.Rule("0 to 2", lambda value: 0 <= value <= 2)] = 0.0
    max_tokens: int = 256
    logprobs: bool = False
    request: str = "{}"

    @property
    def levels(self) -> tuple[Level, ...]:
        return tuple(level for level in get_args(Level) if getattr(self, level))

    @property
    def columns(self) -> tuple[str, ...]:
        """NAME, and NAME-QUALITY for each of several qualities, unless they rate dataset qualities."""
        has_columns = len(self.qualities) > 1 and not self.rates
        return (self.name, *(f"{self.name}-{quality.name}" for quality in self.qualities if has_columns))

    @property
    def rates(self) -> tuple[str, ...]:
        return tuple(dimension for quality in self.qualities for dimension in quality.rates)

    def restricted_to(self, dimensions: Iterable[str]) -> Prompt:
        """Return the prompt with only its first question and the questions about these qualities."""
        requested = set(dimensions)
        first, *others = (replace(quality, rates=tuple(rated for rated in quality.rates if rated in requested))
                          for quality in self.qualities)
        qualities = (first, *(quality for quality in others if quality.rates))
        digested = replace(self, qualities=qualities, digest="", file_digest="", title="", paper="")
        return replace(self, qualities=qualities, digest=hashlib.sha256(repr(digested).encode()).hexdigest()[:12])


class Prompted:
    """Base class of judges; each class has one prompt."""

    __slots__ = ()
    prompt: ClassVar[Prompt]

    def takes(self, item: Item) -> bool:
        return all(getattr(item, need) for need in self.prompt.needs)

    def about(self, qualities: Sequence[Quality]) -> Any:
        """Return the judge with only the questions about these qualities, if its questions rate dataset qualities."""
        if not self.prompt.rates:
            return self
        return self.variant(prompt=self.prompt.restricted_to(quality.dimension for quality in qualities))

    def variant(self, **attributes: Any) -> Any:
        """Return the judge with other class attributes, such as another prompt."""
        judge: Any = self
        return _variant(judge.__class__, **attributes)(**options(judge))


@functools.cache
def _variant(kind: Any, **attributes: Any) -> type[Metric]:
    return variant(kind, **attributes)


@dataclass(frozen=True, slots=True)
class Question:
    """The messages of one request, and the qualities that its answer rates."""

    system: str
    user: str
    qualities: tuple[JudgedQuality, ...]
    answer_format: str

    @property
    def messages(self) -> list[dict[str, str]]:
        system = [{"role": "system", "content": self.system}] if self.system else []
        return [*system, {"role": "user", "content": self.user}]


def names() -> tuple[str, ...]:
    return tuple(sorted(path.stem for path in SHIPPED.glob("*.toml")))


def find(requested: str) -> Prompt:
    if not (requested.endswith(".toml") or "/" in requested or "\\" in requested):
        if requested not in names():
            raise UnknownMetric(f"no prompt {requested:.80}; {nearest(requested[:80], names())}; a file ends in .toml")
        return read(requested, (SHIPPED / f"{requested}.toml").read_bytes(), f"{requested}.toml")
    path = Path(requested).expanduser()
    try:
        content = path.read_bytes()
    except OSError as error:
        raise MissingResource(f"{path}: {error.strerror}") from error
    name = path.stem.replace("_", "-").casefold()
    if name in names():
        raise BadOption(f"{path}: {name} is the name of a shipped prompt; rename the file, since the "
                        "columns are named after it")
    prompt = read(name, content, str(path))
    for level, judged in (("turn", ("response", "dialogue")), ("dialogue", ("dialogue", "context"))):
        template = getattr(prompt, level)
        if template and not {*judged} & {*_FIELD.findall(prompt.system + template)}:
            raise BadOption(f"{path}: {level} does not contain {{{judged[0]}}}, the text to be judged")
    return prompt


@functools.cache
def read(name: str, content: bytes, where: str) -> Prompt:
    """Parse a prompt file; raise BadOption for the first problem."""
    if not is_name(name):
        raise BadOption(f"{where}: the columns are named after the file; use lower-case letters, digits and hyphens")
    with records.refused_as(BadOption):
        table = records.toml(where, content)
        request = records.mapping(f"{where}, request", table.pop("request", {}))
        digest = hashlib.sha256(content).hexdigest()[:12]
        derived = {"name": name, "digest": digest, "file_digest": digest,
                    "request": json.dumps(request, sort_keys=True, default=str)}
        if forbidden := [*(f"request.{field}" for field in RESERVED_FIELDS & request.keys()),
                         *(derived.keys() & table.keys())]:
            raise BadOption(f"{where}: a prompt cannot set {forbidden[0]}")
        prompt: Prompt = records.value_of(Prompt, table | derived, where)
    _check(prompt, where)
    return prompt


def _check(prompt: Prompt, where: str) -> None:
    for quality in prompt.qualities:
        if not quality.low < quality.high:
            raise BadOption(f"{where}: {quality.name}: low must be below high, since higher is better")
    if not prompt.qualities:
        raise BadOption(f"{where}: has no [[qualities]]")
    for kind, names in (("have the name", [quality.name for quality in prompt.qualities]), ("rate", prompt.rates)):
        if repeated := [name for name, times in Counter(names).items() if times > 1]:
            raise BadOption(f"{where}: two questions {kind} {repeated[0]!r}")
    if prompt.answer == "yes" and not prompt.logprobs:
        raise BadOption(f"{where}: answer = \"yes\" requires logprobs = true")
    if not prompt.levels:
        raise BadOption(f"{where}: has neither a template for a turn nor one for a dialogue")
    known = (*ITEM_FIELDS, *(ALL_FIELDS if prompt.answer == "json" else ONE_FIELDS))
    for field in _FIELD.findall("\n".join((prompt.system, prompt.turn, prompt.dialogue))):
        if field not in known:
            raise BadOption(f"{where}: unknown field {{{field:.80}}} in a template; {nearest(field, known)}")


def questions(prompt: Prompt, item: Item) -> tuple[Question, ...]:
    """Return the questions about an item: one, or one per quality."""
    if item.response is None and not prompt.dialogue:
        raise CannotScore(f"item {item.id} is a whole dialogue; {prompt.name} asks about a response")
    template = prompt.dialogue if item.response is None or not prompt.turn else prompt.turn
    item_values = {
        "context": _lines(item.context), "dialogue": _lines(item.utterances),
        "response": _one_line(item.response.text) or "(empty)" if item.response else "",
        "references": "\n".join(f"- {text}" for reference in item.references if (text := _one_line(reference.text))),
        "facts": "\n".join(f"- {text}" for fact in item.facts if (text := _one_line(fact))),
    }
    calls = [prompt.qualities] if prompt.answer == "json" else [(quality,) for quality in prompt.qualities]
    values = [(qualities, item_values | _quality_values(prompt, qualities)) for qualities in calls]
    return tuple(Question(_fill(prompt.system, fields), _fill(template, fields), qualities, prompt.answer)
                 for qualities, fields in values)


def _quality_values(prompt: Prompt, qualities: tuple[JudgedQuality, ...]) -> dict[str, str]:
    if prompt.answer == "json":
        listed = (f"- {quality.name} ({quality.low:g} to {quality.high:g}): {quality.description}"
                  for quality in qualities)
        form = (f'"{quality.name}": <number from {quality.low:g} to {quality.high:g}>' for quality in qualities)
        return {"qualities": "\n".join(listed), "form": "{" + ", ".join(form) + "}"}
    (quality,) = qualities
    return {"quality": quality.name, "description": quality.description.strip(), "steps": quality.steps.strip(),
            "low": f"{quality.low:g}", "high": f"{quality.high:g}"}


def _fill(template: str, values: Mapping[str, str]) -> str:
    """Fill a template, dropping paragraphs with fields that the item lacks."""
    paragraphs = [paragraph for paragraph in re.split(r"\n\s*\n", template.strip())
                  if all(values[field] for field in _FIELD.findall(paragraph) if field in NEEDS)]
    return "\n\n".join(_FIELD.sub(lambda field: values[field[1]], paragraph) for paragraph in paragraphs)


def _lines(utterances: Iterable[Utterance]) -> str:
    return "\n".join(f"{_one_line(utterance.speaker)}: {_one_line(utterance.text)}" for utterance in utterances)


def _one_line(text: str) -> str:
    """Join a text into one line, so that it cannot imitate another speaker's turn; replace lone surrogates."""
    return " ".join(text.encode(errors="replace").decode().split())


def columns(prompt: Prompt, table: npt.NDArray[np.float64]) -> Columns:
    """Return the columns of a table (qualities, items); the plain column is the mean, scaled to 0..1.

    If the questions rate dataset qualities, the plain column is that of the first question.
    """
    if len(table) == 1 or prompt.rates:
        by_quality = {of_quality(prompt.name, dimension): row
                      for quality, row in zip(prompt.qualities, table, strict=True) for dimension in quality.rates}
        return {prompt.name: table[0], **by_quality}
    low, high = np.array([(quality.low, quality.high) for quality in prompt.qualities]).T[:, :, None]
    mean = ((table - low) / (high - low)).mean(axis=0)
    return dict(zip(prompt.columns, (mean, *table), strict=True))
