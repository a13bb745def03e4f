"""A metric's mean Spearman on each quality, beside the best column and the length control on the same targets."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leaderboard.blocks.cells import number
from leaderboard.blocks.pictures import profile
from leaderboard.blocks.pictures.profile import Line
from leaderboard.blocks.tables import Picture
from leaderboard.model.index import DATA, Column, Index, plural, rated_targets


@dataclass(frozen=True, slots=True)
class ValueMatrix:
    """Spearman of every column (columns, targets) over the targets of an origin, and the targets of each dimension."""

    columns: Sequence[Column]
    rows: Mapping[Column, int]
    dimensions: Mapping[str, npt.NDArray[np.int64]]
    values: npt.NDArray[np.float64]


def value_matrix(index: Index, origin: str) -> ValueMatrix:
    """Collect the values of all columns on an origin."""
    datasets = index.on(origin)
    targets = rated_targets(datasets)
    dimension = {(entry.name, quality.name): quality.dimension for entry in datasets for quality in entry.qualities}
    names = np.array([dimension[target] for target in targets], dtype=object)
    columns = sorted(index.labels)
    values = np.array([[index.value(target, column) for target in targets] for column in columns], dtype=np.float64)
    return ValueMatrix(columns, {column: row for row, column in enumerate(columns)},
                       {name: np.flatnonzero(names == name) for name in sorted(set(names))},
                       values.reshape(len(columns), len(targets)))


def profile_picture(index: Index, matrix: ValueMatrix, column: Column, control: Column | None,
                    origin: str) -> tuple[Picture, ...]:
    """Draw the profile of a column, where it has a value on some quality."""
    own = matrix.values[matrix.rows[column]]
    covered = ((name, targets[np.isfinite(own[targets])]) for name, targets in matrix.dimensions.items())
    lines = [_line(index, matrix, column, control, name, targets) for name, targets in covered if targets.size]
    if not lines:
        return ()
    ordered = sorted(lines, key=lambda line: (-line.values["own"], line.name))
    label = index.labels[column]
    text = (f"Mean Spearman of {label} per quality, {DATA[origin]}. "
            + "; ".join(f"{line.name}: {number(line.values['own'])}, {line.note}" for line in ordered) + ".")
    legend = [("own", label), ("best", "best on the same targets"), *([("control", "length")] if control else [])]
    caption = (f"Mean Spearman on each quality over the targets where {label} has a value, with the best column and "
               f"the length control on the same targets. Data: {index.data(origin)}.")
    return (Picture(profile.svg(ordered, legend, text), text, caption),)


def _line(index: Index, matrix: ValueMatrix, column: Column, control: Column | None, name: str,
          targets: npt.NDArray[np.int64]) -> Line:
    means = matrix.values[:, targets].mean(axis=1)  # NaN where a column lacks one of the targets
    best = matrix.columns[int(np.nanargmax(means))]
    values = {mark: math.fsum(matrix.values[matrix.rows[shown], targets]) / targets.size if shown else math.nan
              for mark, shown in {"own": column, "best": best, "control": control}.items()}
    note = ("the best" if values["best"] <= values["own"]
            else f"best {number(values['best'])}: {index.labels[best]}")
    return Line(f"{name} ({plural(int(targets.size), 'target')})", note, values)
