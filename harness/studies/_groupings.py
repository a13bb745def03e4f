"""The groupings of `statistics.levels` on many resamples at once: over items, within systems or contexts, over systems.

A grouping that a cell has no room for is left out of it: within needs groups of three rows or more that hold half of
the rows (two systems, or as many contexts as can be resampled), over systems needs three systems. Within contexts, a
context is drawn with all its rows, so that its own value stays as it is and only its weight changes. Over systems, the
systems stay and their means move with the rows drawn; means that differ by rounding are tied.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from harness.run.correlate import TargetData
from harness.statistics.panel import Codes, Vector
from harness.statistics.williams import Array
from harness.studies._coefficients import COEFFICIENTS, LEAST, Single, agreement, side, threshold
from harness.studies._resamples import FEW

Measure: TypeAlias = tuple[str, str]
"""Grouping and coefficient."""

Values: TypeAlias = Mapping[Measure, Array]
"""Of each measure that exists on a cell, its value on every resample for every column: (r, columns)."""

TITLES = {"items": "over items", "within-contexts": "within contexts", "within-systems": "within systems",
          "systems": "over systems"}

MEASURES: tuple[Measure, ...] = tuple((grouping, name) for grouping in TITLES for name in COEFFICIENTS)


@dataclass(frozen=True, slots=True)
class Part:
    """Columns that have a score on the same rows, on those rows: scores (columns, rows), counts (r, rows)."""

    human: Vector
    scores: Array
    system: Codes
    context: Codes
    counts: Single


def values(cell: TargetData, rows: Codes, counts: Single) -> Values:
    """Every measure on the rows named, resampled by counts (r, rows), of which the first resample is the whole."""
    whole = Part(cell.judged.means[rows], cell.scores[:, rows], cell.system[rows], cell.context[rows], counts)
    groupings = [name for name in TITLES if has_room(name, whole.system, whole.context)]
    found = {name: np.full((len(COEFFICIENTS), len(counts), len(whole.scores)), np.nan) for name in groupings}
    for columns, part in _alike(whole):
        for name in groupings:
            found[name][..., columns] = _GROUPINGS[name](part)
    every = {(name, coefficient): found[name][number] for name in groupings
             for number, coefficient in enumerate(COEFFICIENTS)}
    return {measure: value for measure, value in every.items() if np.isfinite(value[0]).any()}


def has_room(grouping: str, system: Codes, context: Codes) -> bool:
    """Whether a cell with these rows can be looked at in this way."""
    systems, contexts = (np.unique(codes, return_counts=True)[1] for codes in (system, context))
    if grouping == "systems":
        return len(systems) >= LEAST
    if grouping == "items":
        return len(system) >= LEAST
    groups, least = (systems, 2) if grouping == "within-systems" else (contexts, FEW)
    large = groups[groups >= LEAST]
    return len(large) >= least and 2 * int(large.sum()) >= len(system)


def _alike(whole: Part) -> Iterator[tuple[Codes, Part]]:
    """The columns, gathered by the rows on which they have a score."""
    kinds, kind = np.unique(np.isfinite(whole.scores), axis=0, return_inverse=True)
    for number, there in enumerate(kinds):
        if there.any():
            columns = np.flatnonzero(kind.ravel() == number)
            yield columns, Part(whole.human[there], whole.scores[columns][:, there], whole.system[there],
                                whole.context[there], whole.counts[:, there])


def _over_systems(part: Part) -> Array:
    """Every coefficient over the means of systems: (5, r, columns); a system of which nothing is drawn is left out."""
    codes = np.unique(part.system, return_inverse=True)[1].ravel()
    members = np.equal.outer(codes, np.arange(codes.max() + 1)).astype(np.float64)  # (rows, systems)
    weights = part.counts.astype(np.float64)
    size = weights @ members
    present = (size > 0).astype(np.float32)[:, None]  # (r, 1, systems)

    def means(column: Vector) -> Array:
        largest = float(np.abs(column).max()) or 1.0
        return np.round((weights * (column / largest)) @ members / np.maximum(size, 1), 12)

    rated = means(part.human)
    judged = side(rated, present)
    found = []
    for column in map(means, part.scores):
        best = threshold([(rated[:1], column[:1])])
        found.append(agreement(judged, side(column, present), present, best)[:, :, 0])
    return np.stack(found, axis=-1)


def _grouped(part: Part, groups: Codes, *, together: bool = False) -> Array:
    """The mean over groups of every coefficient: (5, r, columns); `together`: a group is drawn with all its rows."""
    total, number = np.zeros((2, len(COEFFICIENTS), len(part.counts), len(part.scores)))
    buckets = list(_by_size(groups))
    best = [threshold((part.human[rows], column[rows]) for rows in buckets) for column in part.scores]
    for rows in buckets:
        drawn = np.ascontiguousarray(part.counts[:, rows].swapaxes(0, 1))  # (G, r, s)
        inside, weights = (np.ones_like(drawn[:, :1]), drawn[..., 0]) if together else (drawn, np.ones(drawn.shape[:2]))
        judged = side(part.human[rows], inside)
        for place, column in enumerate(part.scores):
            found = agreement(judged, side(column[rows], inside), inside, best[place])
            there = np.isfinite(found)
            total[..., place] += (np.where(there, found, 0) * weights).sum(axis=1)
            number[..., place] += (there * weights).sum(axis=1)
    return np.divide(total, number, out=np.full_like(total, np.nan), where=number > 0)


def _by_size(groups: Codes) -> Iterator[Codes]:
    """The rows of each group, groups of one size together: (G, s)."""
    order = np.argsort(groups, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)
    for size in sorted({len(part) for part in parts}):
        if size >= LEAST:
            yield np.stack([part for part in parts if len(part) == size])


_GROUPINGS: dict[str, Callable[[Part], Array]] = {
    "items": lambda part: _grouped(part, np.zeros_like(part.system)),
    "within-contexts": lambda part: _grouped(part, part.context, together=True),
    "within-systems": lambda part: _grouped(part, part.system),
    "systems": _over_systems,
}
