"""All measures beside one another on one kind of data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from harness.statistics.panel import Vector
from harness.statistics.williams import Array
from harness.studies import TargetGroup
from harness.studies._comparison import Measured, Name, Shared, agreement, consistency, power, rankings, shared
from harness.studies._groupings import MEASURES, Measure
from harness.studies._resamples import MOST, Amount

DEFAULT: Measure = ("items", "spearman")


@dataclass(frozen=True, slots=True)
class Row:
    """A measure; `*_default` is what the default has on the same cells and metrics.

    `ranking` has the metrics that are measured on all cells on which the measure exists, best first, ties together.
    """

    measure: Measure
    cells: int
    metrics: int
    power: float
    power_default: float
    consistency: float
    spread: float
    consistency_default: float
    tau: float
    ranking: tuple[tuple[Name, ...], ...]


@dataclass(frozen=True, slots=True)
class Board:
    """The measures on one kind of data; τ between every two, and on how many cells and metrics it rests."""

    name: str
    title: str
    cells: int
    thinned: int
    rows: tuple[Row, ...]
    tau: Array
    behind: tuple[tuple[tuple[int, int], ...], ...]


def board(group: TargetGroup, cells: Sequence[Measured], amount: Amount) -> Board:
    """Compare the measures that exist on some cell."""
    known = [measure for measure in MEASURES if any(measure in cell.values for cell in cells)]
    pairs = [[shared(cells, first, second) for second in known] for first in known]
    tau = [[_tau(pairs[i][j], first, second) for j, second in enumerate(known)] for i, first in enumerate(known)]
    behind = tuple(tuple((len(pair.cells), len(pair.names)) for pair in line) for line in pairs)
    thinned = sum(cell.judged.rated > MOST for cell in group.targets)
    rows = tuple(_row(cells, measure, amount) for measure in known)
    return Board(group.name, group.title, len(cells), thinned, rows, np.array(tau), behind)


def _row(cells: Sequence[Measured], measure: Measure, amount: Amount) -> Row:
    own, beside = shared(cells, measure, measure), shared(cells, measure, DEFAULT)
    one, default = power(beside, measure, DEFAULT)
    same, spread = consistency(beside, measure, amount)
    return Row(measure, len(own.cells), len(beside.names), one, default, same, spread,
               consistency(beside, DEFAULT, amount)[0], _tau(beside, measure, DEFAULT), _ranking(own, measure))


def _tau(given: Shared, first: Measure, second: Measure) -> float:
    return agreement(*rankings(given, (first, second))) if given.names else math.nan


def _ranking(given: Shared, measure: Measure) -> tuple[tuple[Name, ...], ...]:
    if not given.names:
        return ()
    (values,) = rankings(given, [measure])
    return tuple(tuple(name for name, other in zip(given.names, values, strict=True) if other == value)
                 for value in _distinct(values))


def _distinct(values: Vector) -> list[float]:
    return sorted(set(values.tolist()), reverse=True)
