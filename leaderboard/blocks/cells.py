"""Values as table cells: three decimals, a shade, marks for the best two, or a dash with the reason if missing."""

from __future__ import annotations

import math
from bisect import bisect
from collections.abc import Iterable

from harness.results import exhibits
from harness.results.rows import Correlation
from leaderboard.blocks.tables import Cell, Mark
from leaderboard.blocks.tables import cell as cell
from leaderboard.model.index import ColumnKey, Index

MISSING = "–"
FITTED = "†"
FITTED_MEANS = f"{FITTED}: fitted on ratings of this dataset, not ranked"
WEAK = 0.05
"""p from which a correlation counts as not significant."""
SHADE_STEPS = (0.05, 0.15, 0.30, 0.45, 0.60)
NO_LEADERS = (math.nan, math.nan)
"""Leaders of columns that mix datasets, in which no value is marked as best."""


def number(value: float, decimals: int = 3) -> str:
    """Format a number with U+2212 as its minus sign, or a dash if it is missing."""
    return exhibits.number(value, decimals)


def number_cell(value: float, leaders: tuple[float, float] = NO_LEADERS, *, shaded: bool = False) -> Cell:
    """Show a value, marked if it is the best or second best of its column."""
    return Cell(number(value), marks=lead_marks(value, leaders), shade=shade(value) if shaded else "")


def interval(low: float, high: float, decimals: int = 2) -> str:
    """Format an interval; "" if it is unknown."""
    finite = math.isfinite(low) and math.isfinite(high)
    return f"{number(low, decimals)} to {number(high, decimals)}" if finite else ""


def missing(why: str) -> Cell:
    return Cell(MISSING, title=why, why=why)


def correlation_cell(row: Correlation, leaders: tuple[float, float] = NO_LEADERS) -> Cell:
    """Show a correlation with its interval below, and n, p and a note in the tooltip."""
    bounds, p = interval(row.low, row.high, 3), p_value(row.p)
    basis = (f"n = {row.n}", f"p {p}" if p.startswith("<") else p and f"p = {p}",
             f"95 % interval {bounds}" if bounds else "", row.note)
    weak: tuple[Mark, ...] = ("weak",) if row.p >= WEAK else ()
    return Cell(number(row.value), title=", ".join(filter(None, basis)), small=interval(row.low, row.high),
                marks=(*lead_marks(row.value, leaders), *weak), shade=shade(row.value))


def fitted_cell(cell: Cell) -> Cell:
    """Mark a value of a metric fitted on the same ratings, and remove its marks as best."""
    return cell._replace(text=f"{cell.text} {FITTED}", title=", ".join(filter(None, (cell.title, FITTED_MEANS))),
                         marks=tuple(mark for mark in cell.marks if mark == "weak"))


def column_cell(index: Index, column: ColumnKey) -> Cell:
    """Name a column, with its full name as tooltip and a link to the page of its metric."""
    title, name = (names.get(column, column[1]) for names in (index.labels, index.names))
    return Cell(title, title=name if name != title else "", link=index.metric_paths.get(column[0], ""))


def metric_cell(index: Index, column: ColumnKey) -> Cell:
    """Name a column, its models and its relation to its paper, with a link to the page of its metric."""
    entry = index.metrics.get(column[0])
    models = ", ".join(entry.models) if entry else ""
    return column_cell(index, column)._replace(model="; ".join(filter(None, (
        "" if f"={models}" in index.names.get(column, "") else models, index.badges.get(column[0], "")))))


def dataset_cell(index: Index, name: str) -> Cell:
    return Cell(name, link=index.dataset_paths.get(name, ""))


def p_value(p: float) -> str:
    """Format a p-value; "" if it is NaN."""
    if not math.isfinite(p):
        return ""
    return "< 0.001" if p < 0.001 else f"{p:.3f}"


def shade(value: float) -> str:
    """Return the CSS class of a value's shade, one of eleven from n5 through z to p5."""
    step = bisect(SHADE_STEPS, abs(value))
    return f"{'p' if value > 0 else 'n'}{step}" if step else "z"


def leaders(values: Iterable[float], limit: float = 0.0) -> tuple[float, float]:
    """Return the best and second-best distinct rounded values above a limit, NaN if there are fewer."""
    rounded = {round(value, 3) for value in values if math.isfinite(value)}
    best, second, *_ = (*sorted((value for value in rounded if value > limit), reverse=True), math.nan, math.nan)
    return best, second


def lead_marks(value: float, leaders: tuple[float, float]) -> tuple[Mark, ...]:
    rounded, (best, second) = round(value, 3), leaders
    return ("best",) if rounded == best else ("second",) if rounded == second else ()


def with_fitted_note(data: str, fitted: bool) -> str:
    """Append the explanation of the dagger to the description of a table's data."""
    return "; ".join(filter(None, (data, FITTED_MEANS if fitted else "")))
