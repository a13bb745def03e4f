"""A metric's mean Spearman on each quality, beside the best column and the length control on the same cells."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from leaderboard.blocks.cells import number
from leaderboard.blocks.pictures import profile
from leaderboard.blocks.pictures.profile import Line
from leaderboard.blocks.tables import Picture
from leaderboard.model.index import DATA, Key
from leaderboard.model.reached import Field, rated

Matrix: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Values:
    """Spearman of every column (columns, cells) over the cells of an origin, and the cells of each dimension."""

    columns: Sequence[Key]
    rows: Mapping[Key, int]
    dimensions: Mapping[str, npt.NDArray[np.int64]]
    matrix: Matrix


def values(every: Field, origin: str) -> Values:
    """Collect what all columns reach on an origin."""
    datasets = every.found.on(origin)
    places = rated(datasets)
    dimension = {(entry.name, quality.name): quality.dimension for entry in datasets for quality in entry.qualities}
    names = np.array([dimension[place] for place in places], dtype=object)
    keys = sorted(every.found.labels)
    matrix = np.array([[every.value(place, key) for place in places] for key in keys], dtype=np.float64)
    return Values(keys, {key: row for row, key in enumerate(keys)},
                  {name: np.flatnonzero(names == name) for name in sorted(set(names))},
                  matrix.reshape(len(keys), len(places)))


def picture(every: Field, given: Values, key: Key, origin: str) -> tuple[Picture, ...]:
    """Draw the profile of a column, where it has a value on some quality."""
    own = given.matrix[given.rows[key]]
    found = ((name, cells[np.isfinite(own[cells])]) for name, cells in given.dimensions.items())
    rows = [_line(every, given, key, name, cells) for name, cells in found if cells.size]
    if not rows:
        return ()
    ordered = sorted(rows, key=lambda row: (-row.values["own"], row.name))
    label = every.found.labels[key]
    told = (f"Mean Spearman of {label} per quality, {DATA[origin]}. "
            + "; ".join(f"{row.name}: {number(row.values['own'])}, {row.note}" for row in ordered) + ".")
    legend = [("own", label), ("best", "best on the same cells"), *([("control", "length")] if every.control else [])]
    caption = (f"Mean Spearman on each quality over the cells where {label} has a value, with the best column and the "
               f"length control on the same cells. Data: {every.found.data(origin)}.")
    return (Picture(profile.svg(ordered, legend, told), told, caption),)


def _line(every: Field, given: Values, key: Key, name: str, cells: npt.NDArray[np.int64]) -> Line:
    means = given.matrix[:, cells].mean(axis=1)  # NaN where a column lacks one of the cells
    best = given.columns[int(np.nanargmax(means))]
    shown = {"own": key, "best": best, "control": every.control}
    values_ = {mark: math.fsum(given.matrix[given.rows[one], cells]) / cells.size if one is not None else math.nan
               for mark, one in shown.items()}
    note = ("the best" if values_["best"] <= values_["own"]
            else f"best {number(values_['best'])}: {every.found.labels[best]}")
    return Line(f"{name} ({cells.size} cell{'s' if cells.size != 1 else ''})", note, values_)
