"""The numbers of a score file: decimal and finite, and where there is none, why."""

from __future__ import annotations

import contextlib
import math
import re
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from benchmarks.formats.scorefile.problems import Kind, printable

DIGITS = 400  # characters of a number, far more than a float can tell apart
BLANK = " \t"
"""What may stand around an id or a number."""
DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
SIGNS = re.compile(r"[0-9.eE+-]*")
"""What numbers are made of: of such text float() takes just what is a decimal number."""

Wrong = tuple[Kind, str]
"""Why a value is no score."""


def numbers(texts: Sequence[str]) -> tuple[npt.NDArray[np.float64], dict[int, Wrong]]:
    """The numbers in a column of text, and what is wrong with the texts that are none."""
    if SIGNS.fullmatch("".join(texts)) and max(map(len, texts), default=0) <= DIGITS:
        with contextlib.suppress(ValueError):  # then each is looked at below
            plain = np.array(list(map(float, texts)), dtype=np.float64)
            if np.isfinite(plain).all():
                return plain, {}
    values = np.full(len(texts), np.nan)
    wrong: dict[int, Wrong] = {}
    for row, text in enumerate(texts):
        value = float(text) if len(text) <= DIGITS and DECIMAL.fullmatch(text) else math.nan
        if math.isfinite(value):
            values[row] = value
        else:
            wrong[row] = _why(text, value)
    return values, wrong


def number(value: object) -> float | Wrong:
    """The number that a value of JSON is; else what is wrong with it."""
    if type(value) is float and math.isfinite(value):
        return value
    if isinstance(value, str):
        values, wrong = numbers([value.strip(BLANK)])
        return wrong[0] if wrong else float(values[0])
    if value is None:
        return _why("", math.nan)
    if isinstance(value, bool) or not isinstance(value, int | float):
        names = {bool: "true or false", list: "a list"}
        return "no number", f"its score is {names.get(type(value), 'an object')}, not a number"
    try:
        plain = float(value)
    except OverflowError:
        plain = math.inf
    return plain if math.isfinite(plain) else _why(repr(plain), plain)


def _why(text: str, value: float) -> Wrong:
    if not text:
        return "missing", "has no score: the place is empty"
    if math.isinf(value):
        return "infinite", f"its score {printable(text)} is more than a number can hold"
    if text.casefold().lstrip("+-") in {"inf", "infinity", "∞"}:
        return "infinite", f"its score is {printable(text)}; a finite number is wanted"
    hint = "; a decimal point is wanted" if re.fullmatch(r"[+-]?[0-9]+,[0-9]+", text) else ""
    return "no number", f"its score {printable(text)!r} is no number{hint}"
