"""The level of a statistic: over all items, within each system or context, or over systems.

A level makes parts of a panel; the statistic at that level is the mean of the statistic over the parts in which it
exists. The terms are those of Deutsch, Foster & Freitag (2023): no grouping, group-by-item, group-by-system, and system
level.

    items              one part, the panel itself
    within-contexts    a part per context: each counts alike, and differences between contexts count for nothing
    within-systems     a part per system, likewise
    over-systems       one part, with a row per system: its mean rating and its mean score
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np

from harness.statistics.panel import Codes, Panel, Vector


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
