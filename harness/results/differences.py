"""Row-by-row comparison of two results of the same run.

Item scores are compared column by column: the scores of one metric, or the ratings, of all items of a dataset.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from harness.results.rows import Results
from harness.statistics.panel import Vector

COMPARED = ("correlations", "comparisons", "reliability", "decisions", "ranking", "firmness",
            "disagreement", "vote_counts", "skips", "failures", "examples", "points")

Key: TypeAlias = tuple[str, ...]
Table: TypeAlias = Mapping[Key, Mapping[str, Any]]


class Difference(NamedTuple):
    """A field that differs by `size`, which is infinite if a value is missing or not a number.

    For a column of item scores, only the item that differs most is kept.
    """

    key: Key
    field: str
    before: Any
    after: Any
    size: float


@dataclass(frozen=True, slots=True)
class TableDifference:
    """Differences of a table: number of common rows, fields that differ, and rows in one of the results only."""

    table: str
    common: int
    fields: tuple[Difference, ...]
    gone: tuple[Key, ...]
    new: tuple[Key, ...]

    @property
    def equal(self) -> bool:
        return not (self.fields or self.gone or self.new)


def key_of(row: Any) -> Key:
    return tuple(getattr(row, name) for name in row.KEY)


def compare(before: Results, after: Results, names: Collection[str] = COMPARED, tolerance: float = 0.0,
            ) -> tuple[TableDifference, ...]:
    """Compare tables of two results, up to a tolerance."""
    return tuple(_compared(name, _table(before, name), _table(after, name), tolerance) for name in names)


def _table(results: Results, name: str) -> Table:
    """Return the rows of a table by key, as the fields that are compared.

    A comparison with swapped columns counts as one row removed and one added.
    """
    if name == "points":
        return {(rows.dataset, *column): {"items": rows.items, "values": values} for rows in results.points
                for column, values in (*((("people", name), ratings) for name, ratings in rows.human.items()),
                                       *rows.scores.items())}
    rows = getattr(results, name)
    return {key_of(row): {field: getattr(row, field) for field in row.__slots__ if field not in row.KEY}
            for row in (itertools.chain.from_iterable(rows) if name == "comparisons" else rows)}


def _compared(name: str, old: Table, new: Table, tolerance: float) -> TableDifference:
    fields = (difference for key in old if key in new for difference in _differences(key, old[key], new[key]))
    return TableDifference(
        name, len(old.keys() & new.keys()), tuple(difference for difference in fields if difference.size > tolerance),
        tuple(key for key in old if key not in new), tuple(key for key in new if key not in old))


def _differences(key: Key, old: Mapping[str, Any], new: Mapping[str, Any]) -> Iterator[Difference]:
    for field, value in old.items():
        if isinstance(value, np.ndarray) and old["items"] == new["items"]:
            yield from _worst(key, old["items"], value, new[field])
        elif not isinstance(value, np.ndarray):
            yield Difference(key, field, value, new[field], distance(value, new[field]))


def _worst(key: Key, items: Sequence[str], before: Vector, after: Vector) -> Iterator[Difference]:
    """Yield the item whose scores differ most; scores beyond 1 are compared relative to their size."""
    with np.errstate(invalid="ignore"):  # the difference of two infinities is NaN
        sizes = np.nan_to_num(np.abs(before - after) / np.maximum(1, np.abs(after)), nan=0.0)
    sizes[np.isnan(before) != np.isnan(after)] = math.inf
    if len(sizes):
        worst = int(sizes.argmax())
        yield Difference((*key, items[worst]), "score", float(before[worst]), float(after[worst]), float(sizes[worst]))


def distance(first: Any, second: Any) -> float:
    """Return the difference of two values; infinite if one is missing or not a number."""
    if first == second or (first != first and second != second):
        return 0.0
    numbers = isinstance(first, int | float) and isinstance(second, int | float)
    return abs(first - second) if numbers and math.isfinite(first - second) else math.inf
