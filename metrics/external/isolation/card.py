"""The description of a metric in its own process, checked field by field: its card, its options, its environment."""

from __future__ import annotations

import dataclasses
import keyword
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from metrics.external.isolation.wire import PROTOCOL, WireError
from metrics.metric import File, MetricCard

TYPES: dict[str, type] = {"int": int, "float": float, "str": str, "bool": bool, "file": File}
"""The types that an option can have; one with `choices` needs none."""

RESERVED = {"card", "score", "depends", "adapter"}
"""What a class of a metric has besides its options."""


@dataclass(frozen=True, slots=True)
class Description:
    """The answer to `describe`; an option is its name, the type of its values and its default."""

    card: MetricCard
    options: tuple[tuple[str, Any, Any], ...]
    environment: tuple[str, ...]


def description(answer: Mapping[str, Any]) -> Description:
    """The description in the head of an answer; WireError where it is none."""
    if answer.get("protocol") != PROTOCOL:
        raise WireError(f"it speaks protocol {answer.get('protocol')!r:.40}, and this is {PROTOCOL}")
    card, listed, hints = answer.get("card"), answer.get("options", []), typing.get_type_hints(MetricCard)
    required = {field.name for field in dataclasses.fields(MetricCard) if field.default is dataclasses.MISSING}
    if not isinstance(card, dict) or not required <= card.keys() <= hints.keys():
        raise WireError(f"a card is an object with {', '.join(sorted(required))}, and of the rest only "
                        f"{', '.join(sorted(hints.keys() - required))}")
    if not isinstance(listed, list):
        raise WireError("options is no list")
    options = tuple(map(_option, listed))
    if len({name for name, _, _ in options}) < len(options):
        raise WireError(f"options of one name: {', '.join(name for name, _, _ in options)}")
    return Description(MetricCard(**{key: _value(f"{key} of its card", hints[key], value)
                                     for key, value in card.items()}), options,
                       _value("environment", tuple[str, ...], answer.get("environment", [])))


def _value(what: str, hint: Any, value: Any) -> Any:
    """A value of JSON as the type that it should have."""
    inner = get_args(hint)[0] if get_origin(hint) is tuple else hint
    known = get_args(inner)
    words = f" of {', '.join(known)}" if known else ""
    if inner is not hint:
        plain = isinstance(value, list) and all(isinstance(word, str) and word.isprintable() and word for word in value)
        if not plain or (known and (not value or not set(value) <= set(known))):
            raise WireError(f"{what} should be a list of words{words}, and is {value!r:.80}")
        return tuple(value)
    if value not in known if known else type(value) is not hint:
        raise WireError(f"{what} is {value!r:.40}{words and ', and should be one'}{words}")
    return value


def _option(entry: Any) -> tuple[str, Any, Any]:
    name = entry.get("name") if isinstance(entry, dict) else None
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name) or name in RESERVED:
        raise WireError(f"an option has a name that Python takes too, not {name!r:.40}")
    default, choices = entry.get("default"), entry.get("choices")
    if choices is not None:
        plain = isinstance(choices, list) and all(type(choice) in (int, str) for choice in choices)
        if not plain or default not in choices:
            raise WireError(f"option {name}: choices is a list of words or whole numbers, the default among them")
        return name, Literal[tuple(choices)], default
    kind = TYPES.get(str(entry.get("type")))
    if kind is None:
        raise WireError(f"option {name}: its type is one of {', '.join(TYPES)}, or it has choices")
    value = float(default) if kind is float and type(default) is int else default
    if type(value) is not (str if kind is File else kind):
        raise WireError(f"option {name}: the default {default!r:.40} is not of type {entry['type']}")
    return name, kind, kind(value)
