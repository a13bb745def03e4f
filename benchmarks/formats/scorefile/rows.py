"""The rows of a score file, whatever its form: ids, numbers, and where no number is, why."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from benchmarks.formats.scorefile.problems import Kind, Unreadable, shown

IDS = ("dialogue_id", "item", "id")
"""What the column of ids is called: the first, or one of the others."""
SCORE = "score"

DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
SIGNS = re.compile(r"[0-9.eE+-]*")
"""What numbers are made of: of such text float() takes just what is a decimal number."""
LONGEST = 400
"""Signs of a number, far more than a float can tell apart."""
BLANK = " \t"
"""What may stand around an id or a number."""

RATINGS = "annotations."
"""How the columns begin that hold the ratings of people in the organisers' own tables of results."""


@dataclass(frozen=True, slots=True, eq=False)
class Rows:
    """One id and one number a row (NaN where there is none, with the reason in `wrong`) and the line each stands on.

    `unit` is what the places count: lines, or the rows of a table without lines, or the records of a list. `broken` are
    those that could not be read, where the next could.
    """

    ids: Sequence[str]
    numbers: npt.NDArray[np.float64]
    lines: Sequence[int]
    unit: str = "line"
    wrong: Mapping[int, tuple[Kind, str]] = field(default_factory=dict)
    extra: tuple[str, ...] = ()
    broken: tuple[Unreadable, ...] = ()


@dataclass(frozen=True, slots=True)
class Header:
    """Where the ids and the scores stand among the columns, and what else there is."""

    id: int
    score: int
    extra: tuple[str, ...]


def header(names: Sequence[str], unit: str = "column") -> Header:
    """Find the two columns by their names; Unreadable where one is missing or named twice."""
    plain = [name.strip(BLANK).casefold() for name in names]
    known = [name for name in IDS if name in plain]
    if not known or SCORE not in plain:
        lacking = " and ".join([*(() if known else (IDS[0],)), *(() if SCORE in plain else (SCORE,))])
        people = (f"; {unit}s {RATINGS}* hold what people said, and are never read as scores"
                  if any(name.startswith(RATINGS) for name in plain) else "")
        given = ", ".join(map(shown, names[:12])) or "none"
        raise Unreadable(1, f"has no {unit} {lacking} (it has: {given}){people}")
    chosen = known[0]
    if chosen != IDS[0] and len(known) > 1:
        raise Unreadable(1, f"has the {unit}s {' and '.join(known)}; call the one with the ids {IDS[0]}")
    for name in (chosen, SCORE):
        if plain.count(name) > 1:
            raise Unreadable(1, f"has the {unit} {name} twice")
    places = plain.index(chosen), plain.index(SCORE)
    return Header(*places, tuple(name for place, name in enumerate(names) if place not in places))


def numbers(cells: Sequence[str]) -> tuple[npt.NDArray[np.float64], dict[int, tuple[Kind, str]]]:
    """The numbers of cells of text, and what is wrong with those that are none."""
    if SIGNS.fullmatch("".join(cells)) and max(map(len, cells), default=0) <= LONGEST:
        with contextlib.suppress(ValueError):  # then it is looked for
            plain = np.array(list(map(float, cells)), dtype=np.float64)
            if np.isfinite(plain).all():
                return plain, {}
    return _one_by_one(cells)


def _one_by_one(cells: Sequence[str]) -> tuple[npt.NDArray[np.float64], dict[int, tuple[Kind, str]]]:
    found = np.full(len(cells), np.nan)
    wrong: dict[int, tuple[Kind, str]] = {}
    matched = DECIMAL.fullmatch
    for row, cell in enumerate(cells):
        value = float(cell) if len(cell) <= LONGEST and matched(cell) else math.nan
        if math.isfinite(value):
            found[row] = value
        else:
            wrong[row] = _why(cell, value)
    return found, wrong


def number(value: object) -> float | tuple[Kind, str]:
    """The number that a value of JSON is; else what is wrong with it."""
    if type(value) is float and math.isfinite(value):
        return value
    if isinstance(value, str):
        found, wrong = numbers([value.strip(BLANK)])
        return wrong[0] if wrong else float(found[0])
    if value is None:
        return _why("", math.nan)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return "no number", f"its score is {_called(value)}, not a number"
    try:
        plain = float(value)
    except OverflowError:
        plain = math.inf
    return plain if math.isfinite(plain) else _why(repr(plain), plain)


def too_many(limit: int) -> str:
    """What is said of a file with more rows than are read."""
    return f"the file has more than {limit:,} rows, far more than there are scores to give"


def _why(cell: str, value: float) -> tuple[Kind, str]:
    if not cell:
        return "missing", "has no score: the place is empty"
    if math.isinf(value):
        return "infinite", f"its score {shown(cell)} is more than a number can hold"
    if cell.casefold().lstrip("+-") in {"inf", "infinity", "∞"}:
        return "infinite", f"its score is {shown(cell)}; a finite number is wanted"
    hint = "; a decimal point is wanted" if re.fullmatch(r"[+-]?[0-9]+,[0-9]+", cell) else ""
    return "no number", f"its score {shown(cell)!r} is no number{hint}"


def _called(value: object) -> str:
    names = {bool: "true or false", list: "a list", dict: "an object"}
    return names.get(type(value), "something else")
