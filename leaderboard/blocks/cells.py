"""Numbers as cells: three decimals, a shade, marks for the best two, and no number for a missing value."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

from harness.results.rows import Correlation
from leaderboard.blocks.tables import Cell, Mark

MISSING = "–"
LEARNED = "†"
LEARNED_MEANS = f"{LEARNED}: weights learned on this dataset, so no rank"
WEAK = 0.05
STEPS = (0.05, 0.15, 0.30, 0.45, 0.60)


def number(value: float) -> str:
    """Write three decimals with a true minus sign; '–' for what is missing."""
    if not math.isfinite(value):
        return MISSING
    return f"{round(value, 3) + 0.0:.3f}".replace("-", "−")  # + 0.0: no minus before a zero


def missing(why: str, small: str = "") -> Cell:
    """Show a value that is not there, and why."""
    return Cell(MISSING, title=why, small=small, why=why)


def value_cell(value: float, leaders: tuple[float, float], *, title: str = "", small: str = "",
               shaded: bool = False) -> Cell:
    """Show a value that is there, marked if it leads its column."""
    return Cell(number(value), value=value, title=title, small=small, marks=lead_marks(value, leaders),
                shade=shade(value) if shaded else "")


def agreement_cell(row: Correlation, leaders: tuple[float, float]) -> Cell:
    """Show a correlation with its interval below, and n and p in the title."""
    weak: tuple[Mark, ...] = ("weak",) if row.p >= WEAK else ()
    return Cell(number(row.value), value=row.value, title=evidence(row), small=_interval(row),
                marks=(*lead_marks(row.value, leaders), *weak), shade=shade(row.value))


def learned_cell(cell: Cell) -> Cell:
    """Mark a value of weights that were learned on the same ratings; it leads nothing."""
    told = ", ".join(filter(None, (cell.title, LEARNED_MEANS)))
    kept = tuple(mark for mark in cell.marks if mark == "weak")
    return replace(cell, text=f"{cell.text} {LEARNED}", title=told, marks=kept)


def evidence(row: Correlation) -> str:
    """Say what a value rests on: n, p, the interval, a note."""
    interval = _interval(row, decimals=3)
    parts = [f"n = {row.n}", _p(row.p), f"95 % interval {interval}" if interval else "", row.note]
    return ", ".join(part for part in parts if part)


def shade(value: float) -> str:
    """Name the shade of a value: one of eleven, from n5 over z to p5."""
    step = sum(abs(value) >= edge for edge in STEPS)
    return f"{'p' if value > 0 else 'n'}{step}" if step else "z"


def leaders(values: Iterable[float]) -> tuple[float, float]:
    """Find the best and the second best as shown, NaN where there is none; equals share a place."""
    shown = sorted({round(value, 3) for value in values if math.isfinite(value)}, reverse=True)
    best, second = (*shown[:2], *(math.nan,) * (2 - min(len(shown), 2)))
    return best, second


def lead_marks(value: float, leaders: tuple[float, float]) -> tuple[Mark, ...]:
    """Mark the best and the second best."""
    best, second = leaders
    if round(value, 3) == best:
        return ("best",)
    return ("second",) if round(value, 3) == second else ()


def _p(p: float) -> str:
    if not math.isfinite(p):
        return ""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


def _interval(row: Correlation, decimals: int = 2) -> str:
    if not (math.isfinite(row.low) and math.isfinite(row.high)):
        return ""
    ends = (f"{round(end, decimals) + 0.0:.{decimals}f}".replace("-", "−") for end in (row.low, row.high))
    return " to ".join(ends)
