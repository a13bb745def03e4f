"""Two results of the same run, row by row: how many rows of each table differ, and by how much.

Item scores are compared column by column: what one metric, or people, gave all items of a dataset.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from harness.results.rows import Results

KEYS: dict[str, tuple[str, ...]] = {
    "correlations": ("dataset", "quality", "metric", "column", "statistic"),
    "comparisons": ("dataset", "quality", "statistic", "test", "better", "worse"),
    "reliability": ("dataset", "quality", "method"),
    "ranking": ("board", "origin", "rule", "statistic", "metric", "column"),
    "skips": ("dataset", "metric"),
    "failures": ("dataset", "metric"),
    "examples": ("dataset", "quality", "item"),
}
"""What identifies a row of each table; its other fields are compared. Where the two columns of a comparison change
sides, one row is gone and one is new."""

Key = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TableDifference:
    """A table then and now: the rows in both, those of them that differ, and those in one only."""

    table: str
    common: int
    differ: tuple[Key, ...]
    gone: tuple[Key, ...]
    new: tuple[Key, ...]
    largest: float
    """The largest difference of a number; NaN where one is missing on one side or a text differs."""
    where: Key

    @property
    def equal(self) -> bool:
        """Whether nothing differs."""
        return not (self.differ or self.gone or self.new)


@dataclass(frozen=True, slots=True)
class ItemColumn:
    """One number for each item."""

    items: tuple[str, ...]
    values: npt.NDArray[np.float64]

    def apart(self, other: ItemColumn) -> float:
        """The largest difference of an item; infinite where the items are others, or one has none."""
        if self.items != other.items or (np.isnan(self.values) != np.isnan(other.values)).any():
            return math.inf
        with np.errstate(invalid="ignore"):  # of two that are infinite the difference is none
            return float(np.nanmax(np.abs(self.values - other.values), initial=0.0))


def drifts(before: Results, after: Results, tolerance: float = 0.0) -> tuple[TableDifference, ...]:
    """Each table of two reports; numbers that differ by no more than the tolerance are the same."""
    tables = [_drift(name, _rows(before, name), _rows(after, name), tolerance) for name in KEYS]
    return *tables, _drift("points", _columns(before), _columns(after), tolerance)


def _drift(name: str, old: Mapping[Key, Any], new: Mapping[Key, Any], tolerance: float) -> TableDifference:
    apart = {key: most for key in old if key in new and (most := _apart(name, old[key], new[key])) > tolerance}
    where = max(apart, key=lambda key: apart[key], default=())
    largest = apart[where] if where else 0.0
    return TableDifference(
        name, len(old.keys() & new.keys()), tuple(apart), tuple(key for key in old if key not in new),
        tuple(key for key in new if key not in old), largest if largest < math.inf else math.nan, where)


def _rows(report: Results, name: str) -> dict[Key, Any]:
    return {tuple(getattr(row, part) for part in KEYS[name]): row for row in getattr(report, name)}


def _columns(report: Results) -> dict[Key, Any]:
    """What every item was given, by people on each quality and by each column of a metric."""
    human: dict[Key, Any] = {
        (rows.dataset, "people", quality): ItemColumn(rows.items, values)
        for rows in report.points for quality, values in rows.human.items()}
    return human | {
        (rows.dataset, *column): ItemColumn(rows.items, values)
        for rows in report.points for column, values in rows.scores.items()}


def _apart(name: str, old: Any, new: Any) -> float:
    """The largest difference between two rows; infinite where something is there on one side only, or is no number."""
    return old.apart(new) if isinstance(old, ItemColumn) else max(_values(name, old, new), default=0.0)


def _values(name: str, old: Any, new: Any) -> Iterator[float]:
    for entry in dataclasses.fields(old):
        if entry.name not in KEYS[name]:
            first, second = getattr(old, entry.name), getattr(new, entry.name)
            if first == second or (first != first and second != second):
                yield 0.0
            elif isinstance(first, int | float) and isinstance(second, int | float):
                yield abs(first - second) if math.isfinite(first - second) else math.inf
            else:
                yield math.inf
