"""A judge's prompt: the questions put to a language model about a response or a dialogue.

A template holds {context}, {response}, {dialogue}, {references} and {facts} of the item; of the qualities {qualities}
and {form}, or where each has a call of its own {quality}, {description}, {steps}, {low} and {high}. Filling is plain
replacement, once: braces in the text of a dialogue stay what they are. A paragraph that asks for a context,
references or facts which the item lacks is left out. Prompts are read from files by metrics/judges/prompt_file.py.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Literal

import numpy as np
import numpy.typing as npt

from benchmarks.dataset import Item, Level, Utterance
from benchmarks.formats.records import Rule
from metrics.errors import CannotScore
from metrics.metric import NEEDS, Columns, is_name

_PLACE = re.compile(r"\{([a-z_]+)\}")


Name = Annotated[str, Rule("small letters, digits and hyphens", is_name)]


@dataclass(frozen=True, slots=True)
class JudgedQuality:
    """A quality that the judge rates, with its scale; higher is better."""

    name: Name
    low: float
    high: float
    description: str = ""
    steps: str = ""

    def takes(self, value: float) -> bool:
        """Return True if an answer lies on the scale."""
        return self.low <= value <= self.high


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt file; `name` is that of the file, `digest` of its content."""

    name: str
    digest: str
    title: str
    answer: Literal["json", "number", "yes"]
    qualities: tuple[JudgedQuality, ...]
    paper: str = ""
    system: str = ""
    turn: str = ""
    dialogue: str = ""
    needs: tuple[Literal["context", "references", "facts"], ...] = ()
    samples: int = 1
    temperature: float = 0.0
    max_tokens: int = 256
    logprobs: bool = False
    request: str = "{}"

    @property
    def levels(self) -> tuple[Level, ...]:
        """Levels with a template."""
        both: tuple[tuple[Level, str], ...] = (("turn", self.turn), ("dialogue", self.dialogue))
        return tuple(level for level, template in both if template)

    @property
    def columns(self) -> tuple[str, ...]:
        """NAME, and NAME-QUALITY for each of several qualities."""
        several = len(self.qualities) > 1
        return (self.name, *(f"{self.name}-{quality.name}" for quality in self.qualities if several))

    @property
    def rounds(self) -> tuple[tuple[JudgedQuality, ...], ...]:
        """Qualities of each call: all together, or one each."""
        return (self.qualities,) if self.answer == "json" else tuple((quality,) for quality in self.qualities)


@dataclass(frozen=True, slots=True)
class Question:
    """One call: its messages, and the qualities that the answer rates."""

    system: str
    user: str
    qualities: tuple[JudgedQuality, ...]
    form: str

    @property
    def messages(self) -> list[dict[str, str]]:
        """The messages of a chat completion request."""
        system = [{"role": "system", "content": self.system}] if self.system else []
        return [*system, {"role": "user", "content": self.user}]


def columns(prompt: Prompt, table: npt.NDArray[np.float64]) -> Columns:
    """Return the columns of a table (qualities, items); the plain column is the mean, scaled to 0..1."""
    if len(table) == 1:
        return {prompt.name: table[0]}
    low, high = np.array([(quality.low, quality.high) for quality in prompt.qualities]).T[:, :, None]
    mean = ((table - low) / (high - low)).mean(axis=0)
    return dict(zip(prompt.columns, (mean, *table), strict=True))


def questions(prompt: Prompt, item: Item) -> tuple[Question, ...]:
    """Return the questions about an item: one, or one per quality."""
    if item.response is None and not prompt.dialogue:
        raise CannotScore(f"item {item.id} is a whole dialogue; {prompt.name} asks about a response")
    about = _about(item)
    whole = item.response is None or not prompt.turn
    template = prompt.dialogue if whole else prompt.turn
    values = [(some, about | _of_qualities(prompt, some)) for some in prompt.rounds]
    return tuple(Question(_filled(prompt.system, each), _filled(template, each), some, prompt.answer)
                 for some, each in values)


def places(prompt: Prompt) -> list[str]:
    """Return the placeholders in the templates of a prompt."""
    return _PLACE.findall("\n".join((prompt.system, prompt.turn, prompt.dialogue)))


def _filled(template: str, values: Mapping[str, str]) -> str:
    """Fill a template, dropping paragraphs whose placeholders the item lacks."""
    paragraphs = [paragraph for paragraph in re.split(r"\n\s*\n", template.strip())
                  if all(values[place] for place in _PLACE.findall(paragraph) if place in NEEDS)]
    return "\n\n".join(_PLACE.sub(lambda place: values[place[1]], paragraph) for paragraph in paragraphs)


def _about(item: Item) -> dict[str, str]:
    """Return the values of an item, each utterance, reference and fact on a line."""
    return {
        "context": _lines(item.context), "dialogue": _lines(item.utterances),
        "response": _plain(item.response.text) or "(empty)" if item.response else "",
        "references": "\n".join(f"- {text}" for reference in item.references if (text := _plain(reference.text))),
        "facts": "\n".join(f"- {text}" for fact in item.facts if (text := _plain(fact))),
    }


def _of_qualities(prompt: Prompt, some: tuple[JudgedQuality, ...]) -> dict[str, str]:
    """Return the values of qualities."""
    if prompt.answer == "json":
        listed = (f"- {quality.name} ({quality.low:g} to {quality.high:g}): {quality.description}" for quality in some)
        form = ", ".join(f'"{quality.name}": <number from {quality.low:g} to {quality.high:g}>' for quality in some)
        return {"qualities": "\n".join(listed), "form": "{" + form + "}"}
    (quality,) = some
    return {"quality": quality.name, "description": quality.description.strip(), "steps": quality.steps.strip(),
            "low": f"{quality.low:g}", "high": f"{quality.high:g}"}


def _lines(utterances: Iterable[Utterance]) -> str:
    return "\n".join(f"{_plain(utterance.speaker)}: {_plain(utterance.text)}" for utterance in utterances)


def _plain(text: str) -> str:
    """Put a text on one line, so that it cannot pose as another speaker; lone surrogates are replaced."""
    return " ".join(text.encode(errors="replace").decode().split())
