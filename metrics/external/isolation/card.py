"""What a metric in a process of its own says of itself, read with care: its card, its options, its environment."""

from __future__ import annotations

import dataclasses
import keyword
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args

from benchmarks.dataset import Level
from metrics.external.isolation.wire import PROTOCOL, Form, WireError
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
    """An option: its name, the type of its values and what it is where nothing is said."""

    name: str
    kind: Any
    default: Any


@dataclass(frozen=True, slots=True)
class Description:
    """The answer to `describe`."""

    card: MetricCard
    options: tuple[Option, ...]
    environment: tuple[str, ...]
    form: Form


def description(told: Mapping[str, Any]) -> Description:
    """The description in the head of an answer; WireError where it is none."""
    if told.get("protocol") != PROTOCOL:
        raise WireError(f"it speaks protocol {told.get('protocol')!r:.40}, and this is {PROTOCOL}")
    if told.get("form") not in get_args(Form):
        raise WireError(f"form is {told.get('form')!r:.40}, and should be one of {', '.join(get_args(Form))}")
    card = _card(told.get("card"))
    listed = told.get("options", [])
    if not isinstance(listed, list):
        raise WireError("options is no list")
    options = tuple(_option(one) for one in listed)
    named = [option.name for option in options]
    if len(set(named)) < len(named):
        raise WireError(f"options of one name: {', '.join(named)}")
    if set(named) & set(KINDS) != set(card.models):
        raise WireError(f"its card has models={list(card.models)}: each of {', '.join(KINDS)} stands there and among "
                        "the options, or in neither")
    return Description(card, options, _words(told.get("environment", []), "environment"), told["form"])


def _card(told: Any) -> MetricCard:
    fields = {field.name for field in dataclasses.fields(MetricCard)}
    if not isinstance(told, dict) or not _REQUIRED <= told.keys() <= fields:
        raise WireError(f"a card is an object with {', '.join(sorted(_REQUIRED))}, and of the rest only "
                        f"{', '.join(sorted(fields - _REQUIRED))}")
    values: dict[str, Any] = {}
    for key, value in told.items():
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


def _words(told: Any, what: str, known: tuple[str, ...] = ()) -> tuple[str, ...]:
    if not isinstance(told, list) or not all(isinstance(word, str) and word and word.isprintable() for word in told):
        raise WireError(f"{what} should be a list of words, and is {told!r:.80}")
    if len(set(told)) < len(told) or (known and not set(told) <= set(known)):
        raise WireError(f"{what} holds {', '.join(told):.80}; each once" + (f" of {', '.join(known)}" if known else ""))
    return tuple(told)


def _option(told: Any) -> Option:
    name = told.get("name") if isinstance(told, dict) else None
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name) or name in RESERVED:
        raise WireError(f"an option has a name that Python takes too, not {name!r:.40}")
    default, choices = told.get("default"), told.get("choices")
    if choices is not None:
        if not isinstance(choices, list) or not choices or not all(type(one) in (int, str) for one in choices) or (
                default not in choices):
            raise WireError(f"option {name}: choices is a list of words or whole numbers, the default among them")
        return Option(name, Literal[tuple(choices)], default)
    kind = TYPES.get(str(told.get("type")))
    if kind is None:
        raise WireError(f"option {name}: its type is one of {', '.join(TYPES)}, or it has choices")
    given = float(default) if kind is float and type(default) is int else default
    if type(given) is not (str if kind is File else kind):
        raise WireError(f"option {name}: the default {default!r:.40} is not of type {told['type']}")
    return Option(name, kind, kind(given))


RESERVED = {"card", "score", "depends", "adapter"}
"""What a class of a metric has besides its options."""
