"""A panel: what people and one metric said about the same items, row by row; and its parts at each level.

The statistic at a level is the mean of the statistic over the parts in which it exists. The terms are those of Deutsch,
Foster & Freitag (2023): no grouping, group-by-item, group-by-system, and system level.

    items              one part, the panel itself
    within-contexts    a part per context: each counts alike, and differences between contexts count for nothing
    within-systems     a part per system, likewise
    over-systems       one part, with a row per system: its mean rating and its mean score
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
Codes: TypeAlias = npt.NDArray[np.int64]
"""Which group each row belongs to, as numbers from 0."""


@dataclass(frozen=True, slots=True)
class Panel:
    """Only rows with both values. `system` and `context` say what was judged, and in which context.

    `control` is what a partial correlation holds constant, such as the length of the response. Contexts of one
    `conversation`, where that is there, are drawn as one.
    """

    human: Vector
    metric: Vector
    system: Codes
    context: Codes
    control: Vector | None = None
    conversation: Codes | None = None

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.human)

    def take(self, rows: Codes | Mask) -> Panel:
        """The panel of some of the rows, repeated as often as they are named."""
        return Panel(self.human[rows], self.metric[rows], self.system[rows], self.context[rows],
                     None if self.control is None else self.control[rows],
                     None if self.conversation is None else self.conversation[rows])


Statistic: TypeAlias = Callable[[Panel], float]
"""A number that says how well metric and people agree on a panel; NaN where it does not exist."""


def panel(scores: Vector, human: Vector, system: Codes, context: Codes, control: Vector | None = None,
          conversation: Codes | None = None) -> Panel:
    """Join scores and mean ratings that stand in the same order of items; rows with a NaN are left out."""
    known = np.isfinite(scores) & np.isfinite(human)
    return Panel(human, scores, system, context, control, conversation).take(known)


def codes(names: Iterable[Hashable]) -> Codes:
    """Number the groups in the order in which they appear."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int64)


def alike(known: Mask) -> list[tuple[Mask, Codes]]:
    """The columns of (columns, rows) gathered by the rows that are there, with these rows."""
    gathered: dict[bytes, list[int]] = {}
    for column, rows in enumerate(known):
        gathered.setdefault(rows.tobytes(), []).append(column)
    return [(known[columns[0]], np.array(columns, dtype=np.int64)) for columns in gathered.values()]


def undefined(panel: Panel) -> str:
    """Why no correlation exists on this panel; empty where it does."""
    if panel.n < 3:
        return f"{panel.n} rows have both a rating and a score"
    if np.ptp(panel.human) == 0:
        return "every rating is the same"
    if np.ptp(panel.metric) == 0:
        return "every score is the same"
    return ""


def system_means(panel: Panel) -> Panel:
    """One row per system: the means of its ratings and scores (and control, where the panel has one)."""
    _, first, place, sizes = np.unique(panel.system, return_index=True, return_inverse=True, return_counts=True)

    def means(side: Vector) -> Vector:
        return np.asarray(np.bincount(place, weights=side, minlength=len(sizes)) / sizes)

    return dataclasses.replace(panel.take(first), human=means(panel.human), metric=means(panel.metric),
                               control=None if panel.control is None else means(panel.control))


def groups(panel: Panel, by: Codes) -> list[Panel]:
    """The panel of each group, in the order of the codes."""
    if not panel.n:
        return []
    order = np.argsort(by, kind="stable")
    ends = np.flatnonzero(by[order][1:] != by[order][:-1]) + 1
    return [panel.take(rows) for rows in np.split(order, ends)]


LEVELS: dict[str, Callable[[Panel], list[Panel]]] = {
    "items": lambda panel: [panel],
    "within-contexts": lambda panel: groups(panel, panel.context),
    "within-systems": lambda panel: groups(panel, panel.system),
    "over-systems": lambda panel: [system_means(panel)],
}
"""The parts of a panel at each level, by name. To add one, add a function and a row."""
