"""Columns of scores and their names: `COLUMN`, or `COLUMN@QUALITY` for the column made for one quality."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks.dataset import Item
from benchmarks.errors import plural
from metrics.errors import BadScores

Column: TypeAlias = npt.NDArray[np.float64]
"""One score per item, higher is better; NaN means not scorable."""

Columns: TypeAlias = Mapping[str, Column]
"""Columns of a metric by name."""


def of_quality(column: str, quality: str) -> str:
    """Return COLUMN@QUALITY, or `column` itself if `quality` is empty."""
    return f"{column}@{quality}" if quality else column


def split_quality(name: str, columns: Collection[str]) -> tuple[str, str]:
    """Split COLUMN@QUALITY if COLUMN is one of `columns`; else return the name and an empty quality.

    The name of another library's column (`evaluate:PATH`) may itself contain an @.
    """
    column, _, quality = name.rpartition("@")
    return (column, quality) if column in columns else (name, "")


def of_aggregate(column: str, aggregation: str) -> str:
    """Return COLUMN:AGGREGATION for turn scores aggregated per dialogue; `column` itself for the mean."""
    return column if aggregation == "mean" else f"{column}:{aggregation}"


def split_aggregate(name: str, columns: Collection[str]) -> tuple[str, str]:
    """Split COLUMN:AGGREGATION if COLUMN is one of `columns`; else return the name and "mean"."""
    column, _, aggregation = name.rpartition(":")
    return (column, aggregation) if column in columns else (name, "mean")


def checked(metric: str, declared: Sequence[str], items: Sequence[Item], columns: object) -> dict[str, Column]:
    """Return the declared and NAME@QUALITY columns; raise BadScores if a column is missing, unknown or invalid."""
    if not isinstance(columns, Mapping):
        raise BadScores(f"{metric}: expected the columns {', '.join(declared)}, got {type(columns).__name__}")
    keys = list(map(str, columns))
    of_qualities = [key for key in keys if key not in declared and split_quality(key, declared)[1]]
    if sorted(keys) != sorted([*declared, *of_qualities]):
        raise BadScores(f"{metric}: expected the columns {', '.join(declared)}, got {', '.join(sorted(keys))}")
    return {column: _vector(column, columns[column], items) for column in (*declared, *of_qualities)}


def _vector(column: str, values: npt.ArrayLike, items: Sequence[Item]) -> Column:
    if isinstance(values, np.ma.MaskedArray):
        values = np.ma.filled(values.astype(np.float64), np.nan)
    try:
        vector = np.array(values, dtype=np.float64) if np.asarray(values).dtype.kind in "biufO" else None
    except (TypeError, ValueError):
        vector = None
    if vector is None:
        raise BadScores(f"column {column} contains a value that is not a number")
    if vector.shape != (len(items),):
        size = plural(len(vector), "number") if vector.ndim == 1 else f"shape {vector.shape}"
        raise BadScores(f"column {column} has {size} for {plural(len(items), 'item')}")
    infinite = np.flatnonzero(np.isinf(vector))
    if infinite.size:
        raise BadScores(f"column {column} is infinite for item {items[int(infinite[0])].id}")
    return vector
