"""Values in rows, several marks to a row: a metric's profile over qualities, or how far scores follow length."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from leaderboard.blocks.pictures.axes import Axis, axis, picture, short, text, tick

WIDTH, EDGE, HEAD, ROW, FOOT = 400, 12, 26, 34, 26
SHAPES = {
    "own": '<circle class="own" cx="{x:g}" cy="{y:g}" r="5"/>',
    "best": '<path class="best" d="M{x:g} {y:g}m-5.5 0l5.5-5.5l5.5 5.5l-5.5 5.5z"/>',
    "people": '<path class="people-mark" d="M{x:g} {y:g}m-4.5-4.5h9v9h-9z"/>',
    "control": '<path class="control" d="M{x:g} {y:g}m-4-4l8 8m0-8l-8 8"/>',
}
"""Distinguished by shape as much as by colour; drawn from the last to the first, so that the first lies on top."""


@dataclass(frozen=True, slots=True)
class Line:
    """A row: what it is called, what stands at its end, and a value for each mark, NaN where there is none."""

    name: str
    note: str
    values: dict[str, float]


def svg(rows: Sequence[Line], legend: Sequence[tuple[str, str]], description: str) -> str:
    """Draw rows of marks on one axis; the legend names each mark."""
    across = _axis([value for row in rows for value in row.values.values() if math.isfinite(value)])
    height = HEAD + ROW * len(rows) + FOOT
    parts = [_grid(across, len(rows)), _legend(legend)]
    parts += [_row(across, HEAD + ROW * number, row) for number, row in enumerate(rows)]
    return picture("profile", WIDTH, height, description, parts)


def _axis(values: Sequence[float]) -> Axis:
    """An axis that has zero on it and ends at full tenths."""
    low, high = min((*values, 0.0)), max((*values, 0.1))
    return axis(math.floor(low * 10) / 10, math.ceil(high * 10) / 10, EDGE, WIDTH - EDGE)


def _grid(across: Axis, rows: int) -> str:
    bottom = HEAD + ROW * rows
    places = [(round(across.place(value), 1), value) for value in across.ticks(6)]
    lines = "".join(f"M{x:g} {HEAD}V{bottom}" for x, value in places if value)
    zero = round(across.place(0.0), 1)
    return (f'<path class="grid" d="{lines}"/><path class="zero" d="M{zero:g} {HEAD}V{bottom}"/>'
            + "".join(text(x, bottom + 14, tick(value), "m") for x, value in places))


def _row(across: Axis, top: float, row: Line) -> str:
    y = top + 23
    marks = [(kind, value) for kind, value in row.values.items() if math.isfinite(value)]
    drawn = "".join(SHAPES[kind].format(x=round(across.place(value), 1), y=y) for kind, value in reversed(marks))
    return (f'<path class="axis" d="M{EDGE} {y}H{WIDTH - EDGE}"/>{drawn}'
            + text(EDGE, top + 11, short(row.name), "n") + text(WIDTH - EDGE, top + 11, short(row.note, 30), "e"))


def _legend(legend: Sequence[tuple[str, str]]) -> str:
    parts, left = [], EDGE + 6
    for kind, words in legend:
        shown = short(words, 24)
        parts += [SHAPES[kind].format(x=left, y=10), text(left + 10, 14, shown)]
        left += 30 + 6 * len(shown)
    return "".join(parts)
