"""The messages between the harness and a metric in a process of its own (docs/protocol.md): lines of JSON in UTF-8.

A message that breaks the protocol raises records.Refused.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Literal

import numpy as np

from benchmarks.formats import records
from benchmarks.formats.records import SURROGATE, Refused, value_of
from metrics.column import Column
from metrics.metric import File, MetricCard

PROTOCOL = 2
LONGEST = 1 << 30
"""Maximum bytes of a message."""
TYPES: dict[str, type] = {"int": int, "float": float, "str": str, "bool": bool, "file": File}
"""The types of an option without `choices`."""

Description = tuple[MetricCard, tuple[tuple[str, Any, Any], ...], tuple[str, ...]]
"""A card, options (name, type, default), and the environment."""


def encoded(message: Mapping[str, Any]) -> bytes:
    """Write a message as a line; ValueError for NaN and infinity."""
    return SURROGATE.sub("\ufffd", json.dumps(message, ensure_ascii=False, allow_nan=False)).encode() + b"\n"


def decoded(line: bytes, number: int | None = None) -> dict[str, Any]:
    """Read a message; with a number, the answer to that question."""
    where = repr(line[:40])
    message = records.mapping(where, records.load(where, line))
    if number is not None and message.get("id") != number:
        raise Refused(f"the id is {message.get('id')!r:.40}, and that of the question {number}")
    return message


def columns_record(columns: Mapping[str, Column]) -> dict[str, list[float | None]]:
    """Return columns for a message, with null for a missing score."""
    for name, column in columns.items():
        if np.isinf(column).any():
            raise ValueError(f"column {name:.80} holds an infinite score")
    return {name: [None if value != value else value for value in column.tolist()] for name, column in columns.items()}


def columns_of(columns: Any) -> dict[str, Column]:
    """Read the columns of an answer; their names and lengths are checked elsewhere."""
    numbers = value_of(Mapping[str, tuple[float, ...]], columns, "columns")
    return {name: np.array(values, dtype=np.float64) for name, values in numbers.items()}


def scores(answer: Mapping[str, Any]) -> tuple[dict[str, Column], set[tuple[str, str]]]:
    """Read the answer to `score`: columns, and the kinds and names of the models that were used."""
    used = value_of(tuple[tuple[str, str], ...], answer.get("asked", []), "asked")
    return columns_of(answer.get("columns")), set(used)


def description(answer: Mapping[str, Any]) -> Description:
    """Read the answer to `describe`."""
    if answer.get("protocol") != PROTOCOL:
        raise Refused(f"it speaks protocol {answer.get('protocol')!r:.40}, and this is {PROTOCOL}")
    listed = value_of(tuple[Mapping[str, Any], ...], answer.get("options", []), "its options")
    return (value_of(MetricCard, answer.get("card"), "its card"), tuple(map(_option, listed)),
            value_of(tuple[str, ...], answer.get("environment", []), "its environment"))


def _option(entry: Mapping[str, Any]) -> tuple[str, Any, Any]:
    name = value_of(str, entry.get("name"), "option, name")
    default, choices = entry.get("default"), entry.get("choices")
    if isinstance(choices, list) and all(type(choice) in (int, str) for choice in choices):
        kind: Any = Literal[tuple(choices)]
        return name, kind, value_of(kind, default, f"option {name}, default")
    if choices is not None or str(entry.get("type")) not in TYPES:
        raise Refused(f"option {name}: needs a type ({', '.join(TYPES)}), or choices (texts or whole numbers)")
    kind = TYPES[entry["type"]]
    return name, kind, kind(value_of(str if kind is File else kind, default, f"option {name}, default"))
