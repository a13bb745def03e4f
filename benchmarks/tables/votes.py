"""Votes in cells: numbers, fractions of a scale, and ordered labels.

    4    4.5    4,5    4/5    80 %    4 - good    (4) good        the number
    ★★★★    ★★★★☆                                                 the number of stars
    yes, no; true, false; bad ... excellent; ...                  the position in the scale, from 0
    empty, N/A, none, ?, -                                        no vote
"""

from __future__ import annotations

import contextlib
import json
import math
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from typing import Any

from benchmarks.dataset import Quality
from benchmarks.formats.official import LARGEST

NAMED: dict[str, Any] = tomllib.loads((files(__package__) / "names.toml").read_text(encoding="utf-8"))
"""Usual names of columns and speakers, and known labels."""
MISSING = frozenset(NAMED["missing"])
NUMBER = re.compile(r"\(?\s*([+-]?\d+(?:[.,]\d+)?(?:e[+-]?\d+)?)\s*(?:/\s*\d+|%)?\s*\)?"
                    r"(?:(?:\s*[-–:=.(]\s*|\s+)[^\W\d_].*|[^\W\d_]+(?:\W.*)?)?",
                    re.IGNORECASE | re.DOTALL)
DATE = re.compile(rf"\d{{1,2}}[\s./-]+({'|'.join(NAMED['months'])})\.?([\s./-]+\d+)?")
"""A date that a spreadsheet has made from a fraction."""
SCALES = tuple(map(tuple, NAMED["scales"]))
STRAY = 0.1
"""Maximum share of non-numeric cells in a numeric column."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Conversion of the cells of a rating column to votes; without labels, cells are numbers."""

    labels: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None

    def or_labels(self, recognised: Scale | None) -> Scale:
        """Return this scale; if it has no labels, add those of the recognised scale."""
        return self if self.labels or recognised is None else replace(self, labels=recognised.labels)

    def vote(self, cell: Any) -> float | None:
        """Return the vote in a cell, None if it is missing; raise ValueError for an invalid one."""
        text = label(cell) if cell is not None else ""
        if text in self.labels:
            return float(self.labels.index(text))
        if text in MISSING or text.startswith("n/a"):
            return None
        if not self.labels and DATE.fullmatch(text):
            raise ValueError(f"{text!r} is a date, which a spreadsheet makes from a fraction such as 4/5")
        value = math.nan if self.labels else number(cell)
        if not abs(value) <= LARGEST:  # or NaN
            raise ValueError(f"{text!r:.60} is not {f'one of {self}' if self.labels else 'a vote'}")
        if not (bounds := Quality("", self.low, self.high)).takes(value):
            raise ValueError(f"{value:g} is outside the scale, {bounds.scale}")
        return value

    def __str__(self) -> str:
        return " < ".join(self.labels)


def elements(cell: Any) -> Sequence[Any]:
    """Return the elements of a cell that is a list, or a list in JSON; else the cell alone.

    Label Studio writes a rating as `[{"rating": 4}]`.
    """
    if isinstance(cell, str) and cell.lstrip()[:1] == "[":
        with contextlib.suppress(ValueError):
            cell = json.loads(cell)
    if not isinstance(cell, list):
        return (cell,)
    return [part["rating"] if isinstance(part, dict) and part.keys() == {"rating"} else part for part in cell]


def fields(value: Any) -> Iterable[str]:
    """Return the names of the fields of an object, or of an object in JSON; else none."""
    if isinstance(value, str) and value.lstrip()[:1] == "{":
        with contextlib.suppress(ValueError):
            value = json.loads(value)
    return value if isinstance(value, dict) else ()


def label(cell: Any) -> str:
    """Return a cell as a label of a scale, in lower case; pandas writes 5 as 5.0 in columns with missing cells."""
    return re.sub(r"^([+-]?\d+)[.,]0+$", r"\1", str(cell).strip().casefold())


def number(cell: Any) -> float:
    """Return the number that a cell contains or starts with, or NaN."""
    if isinstance(cell, int | float):
        return float(cell) if math.isfinite(cell) else math.nan
    text = str(cell).strip()
    if text and not text.strip("★☆⭐"):
        return float(len(text) - text.count("☆"))
    matched = NUMBER.fullmatch(text)
    return float(matched[1].replace(",", ".")) if matched else math.nan


def scale_of(values: Mapping[str, int], scales: Sequence[tuple[str, ...]] = ()) -> Scale | None:
    """Return the scale of a column's values (with counts), trying the user's `scales` first; None if not a scale."""
    labels = set(map(label, values)) - MISSING
    for scale in (*scales, *SCALES):
        stray = set(map(str, range(10))) if scale in scales else set()  # refused later, with the line
        if labels & set(scale) and labels - stray <= set(scale):
            return Scale(tuple(scale))
    voted = {value: count for value, count in values.items() if label(value) in labels}
    bad = sum(count for value, count in voted.items() if math.isnan(number(value)))
    return Scale() if voted and bad <= STRAY * sum(voted.values()) else None


def likely_order(labels: Iterable[str]) -> tuple[str, ...]:
    """Return labels from lowest to highest if known scales contain them all; otherwise empty."""
    positions: dict[str, list[float]] = {label.casefold(): [] for label in labels}
    for scale in SCALES:
        for index, label in enumerate(scale):
            positions.get(label, []).append(index / (len(scale) - 1))
    ordered = tuple(sorted(positions, key=lambda label: sum(positions[label]) / max(1, len(positions[label]))))
    return ordered if all(positions.values()) else ()


def parse_scale(text: str) -> tuple[str, ...]:
    """Parse `No < To some extent < Yes`; raise ValueError without at least two distinct labels."""
    labels = tuple(map(label, text.split("<")))
    if len(labels) < 2 or not all(labels) or len(set(labels)) < len(labels):
        raise ValueError(f'a scale is written "No < To some extent < Yes", lowest first, not {text!r:.60}')
    return labels
