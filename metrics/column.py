"""A column of scores, and the name of one: `COLUMN`, or `COLUMN@QUALITY` where it is meant for one quality alone."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Column: TypeAlias = npt.NDArray[np.float64]
"""One score per item, higher is better; NaN means not scorable."""

Columns: TypeAlias = Mapping[str, Column]
"""The columns of a metric by name."""

_AT = "@"


def of_quality(column: str, quality: str) -> str:
    """The name of a column for one quality, COLUMN@QUALITY; the column's own where no quality is named."""
    return f"{column}{_AT}{quality}" if quality else column


def split_quality(name: str, columns: Collection[str]) -> tuple[str, str]:
    """The column and the quality of a name, where such a column is among `columns`; else the name and no quality.

    The name of a column of another library (`evaluate:PATH`) may hold an @ itself.
    """
    column, _, quality = name.rpartition(_AT)
    return (column, quality) if column in columns else (name, "")
