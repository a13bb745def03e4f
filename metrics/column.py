"""Columns of scores and their names: `COLUMN`, or `COLUMN@QUALITY` for the column made for one quality."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Column: TypeAlias = npt.NDArray[np.float64]
"""One score per item, higher is better; NaN means not scorable."""

Columns: TypeAlias = Mapping[str, Column]
"""Columns of a metric by name."""

_AT = "@"


def of_quality(column: str, quality: str) -> str:
    """Return the name of a column for one quality, COLUMN@QUALITY; `column` itself without a quality."""
    return f"{column}{_AT}{quality}" if quality else column


def split_quality(name: str, columns: Collection[str]) -> tuple[str, str]:
    """Return column and quality of a name if the column is one of `columns`, else the name and no quality.

    The name of a column of another library (`evaluate:PATH`) may itself hold an @.
    """
    column, _, quality = name.rpartition(_AT)
    return (column, quality) if column in columns else (name, "")


def of_aggregate(column: str, way: str) -> str:
    """Return the name of the scores of turns combined per dialogue, COLUMN:WAY; `column` itself for their mean."""
    return column if way == "mean" else f"{column}:{way}"


def split_aggregate(name: str, columns: Collection[str]) -> tuple[str, str]:
    """Return column and way of a name if the column is one of `columns`, else the name and the mean."""
    column, _, way = name.rpartition(":")
    return (column, way) if column in columns else (name, "mean")
