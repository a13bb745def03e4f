"""The messages between the harness and a metric in a process of its own, for any language: docs/protocol.md.

A message is a line: a JSON object in UTF-8. Whatever cannot be parsed is a WireError.
"""

from __future__ import annotations

import dataclasses
import json
import keyword
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from benchmarks.dataset import Item
from benchmarks.formats.records import refused_as, value_of
from metrics.column import Column
from metrics.metric import File, MetricCard

PROTOCOL = 2
LONGEST = 1 << 30
"""The longest message that is read, in bytes."""

TYPES: dict[str, type] = {"int": int, "float": float, "str": str, "bool": bool, "file": File}
"""The types that an option can have; one with `choices` needs none."""

RESERVED = {"card", "score", "depends", "process", "described", "timeout", "identity"}
"""The attributes of a metric's class besides its options."""


class WireError(Exception):
    """What arrived is no message of the protocol."""


def encoded(message: Mapping[str, Any]) -> bytes:
    """Write a message as a line; half of a surrogate pair becomes U+FFFD."""
    text = json.dumps(message, ensure_ascii=False)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode() + b"\n"


def decoded(line: bytes) -> dict[str, Any]:
    """Read the message of a line; NaN and Infinity are refused."""
    try:
        message = json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise WireError(f"{line[:40]!r} cannot be read as JSON ({error})") from error
    if not isinstance(message, dict):
        raise WireError("a message is a JSON object")
    return message


def items_of(records: Any) -> tuple[Item, ...]:
    """Read the items of a question."""
    try:
        return tuple(map(Item.of, records))
    except (KeyError, TypeError) as error:
        raise WireError(f"the items cannot be read: {error!r}") from error


def columns_record(columns: Mapping[str, Column]) -> dict[str, list[float | None]]:
    """Return the columns as JSON has them; a missing score is null."""
    for name, column in columns.items():
        if np.isinf(column).any():
            raise WireError(f"column {name:.80} holds an infinite score")
    return {name: [None if math.isnan(value) else float(value) for value in column] for name, column in columns.items()}


def columns_of(columns: Any) -> dict[str, Column]:
    """Read the columns of an answer, whatever their names and lengths."""
    if not isinstance(columns, dict):
        raise WireError("columns should be an object of lists")
    return {name: _column(name, values) for name, values in columns.items()}


def _column(name: str, values: Any) -> Column:
    if not isinstance(values, list):
        raise WireError(f"column {name:.80} is no list")
    for value in values:
        if value is not None and type(value) not in (int, float):
            raise WireError(f"column {name:.80} holds {value!r:.80}, which is no number")
    try:
        return np.array([math.nan if value is None else value for value in values], dtype=np.float64)
    except OverflowError as error:  # a whole number of a thousand digits
        raise WireError(f"a score is out of range: {error}") from error


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON; a missing score is null")


@dataclass(frozen=True, slots=True)
class Description:
    """The answer to `describe`; an option is its name, the type of its values and its default."""

    card: MetricCard
    options: tuple[tuple[str, Any, Any], ...]
    environment: tuple[str, ...]


def description(answer: Mapping[str, Any]) -> Description:
    """Read the description in an answer."""
    if answer.get("protocol") != PROTOCOL:
        raise WireError(f"it speaks protocol {answer.get('protocol')!r:.40}, and this is {PROTOCOL}")
    with refused_as(WireError):
        card = value_of(MetricCard, answer.get("card"), "its card")
        listed = value_of(tuple[Mapping[str, Any], ...], answer.get("options", []), "its options")
        environment = value_of(tuple[str, ...], answer.get("environment", []), "its environment")
    words = [word for value in (*dataclasses.astuple(card), environment) if isinstance(value, tuple) for word in value]
    if unprintable := [word for word in words if not (word and word.isprintable())]:
        raise WireError(f"its card or environment holds {unprintable[0]!r:.80}, which is no word")
    options = tuple(map(_option, listed))
    if len({name for name, _, _ in options}) < len(options):
        raise WireError(f"options of one name: {', '.join(name for name, _, _ in options)}")
    return Description(card, options, environment)


def _option(entry: Mapping[str, Any]) -> tuple[str, Any, Any]:
    name, default, choices = entry.get("name"), entry.get("default"), entry.get("choices")
    if not isinstance(name, str) or not name.isidentifier() or keyword.iskeyword(name) or name in RESERVED:
        raise WireError(f"an option has a name that Python takes too, not {name!r:.40}")
    if choices is not None:
        plain = isinstance(choices, list) and all(type(choice) in (int, str) for choice in choices)
        if not plain or default not in choices:
            raise WireError(f"option {name}: choices should be texts or whole numbers, the default among them")
        return name, Literal[tuple(choices)], default
    kind = TYPES.get(str(entry.get("type")))
    if kind is None:
        raise WireError(f"option {name}: its type should be one of {', '.join(TYPES)}, or it should have choices")
    with refused_as(WireError):
        return name, kind, kind(value_of(str if kind is File else kind, default, f"option {name}, default"))
