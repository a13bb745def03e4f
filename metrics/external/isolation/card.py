"""The description of a metric in its own process, checked field by field: its card, its options, its environment."""

from __future__ import annotations

import dataclasses
import keyword
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from benchmarks.dataset import Level
from metrics.external.isolation.wire import PROTOCOL, WireError
from metrics.metric import KINDS, NEEDS, File, MetricCard

TYPES: dict[str, type] = {"int": int, "float": float, "str": str, "bool": bool, "file": File}
"""The types that an option can have; one with `choices` needs none."""
_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_LISTS: dict[str, tuple[str, ...]] = {
    "columns": (), "levels": get_args(Level), "needs": NEEDS, "resources": (), "models": KINDS, "checkpoints": ()}
"""The fields of a card that are lists, with what may stand in them if that is known."""
_REQUIRED = {"name", "title", "columns", "family"}


@dataclass(frozen=True, slots=True)
class Option:
    """An option: its name, the type of its values and its default."""

    name: str
    kind: Any
    default: Any


@dataclass(frozen=True, slots=True)
class Description:
    """The answer to `describe`."""

    card: MetricCard
    options: tuple[Option, ...]
    environment: tuple[str, ...]


def description(answer: Mapping[str, Any]) -> Description:
    """The description in the head of an answer; WireError where it is none."""
    if answer.get("protocol") != PROTOCOL:
        raise WireError(f"it speaks protocol {answer.get('protocol')!r:.40}, and this is {PROTOCOL}")
    card = _card(answer.get("card"))
    listed = answer.get("options", [])
    if not isinstance(listed, list):
        raise WireError("options is no list")
    options = tuple(_option(entry) for entry in listed)
    named = [option.name for option in options]
    if len(set(named)) < len(named):
        raise WireError(f"options of one name: {', '.join(named)}")
    if set(named) & set(KINDS) != set(card.models):
        raise WireError(f"its card has models={list(card.models)}: each of {', '.join(KINDS)} stands there and among "
                        "the options, or in neither")
    return Description(card, options, _words(answer.get("environment", []), "environment"))


def _card(content: Any) -> MetricCard:
    fields = {field.name for field in dataclasses.fields(MetricCard)}
    if not isinstance(content, dict) or not _REQUIRED <= content.keys() <= fields:
        raise WireError(f"a card is an object with {', '.join(sorted(_REQUIRED))}, and of the rest only "
                        f"{', '.join(sorted(fields - _REQUIRED))}")
    values: dict[str, Any] = {}
    for key, value in content.items():
        if key in _LISTS:
            values[key] = _words(value, key, _LISTS[key])
        elif isinstance(value, int if key == "revision" else str) and not isinstance(value, bool):
            values[key] = value
        else:
            raise WireError(f"{key} of its card is {value!r:.40}")
    if not _NAME.fullmatch(values["name"]) or not values["columns"] or not values.get("levels", ("turn",)):
        raise WireError(f"its card, named {values['name']!r:.40}: a name is of small letters, digits and hyphens, and "
                        "there are one column and one level or more")
    if values.get("scope", "item") not in ("item", "dataset"):
        raise WireError(f"scope of its card is {values['scope']!r:.40}, and should be item or dataset")
    return MetricCard(**values)


def _words(words: Any, what: str, known: tuple[str, ...] = ()) -> tuple[str, ...]:
    if not isinstance(words, list) or not all(isinstance(word, str) and word and word.isprintable() for word in words):
        raise WireError(f"{what} should be a list of words, and is {words!r:.80}")
    if len(set(words)) < len(words) or (known and not set(words) <= set(known)):
        allowed = f" of {', '.join(known)}" if known else ""
        raise WireError(f"{what} holds {', '.join(words):.80}; each once{allowed}")
    return tuple(words)


def _option(entry: Any) -> Option:
    name = entry.get("name") if isinstance(entry, dict) else None
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name) or name in RESERVED:
        raise WireError(f"an option has a name that Python takes too, not {name!r:.40}")
    default, choices = entry.get("default"), entry.get("choices")
    if choices is not None:
        plain = isinstance(choices, list) and all(type(choice) in (int, str) for choice in choices)
        if not plain or default not in choices:
            raise WireError(f"option {name}: choices is a list of words or whole numbers, the default among them")
        return Option(name, Literal[tuple(choices)], default)
    kind = TYPES.get(str(entry.get("type")))
    if kind is None:
        raise WireError(f"option {name}: its type is one of {', '.join(TYPES)}, or it has choices")
    value = float(default) if kind is float and type(default) is int else default
    if type(value) is not (str if kind is File else kind):
        raise WireError(f"option {name}: the default {default!r:.40} is not of type {entry['type']}")
    return Option(name, kind, kind(value))


RESERVED = {"card", "score", "depends", "adapter"}
"""What a class of a metric has besides its options."""
