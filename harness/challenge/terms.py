"""Reading TOML that an organiser or a team wrote: every value of the kind it should be, every unknown name answered."""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Callable, Collection, Mapping
from pathlib import Path
from typing import Any, TypeVar

from benchmarks.errors import nearest
from harness.errors import BadConfig

Value = TypeVar("Value")

LARGEST = 1 << 16
"""Bytes of a TOML file; the longest that makes sense has a tenth of it."""


def read(path: Path, shown: str) -> dict[str, Any]:
    """The table in a TOML file; `shown` names the file in messages."""
    try:
        if path.stat().st_size > LARGEST:
            raise BadConfig(f"{shown}: more than {LARGEST} bytes")
        return tomllib.loads(path.read_bytes().decode("utf-8"))
    except FileNotFoundError as error:
        raise BadConfig(f"{shown}: no such file") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise BadConfig(f"{shown}: is not TOML: {' '.join(str(error).split()):.120}") from error


def known(table: Mapping[str, Any], names: Collection[str], shown: str) -> None:
    """Refuse a table with a name that means nothing."""
    for name in table:
        if name not in names:
            raise BadConfig(f"{shown}: {name[:60]!r} is no setting; {nearest(name[:60], names)}")


def take(table: Mapping[str, Any], name: str, kind: Callable[[Any], Value | None], default: Value, shown: str) -> Value:
    """A value of the kind it should be; the default where there is none."""
    if name not in table:
        return default
    value = kind(table[name])
    if value is None:
        raise BadConfig(f"{shown}: {name} should be {(kind.__doc__ or '').rstrip('.')}, not {said(table[name])}")
    return value


def said(value: Any) -> str:
    """A value as a message shows it: cut, and in words where Python cannot write it down."""
    try:
        return f"{value!r:.60}"
    except (ValueError, RecursionError):  # a number of thousands of digits, lists in lists in lists
        return "what is too large to be shown"


def text(value: Any) -> str | None:
    """A text of one line."""
    return value if isinstance(value, str) and value.isprintable() and len(value) <= 200 else None


def paragraphs(value: Any) -> str | None:
    """A text of at most 2000 characters without control characters."""
    if not isinstance(value, str) or len(value) > 2000:
        return None
    lines = value.split("\n")
    return value.strip() if all(line.replace("\t", " ").rstrip("\r").isprintable() for line in lines) else None


def texts(value: Any) -> tuple[str, ...] | None:
    """A list of texts."""
    items = [text(item) for item in value] if isinstance(value, list) else [None]
    return None if None in items else tuple(item for item in items if item is not None)


def count(value: Any) -> int | None:
    """A whole number, 0 or more."""
    return value if type(value) is int and value >= 0 else None


def number(value: Any) -> float | None:
    """A number."""
    return float(value) if type(value) in (int, float) and abs(value) <= 1e6 else None


def day(value: Any) -> datetime.date | None:
    """A date such as 2026-03-31."""
    try:
        if isinstance(value, datetime.datetime):
            return (value.astimezone(datetime.UTC) if value.tzinfo else value).date()
        if isinstance(value, datetime.date):
            return value
        return datetime.date.fromisoformat(value) if isinstance(value, str) else None
    except (ValueError, OverflowError):  # no date, or one that leaves the calendar in UTC
        return None


def one_of(*choices: str) -> Callable[[Any], str | None]:
    """One of some words."""
    def kind(value: Any) -> str | None:
        return value if value in choices else None

    kind.__doc__ = "one of " + ", ".join(choices)
    return kind
