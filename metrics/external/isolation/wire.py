"""The messages between the harness and a metric in a process of its own, for any language: docs/protocol.md.

A message is a line: a JSON object in UTF-8. Whatever cannot be parsed is a WireError.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from benchmarks.formats.records import refused_as, value_of
from metrics.column import Column
from metrics.errors import MetricError
from metrics.metric import File, MetricCard

PROTOCOL = 2
LONGEST = 1 << 30
"""Bytes of the longest message that is read."""

TYPES: dict[str, type] = {"int": int, "float": float, "str": str, "bool": bool, "file": File}
"""The types of an option without `choices`."""

RESERVED = {"card", "score", "depends", "process", "described", "timeout", "identity"}
"""The attributes of a metric's class besides its options."""

Description = tuple[MetricCard, tuple[tuple[str, Any, Any], ...], tuple[str, ...]]
"""A card, options (name, type, default), and the environment."""


class WireError(MetricError):
    """A message does not follow the protocol."""


def encoded(message: Mapping[str, Any]) -> bytes:
    """Write a message as a line; half of a surrogate pair becomes U+FFFD."""
    text = json.dumps(message, ensure_ascii=False)
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace").encode() + b"\n"


def decoded(line: bytes) -> dict[str, Any]:
    """Read the message of a line; NaN and Infinity are refused."""
    try:
        message = json.loads(line, parse_constant=_refuse)
    except (ValueError, RecursionError) as error:
        raise WireError(f"answered with garbage: {line[:40]!r} cannot be read as JSON ({error})") from error
    if not isinstance(message, dict):
        raise WireError(f"answered with garbage: {line[:40]!r} is not a JSON object")
    return message


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is no JSON; a missing score is null")


def columns_record(columns: Mapping[str, Column]) -> dict[str, list[float | None]]:
    """Return the columns as JSON has them; a missing score is null."""
    for name, column in columns.items():
        if np.isinf(column).any():
            raise WireError(f"column {name:.80} holds an infinite score")
    return {name: [None if math.isnan(value) else float(value) for value in column] for name, column in columns.items()}


def columns_of(columns: Any) -> dict[str, Column]:
    """Read the columns of an answer; their names and lengths are checked elsewhere."""
    if not isinstance(columns, dict) or not all(isinstance(values, list) for values in columns.values()):
        raise WireError("columns should be an object of lists")
    for name, values in columns.items():
        if wrong := [value for value in values if value is not None and type(value) not in (int, float)]:
            raise WireError(f"column {name:.80} holds {wrong[0]!r:.80} where a number or null should be")
    try:
        return {name: np.array(values, dtype=np.float64) for name, values in columns.items()}
    except OverflowError as error:  # a whole number of a thousand digits
        raise WireError(f"a score is out of range: {error}") from error


def description(answer: Mapping[str, Any]) -> Description:
    """Read the answer to `describe`."""
    if answer.get("protocol") != PROTOCOL:
        raise WireError(f"it speaks protocol {answer.get('protocol')!r:.40}, and this is {PROTOCOL}")
    with refused_as(WireError):
        card = value_of(MetricCard, answer.get("card"), "its card")
        listed = value_of(tuple[Mapping[str, Any], ...], answer.get("options", []), "its options")
        environment = value_of(tuple[str, ...], answer.get("environment", []), "its environment")
        return card, tuple(map(_option, listed)), environment


def _option(entry: Mapping[str, Any]) -> tuple[str, Any, Any]:
    name = value_of(str, entry.get("name"), "option, name")
    default, choices = entry.get("default"), entry.get("choices")
    if name in RESERVED:
        raise WireError(f"option {name}: the name is reserved; choose another")
    if isinstance(choices, list) and all(type(choice) in (int, str) for choice in choices):
        kind: Any = Literal[tuple(choices)]
        return name, kind, value_of(kind, default, f"option {name}, default")
    if choices is not None or str(entry.get("type")) not in TYPES:
        raise WireError(f"option {name}: needs a type ({', '.join(TYPES)}), or choices (texts or whole numbers)")
    kind = TYPES[entry["type"]]
    return name, kind, kind(value_of(str if kind is File else kind, default, f"option {name}, default"))
