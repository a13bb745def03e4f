"""Compare two results of the same run row by row: the number and size of differences per table.

Item scores are compared column by column: the scores of one metric, or the ratings, of all items of a dataset.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from harness.results.rows import Results

COMPARED = ("correlations", "comparisons", "reliability", "decisions", "ranking", "firmness",
            "disagreement", "vote_counts", "skips", "failures", "examples")

Key = tuple[str, ...]
Table: TypeAlias = Mapping[Key, Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class TableDifference:
    """Differences of a table: rows in both, rows that differ, rows in one only."""

    table: str
    common: int
    differ: tuple[Key, ...]
    gone: tuple[Key, ...]
    new: tuple[Key, ...]
    largest: float
    """Largest numeric difference; NaN if a number is missing on one side or a text differs."""
    where: Key

    @property
    def equal(self) -> bool:
        return not (self.differ or self.gone or self.new)


def drifts(before: Results, after: Results) -> tuple[TableDifference, ...]:
    """Compare each table of two reports."""
    old, new = _tables(before), _tables(after)
    return tuple(_drift(name, old[name], new[name]) for name in old)


def _tables(report: Results) -> dict[str, Table]:
    """Return the rows of every table by key, as the fields that are compared.

    A comparison with swapped columns counts as one row removed and one added.
    """
    rows = {name: getattr(report, name) for name in COMPARED}
    rows["comparisons"] = itertools.chain.from_iterable(report.comparisons)
    tables: dict[str, Table] = {
        name: {tuple(getattr(row, part) for part in row.KEY): {field: getattr(row, field) for field in row.__slots__
                                                               if field not in row.KEY} for row in rows[name]}
        for name in COMPARED}
    points: dict[Key, Mapping[str, Any]] = {
        (rows.dataset, *column): {"items": rows.items, "values": values} for rows in report.points
        for column, values in (*((("people", name), ratings) for name, ratings in rows.human.items()),
                               *rows.scores.items())}
    return {**tables, "points": points}


def _drift(name: str, old: Table, new: Table) -> TableDifference:
    differ = {key: most for key in old if key in new and (most := max(
        (apart(value, new[key][field]) for field, value in old[key].items()), default=0.0)) > 0}
    where = max(differ, key=lambda key: differ[key], default=())
    largest = differ[where] if where else 0.0
    return TableDifference(
        name, len(old.keys() & new.keys()), tuple(differ), tuple(key for key in old if key not in new),
        tuple(key for key in new if key not in old), largest if largest < math.inf else math.nan, where)


def apart(first: Any, second: Any) -> float:
    """Return the largest difference of two values or columns; infinite if one is missing or not a number."""
    if isinstance(first, np.ndarray):
        if first.shape != second.shape or (np.isnan(first) != np.isnan(second)).any():
            return math.inf
        with np.errstate(invalid="ignore"):  # the difference of two infinities is NaN
            return float(np.nanmax(np.abs(first - second), initial=0.0))
    if first == second or (first != first and second != second):
        return 0.0
    numbers = isinstance(first, int | float) and isinstance(second, int | float)
    return abs(first - second) if numbers and math.isfinite(first - second) else math.inf
