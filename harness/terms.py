"""Reading TOML that somebody wrote: every value of the kind it should be, every unknown name answered."""

from __future__ import annotations

import datetime
import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.dataset import is_language
from benchmarks.errors import nearest
from harness.errors import BadConfig

Kind: TypeAlias = Callable[[Any], Any]
"""Makes a value of what stands in the file, None if it is none; its docstring says what should stand there."""

LARGEST = 1 << 16
"""Bytes of a TOML file; the longest that makes sense has a tenth of it."""


def read(path: Path, kinds: Mapping[str, Kind], shown: str) -> dict[str, Any]:
    """The settings in a TOML file, as `checked` has them; `shown` names the file in messages."""
    try:
        if path.stat().st_size > LARGEST:
            raise BadConfig(f"{shown}: more than {LARGEST} bytes")
        table = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except FileNotFoundError as error:
        raise BadConfig(f"{shown}: no such file") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError, ValueError) as error:
        raise BadConfig(f"{shown}: is not TOML: {' '.join(str(error).split()):.120}") from error
    return checked(table, kinds, shown)


def checked(table: Mapping[str, Any], kinds: Mapping[str, Kind], shown: str) -> dict[str, Any]:
    """The values of a table, each of the kind it should be; a name that means nothing is refused."""
    values = {}
    for name, value in table.items():
        if name not in kinds:
            raise BadConfig(f"{shown}: {name[:60]!r} is no setting; {nearest(name[:60], kinds)}")
        values[name] = kinds[name](value)
        if values[name] is None:
            wanted = (kinds[name].__doc__ or "").rstrip(".")
            raise BadConfig(f"{shown}: {name} should be {wanted[:1].lower()}{wanted[1:]}, not {said(value)}")
    return values


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


def language(value: Any) -> str | None:
    """The code of a language, such as en or zh."""
    return value if isinstance(value, str) and is_language(value) else None


def texts(value: Any) -> tuple[str, ...] | None:
    """A list of texts."""
    items = [text(item) for item in value] if isinstance(value, list) else [None]
    return None if None in items else tuple(item for item in items if item is not None)


def texts_by_name(value: Any) -> dict[str, str] | None:
    """A table of texts, such as {context = "history"}."""
    return value if isinstance(value, dict) and all(text(each) is not None for each in value.values()) else None


def tables(value: Any) -> list[dict[str, Any]] | None:
    """A list of tables, such as [[dataset]] begins or [{name = "overall", low = 1, high = 5}]."""
    return value if isinstance(value, list) and all(isinstance(each, dict) for each in value) else None


def texts_or_tables(value: Any) -> list[Any] | None:
    """A list of texts or of tables, such as ["overall"] or [{name = "overall", low = 1, high = 5}]."""
    return value if texts(value) is not None else tables(value)


def count(value: Any) -> int | None:
    """A whole number, 0 or more."""
    return value if type(value) is int and value >= 0 else None


def number(value: Any) -> float | None:
    """A number."""
    return float(value) if type(value) in (int, float) and abs(value) <= 1e6 else None


def numbers_by_name(value: Any) -> dict[str, float] | None:
    """A table of numbers, 0 or more, such as {"fed-turn" = 2, "persona-usr|Overall" = 1}."""
    numbers = {name: number(each) for name, each in value.items()} if isinstance(value, dict) else {"": None}
    known = {name: each for name, each in numbers.items() if each is not None and each >= 0}
    return known if len(known) == len(numbers) and any(known.values()) else None


def flag(value: Any) -> bool | None:
    """The word true or false."""
    return value if isinstance(value, bool) else None


def share(value: Any) -> float | None:
    """A number between 0 and 1."""
    plain = number(value)
    return plain if plain is not None and 0 < plain < 1 else None


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
