"""Read JSON or TOML into dataclasses, refusing missing and unknown fields.

Anything else is refused, with the file and where in it.
"""

from __future__ import annotations

import dataclasses
import functools
import json
import math
import re
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, TypeVar

from benchmarks.errors import nearest

Read = TypeVar("Read")
SURROGATE = re.compile("[\ud800-\udfff]")
PLAIN: dict[Any, tuple[Callable[[Any], bool], str]] = {
    str: (lambda value: isinstance(value, str) and not SURROGATE.search(value), "text"),
    int: (lambda value: type(value) is int and abs(value) <= 1 << 53, "a whole number"),
    float: (lambda value: type(value) in (int, float) and abs(value) < 1e308, "a finite number"),
    bool: (lambda value: isinstance(value, bool), "true or false"),
}
"""Check and description for each plain type; whole numbers stay whole."""

READ_AS: dict[tuple[Any, type], Callable[[Any], Any]] = {
    (float, types.NoneType): lambda _: math.nan,
    (Path, str): Path,
}
"""What a value becomes where a field has the first type and the file holds the second."""


class Refused(ValueError):
    """A file holds an invalid value; the message names the place."""


def lines(file: str, content: bytes) -> Iterator[Any]:
    """Yield the JSON values of a file, one per line."""
    for place, line in enumerate(text(file, content).split("\n"), start=1):
        if line:
            yield load(f"{file}, line {place}", line.encode())


def load(where: str, content: bytes) -> Any:
    """Parse JSON; NaN, Infinity and duplicate names are refused."""
    def refuse(value: str) -> None:
        raise ValueError(f"{value} is no number")

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        values = dict(pairs)
        if len(values) < len(pairs):
            names = [name for name, _ in pairs]
            raise ValueError(f"an object has {max(names, key=names.count)!r:.60} twice")
        return values

    try:
        return json.loads(text(where, content), parse_constant=refuse, object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        raise Refused(f"{where}: is not JSON: {error!s:.100}") from error


def text(where: str, content: bytes) -> str:
    """The text of a file."""
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise Refused(f"{where}: is no text in UTF-8") from error


def records(file: str, value: Any, kind: type[Read]) -> tuple[Read, ...]:
    """Convert a JSON list to records."""
    if not isinstance(value, list):
        raise Refused(f"{file}: should be a list")
    return tuple(value_of(kind, entry, f"{file}, record {number}") for number, entry in enumerate(value))


def value_of(hint: Any, value: Any, where: str) -> Any:
    """Convert a JSON value to the type of a field."""
    origin, inside = typing.get_origin(hint), typing.get_args(hint)
    if origin in (types.UnionType, typing.Union):
        other = next(kind for kind in inside if kind is not types.NoneType)
        return None if value is None else value_of(other, value, where)
    if dataclasses.is_dataclass(hint):
        return _record(hint, value, where)
    if origin is tuple and isinstance(value, list):
        hints = inside[:1] * len(value) if inside[-1] is Ellipsis else inside
        if len(hints) != len(value):
            raise Refused(f"{where}: should have {len(hints)} entries, has {len(value)}")
        return tuple(value_of(kind, entry, where) for kind, entry in zip(hints, value, strict=True))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return mapping(where, value)
    if (hint, type(value)) in READ_AS:
        return READ_AS[hint, type(value)](value)
    if origin is Literal:
        fits, words = value in inside, f"one of {', '.join(map(str, inside))}"
    elif hint in PLAIN:
        fits, words = PLAIN[hint][0](value), PLAIN[hint][1]
    else:
        raise Refused(f"{where}: holds {value!r:.60}, which it should not")
    if not fits:
        raise Refused(f"{where}: should be {words}, is {value!r:.60}")
    return value


def _record(kind: Any, value: Any, where: str) -> Any:
    values, hints = mapping(where, value), _hints(kind)
    fields = {field.name: field for field in dataclasses.fields(kind)}
    if unknown := sorted(values.keys() - fields.keys()):
        raise Refused(f"{where}: has a field {unknown[0]!r:.60}, which it should not; {nearest(unknown[0], fields)}")
    if lacking := [name for name, field in fields.items()
                   if name not in values and field.default is dataclasses.MISSING]:
        raise Refused(f"{where}: has no field {lacking[0]!r}")
    return kind(**{name: value_of(hints[name], entry, f"{where}, {name}") for name, entry in values.items()})


@functools.cache
def _hints(kind: Any) -> dict[str, Any]:
    """What the fields of a record should be; a bundle has many records and few kinds of them."""
    return typing.get_type_hints(kind)


def mapping(where: str, value: Any) -> dict[str, Any]:
    """Return a JSON object, or raise."""
    if not isinstance(value, dict):
        raise Refused(f"{where}: should be an object, holds {value!r:.60}")
    return value
