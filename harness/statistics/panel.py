"""A panel: what people and one metric said about the same items, row by row."""

from __future__ import annotations

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

    `control` is what a partial correlation holds constant, such as the length of the response.
    """

    human: Vector
    metric: Vector
    system: Codes
    context: Codes
    control: Vector | None = None

    @property
    def n(self) -> int:
        """The number of rows."""
        return len(self.human)

    def take(self, rows: Codes | Mask) -> Panel:
        """The panel of some of the rows, repeated as often as they are named."""
        return Panel(self.human[rows], self.metric[rows], self.system[rows], self.context[rows],
                     None if self.control is None else self.control[rows])


Statistic: TypeAlias = Callable[[Panel], float]
"""A number that says how well metric and people agree on a panel; NaN where it does not exist."""


def panel(scores: Vector, human: Vector, system: Codes, context: Codes, control: Vector | None = None) -> Panel:
    """Join scores and mean ratings that stand in the same order of items; rows with a NaN are left out."""
    return Panel(human, scores, system, context, control).take(np.isfinite(scores) & np.isfinite(human))


def codes(names: Iterable[Hashable]) -> Codes:
    """Number the groups in the order in which they appear."""
    numbers: dict[Hashable, int] = {}
    return np.array([numbers.setdefault(name, len(numbers)) for name in names], dtype=np.int64)


def undefined(panel: Panel) -> str:
    """Why no correlation exists on this panel; empty where it does."""
    if panel.n < 3:
        return f"{panel.n} rows have both a rating and a score"
    if np.ptp(panel.human) == 0:
        return "every rating is the same"
    if np.ptp(panel.metric) == 0:
        return "every score is the same"
    return ""
