"""Panels, which hold the ratings of items with one metric's scores, and the parts of a panel at each level.

The statistic at a level is the mean over the parts in which it exists. Deutsch, Foster & Freitag (2023) call the levels
no grouping, group-by-item, group-by-system, and system level.

    items              one part, the panel itself
    within-contexts    a part per context, with equal weight; differences between contexts do not count
    within-systems     a part per system, with equal weight
    over-systems       one part with a row per system: its mean rating and mean score; all in one context
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Array: TypeAlias = npt.NDArray[np.float64]
Vector: TypeAlias = npt.NDArray[np.float64]
Mask: TypeAlias = npt.NDArray[np.bool_]
Pairs: TypeAlias = npt.NDArray[np.int64]
Codes: TypeAlias = npt.NDArray[np.int64]  # the group of each row, numbered from 0

SYSTEM_DECIMALS = 9  # of the means of systems, fewer than those of the averaged ratings, so that equal means tie


@dataclass(frozen=True, slots=True)
class Panel:
    """Rows with a rating, a score, a system and a context.

    `control` is held constant by a partial correlation, such as the length of the response. Contexts of one
    `conversation` are resampled together.
    """

    human: Vector
    metric: Vector
    system: Codes
    context: Codes
    control: Vector | None = None
    conversation: Codes | None = None

    @property
    def n(self) -> int:
        return len(self.human)

    @property
    def units(self) -> Codes:
        """The context of each row, or its conversation, numbered from 0: rows that are drawn and swapped together."""
        return np.unique(self.context if self.conversation is None else self.conversation,
                         return_inverse=True)[1].ravel()

    def with_scores(self, scores: Vector) -> Panel:
        """Return the rows with a rating and a score of another metric."""
        return dataclasses.replace(self, metric=scores).take(np.isfinite(scores) & np.isfinite(self.human))

    def take(self, rows: Codes | Mask) -> Panel:
        """Select rows by a mask, or by indices, which may repeat."""
        columns = (self.human, self.metric, self.system, self.context, self.control, self.conversation)
        return Panel(*(None if column is None else column[rows] for column in columns))  # type: ignore[arg-type]


Statistic: TypeAlias = Callable[[Panel], float]
"""Agreement of metric and people on a panel; NaN where it does not exist."""


def panel(scores: Vector, human: Vector, system: Codes, context: Codes, control: Vector | None = None,
          conversation: Codes | None = None) -> Panel:
    """Join scores and mean ratings in the same order of items; rows with a NaN are left out."""
    return Panel(human, human, system, context, control, conversation).with_scores(scores)


def people(human: Vector, context: Codes | None = None) -> Panel:
    """Return ratings without scores, of one system; by default, each item has its own context."""
    return Panel(human, human, np.zeros(len(human), dtype=np.int64),
                 np.arange(len(human)) if context is None else context)


def codes(names: Iterable[Hashable]) -> Codes:
    """Number the groups in the order in which they appear."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int64)


def by_known_rows(known: Mask) -> list[tuple[Mask, Codes]]:
    """Group the columns of a mask (columns, rows) that have the same rows; return rows and columns of each group."""
    groups: dict[bytes, list[int]] = {}
    for column, rows in enumerate(known):
        groups.setdefault(rows.tobytes(), []).append(column)
    return [(known[columns[0]], np.array(columns, dtype=np.int64)) for columns in groups.values()]


def folds(units: Codes, rng: np.random.Generator, count: int = 5, divisions: int = 10) -> Codes:
    """Divide whole units at random into folds of equal size; return the fold of each row: (divisions, rows)."""
    size = int(units.max(initial=-1)) + 1
    return np.array([rng.permutation(size)[units] % count for _ in range(divisions)])


def sums(rows: Array, group: Codes) -> Array:
    """Sum each row (rows, items) by group: (rows, groups)."""
    return np.array([np.bincount(group, weights=row) for row in rows])


def centred(rows: Array, group: Codes) -> Array:
    """Subtract from each row (rows, items) the means of its groups; differences due to rounding become 0."""
    values = rows - (sums(rows, group) / np.maximum(np.bincount(group), 1))[:, group]
    return np.where(np.abs(values) > 1e-12 * np.abs(rows).max(axis=1, keepdims=True, initial=0), values, 0)


def rounded(means: Array, values: Array | float = 1.0, decimals: int = 12) -> Array:
    """Round means to decimals relative to the largest of the values, so that floating-point errors break no ties."""
    exponent = int(np.frexp(np.nanmax(np.abs(values), initial=0))[1]) - 1
    return np.asarray(np.ldexp(np.ldexp(means, -exponent).round(decimals), exponent))


def number_of_contexts(rated: Iterable[tuple[str, Mask]]) -> int:
    """Count the contexts with a rating, given the dataset of each target and a mask of its rated contexts."""
    masks: dict[str, Mask] = {}
    for dataset, mask in rated:
        masks[dataset] = mask | masks.get(dataset, mask)
    return sum(int(mask.sum()) for mask in masks.values())


def why_undefined(panel: Panel) -> str:
    """Return the reason why no correlation exists on this panel, or an empty string."""
    if panel.n < 3:
        return f"{panel.n} rows have both a rating and a score, fewer than the 3 needed"
    if np.ptp(panel.human) == 0:
        return "every rating is the same"
    return "every score is the same" if np.ptp(panel.metric) == 0 else ""


def system_means(panel: Panel) -> Panel:
    """Return one row per system with the means of rating, score and control, all in one context."""
    _, first_rows, system, sizes = np.unique(panel.system, return_index=True, return_inverse=True, return_counts=True)

    def means(side: Vector) -> Vector:
        minimum = side.min(initial=np.inf)  # subtracted to make the means of a constant equal
        deviations = side - minimum
        mean_deviations = np.bincount(system, deviations, len(sizes)) / sizes
        return np.asarray(minimum + rounded(mean_deviations, deviations, SYSTEM_DECIMALS))

    return Panel(means(panel.human), means(panel.metric), panel.system[first_rows],
                 np.zeros(len(first_rows), dtype=np.int64), None if panel.control is None else means(panel.control))


def groups(panel: Panel, group: Codes) -> list[Panel]:
    """Return the panel of each group, in the order of the codes."""
    order = np.argsort(group, kind="stable")
    ends = np.flatnonzero(group[order][1:] != group[order][:-1]) + 1
    return [panel.take(rows) for rows in np.split(order, ends) if len(rows)]


LEVELS: dict[str, Callable[[Panel], list[Panel]]] = {
    "items": lambda panel: [panel],
    "within-contexts": lambda panel: groups(panel, panel.context),
    "within-systems": lambda panel: groups(panel, panel.system),
    "over-systems": lambda panel: [system_means(panel)],
}
