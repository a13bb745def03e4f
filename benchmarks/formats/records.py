"""Read JSON or TOML into dataclasses, whose fields define the format; anything else raises Refused with a location."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime
import functools
import json
import math
import re
import tomllib
import types
import typing
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, TypeVar

from benchmarks.errors import did_you_mean, nearest

Record = TypeVar("Record")
SURROGATE = re.compile("[\ud800-\udfff]")
MAX_TOML_BYTES = 1 << 18  # maximum bytes of a TOML file


class Rule(NamedTuple):
    """A rule for a field, used as Annotated[TYPE, RULE]: description, check, and any list of valid values.

    A field Annotated[float, RULE] converts integers to float; plain float fields keep them.
    """

    description: str
    is_valid: Callable[[Any], bool]
    valid_values: tuple[str, ...] = ()


PLAIN_RULES: dict[Any, Rule] = {
    str: Rule("text", lambda value: isinstance(value, str) and not SURROGATE.search(value)),
    int: Rule("a whole number", lambda value: type(value) is int and abs(value) <= 1 << 53),  # exact as a float
    float: Rule("a finite number", lambda value: type(value) in (int, float) and abs(value) < 1e308),
    bool: Rule("true or false", lambda value: isinstance(value, bool)),
    datetime.date: Rule("a date without a time, such as 2026-03-31", lambda value: (
        isinstance(value, datetime.date | str) and not isinstance(value, datetime.datetime))),
}

LIST = Rule("a list", lambda value: isinstance(value, list))


def one_of(*names: str) -> Rule:
    return Rule(f"one of {', '.join(filter(None, names))}", names.__contains__, names)


class Refused(ValueError):
    """A file contains an invalid value; the message says where."""


@contextlib.contextmanager
def refused_as(error: Callable[[str], Exception]) -> Iterator[None]:
    try:
        yield
    except Refused as refused:
        raise error(str(refused)) from refused


def lines(file: str, content: bytes) -> Iterator[Any]:
    for number, line in enumerate(text(file, content).split("\n"), start=1):
        if line:
            yield load(f"{file}, line {number}", line.encode())


def load(where: str, content: bytes) -> Any:
    """Parse JSON; raise Refused for NaN, Infinity and duplicate keys."""
    def reject_constant(value: str) -> None:
        raise ValueError(f"{value} is not a number")

    def without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        values = dict(pairs)
        if len(values) < len(pairs):
            names = [name for name, _ in pairs]
            raise ValueError(f"duplicate key {max(names, key=names.count)!r:.60} in an object")
        return values

    try:
        return json.loads(text(where, content), parse_constant=reject_constant, object_pairs_hook=without_duplicates)
    except (ValueError, RecursionError) as error:
        raise Refused(f"{where}: is not JSON: {error!s:.100}") from error


def toml(where: str, content: bytes) -> dict[str, Any]:
    """Parse TOML; raise Refused if it is invalid or larger than MAX_TOML_BYTES."""
    if len(content) > MAX_TOML_BYTES:
        raise Refused(f"{where}: is larger than {MAX_TOML_BYTES} bytes")
    try:
        return tomllib.loads(text(where, content).removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise Refused(f"{where}: is not TOML: {' '.join(str(error).split()):.120}") from error


def text(where: str, content: bytes) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise Refused(f"{where}: is not UTF-8 text") from error


def records(file: str, value: Any, kind: type[Record]) -> tuple[Record, ...]:
    return tuple(value_of(kind, entry, f"{file}, record {number}")
                 for number, entry in enumerate(_checked(LIST, value, file)))


def value_of(hint: Any, value: Any, where: str) -> Any:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Annotated:
        checked = _checked(arguments[1], value_of(arguments[0], value, where), where)
        return float(checked) if arguments[0] is float else checked
    if origin in (types.UnionType, typing.Union):
        value_type = next(kind for kind in arguments if kind is not types.NoneType)
        return None if value is None else value_of(value_type, value, where)
    if dataclasses.is_dataclass(hint):
        return _record(hint, value, where)
    if origin is tuple:
        _checked(LIST, value, where)
        hints = arguments[:1] * len(value) if arguments[-1] is Ellipsis else arguments
        if len(hints) != len(value):
            raise Refused(f"{where}: should have {len(hints)} entries, not {len(value)}")
        return tuple(value_of(kind, entry, where) for kind, entry in zip(hints, value, strict=True))
    if isinstance(origin, type) and issubclass(origin, Mapping):
        return {_checked(PLAIN_RULES[str], name, where): value_of(arguments[1], entry, f"{where}, {name:.60}")
                for name, entry in mapping(where, value).items()}
    if origin is Literal:
        return _checked(one_of(*arguments), value, where)
    if hint is Any:
        _checked(PLAIN_RULES[str], json.dumps(value, ensure_ascii=False, default=str), where)  # no lone surrogates
        return value
    return _plain(hint, value, where)


def _plain(hint: Any, value: Any, where: str) -> Any:
    if hint is float and value is None:
        return math.nan
    if hint is Path:
        return Path(_checked(PLAIN_RULES[str], value, where))
    if hint not in PLAIN_RULES:
        raise Refused(f"{where}: unexpected value {short_repr(value)}")
    _checked(PLAIN_RULES[hint], value, where)
    return _date(value, where) if hint is datetime.date else value


def _checked(rule: Rule, value: Any, where: str) -> Any:
    if not rule.is_valid(value):
        suggestion = f"; {did_you_mean(str(value), rule.valid_values)}".removesuffix("; ") if rule.valid_values else ""
        raise Refused(f"{where}: should be {rule.description}, not {short_repr(value)}{suggestion}")
    return value


def _date(value: Any, where: str) -> datetime.date:
    try:
        return datetime.date.fromisoformat(value) if isinstance(value, str) else value
    except ValueError as error:
        expected = PLAIN_RULES[datetime.date].description
        raise Refused(f"{where}: should be {expected}, not {short_repr(value)}") from error


def short_repr(value: Any) -> str:
    try:
        return f"{str(value) if isinstance(value, datetime.date) else repr(value):.60}"
    except (ValueError, RecursionError):  # an integer of thousands of digits, or deep nesting
        return "a value too large to show"


def _record(kind: Any, value: Any, where: str) -> Any:
    values = fields_of(kind, value, where)
    if missing := [field.name for field in dataclasses.fields(kind)
                   if field.name not in values and field.default is field.default_factory is dataclasses.MISSING]:
        raise Refused(f"{where}: the field {missing[0]!r} is missing")
    return kind(**values)


def fields_of(kind: Any, value: Any, where: str) -> dict[str, Any]:
    """Convert a JSON object to values for the fields of a dataclass; fields may be missing."""
    values, hints = mapping(where, value), _hints(kind)
    if unknown := sorted(values.keys() - hints.keys()):
        suggestion = nearest(unknown[0][:60], hints)
        raise Refused(f"{where}: unknown field {unknown[0]!r:.60}; {suggestion}")
    return {name: value_of(hints[name], entry, f"{where}, {name}") for name, entry in values.items()}


@functools.cache
def _hints(kind: Any) -> dict[str, Any]:
    hints = typing.get_type_hints(kind, include_extras=True)
    return {field.name: hints[field.name] for field in dataclasses.fields(kind)}


def mapping(where: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise Refused(f"{where}: should be an object, not {short_repr(value)}")
    return value
