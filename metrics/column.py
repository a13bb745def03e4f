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
    """Return COLUMN@QUALITY, or `column` itself if `quality` is empty."""
    return f"{column}{_AT}{quality}" if quality else column


def split_quality(name: str, columns: Collection[str]) -> tuple[str, str]:
    """Split COLUMN@QUALITY if COLUMN is one of `columns`; else return the name and an empty quality.

    The name of another library's column (`evaluate:PATH`) may itself contain an @.
    """
    column, _, quality = name.rpartition(_AT)
    return (column, quality) if column in columns else (name, "")


def of_aggregate(column: str, aggregation: str) -> str:
    """Return COLUMN:AGGREGATION for turn scores aggregated per dialogue; `column` itself for the mean."""
    return column if aggregation == "mean" else f"{column}:{aggregation}"


def split_aggregate(name: str, columns: Collection[str]) -> tuple[str, str]:
    """Split COLUMN:AGGREGATION if COLUMN is one of `columns`; else return the name and "mean"."""
    column, _, aggregation = name.rpartition(":")
    return (column, aggregation) if column in columns else (name, "mean")
