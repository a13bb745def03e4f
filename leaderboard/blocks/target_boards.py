"""A board over targets: a row per column of a metric, a cell per target, ranked by the mean of the cells.

A row that lacks a cell has no mean and no rank. A quality that nobody rated is shown but not counted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from harness.results.rows import Correlation, DatasetEntry, QualityEntry
from leaderboard.blocks.boards import CONTROL, coverage, groups, signed
from leaderboard.blocks.cells import (
    MISSING,
    correlation_cell,
    count_cell,
    fitted_cell,
    leaders,
    marked,
    metric_cell,
    missing,
    value_cell,
)
from leaderboard.blocks.tables import Cell, Heading, Row, Table
from leaderboard.model.index import Column, Index, Target, has_value, statistic_title
from leaderboard.model.slugs import slug


@dataclass(frozen=True, slots=True)
class TargetColumn:
    """A quality of a dataset, and the heading of its column."""

    dataset: DatasetEntry
    quality: QualityEntry
    heading: Heading

    @property
    def target(self) -> Target:
        """The dataset and the quality by name."""
        return self.dataset.name, self.quality.name


@dataclass(frozen=True, slots=True)
class _Line:
    column: Column
    rows: tuple[Correlation | None, ...]
    mean: float
    covered: int
    targets: int


def target_boards(index: Index, targets: Sequence[TargetColumn], columns: Iterable[Column], caption: str, anchor: str,
                  origin: str) -> tuple[Table, ...]:
    """Draw a table per statistic over the same targets; all but the first are folded."""
    listed = sorted(columns)
    return tuple(_board(index, targets, listed, statistic, caption, anchor, origin, folded=position > 0)
                 for position, statistic in enumerate(index.statistics))


def _board(index: Index, targets: Sequence[TargetColumn], columns: Sequence[Column], statistic: str, caption: str,
           anchor: str, origin: str, *, folded: bool) -> Table:
    lines = [_line(index, targets, column, statistic) for column in columns]
    ranked = sorted((line for line in lines if math.isfinite(line.mean)),
                    key=lambda line: (-line.mean, line.column))
    unranked = sorted((line for line in lines if not math.isfinite(line.mean)),
                      key=lambda line: (-line.covered, line.column))
    lead = [leaders(row.value for line in lines if (row := line.rows[place]) is not None
                    and not index.is_fitted(line.column, target.dataset.name))
            for place, target in enumerate(targets)]
    lead_mean = leaders(line.mean for line in ranked)
    control = max((line.mean for line in ranked if line.column[0] == CONTROL), default=math.nan)
    averaged = len(targets) > 1
    title = statistic_title(statistic)
    any_fitted = any(index.is_fitted(column, target.dataset.name) for column in columns for target in targets)
    return Table(
        anchor=f"{anchor}-{slug(statistic)}", caption=f"{caption}: {title}",
        headings=(Heading("Rank", "rank", key="rank"), Heading("Metric", "stub", key="metric"),
                  *((Heading("Mean", "number", title="Mean of the other columns", key="test"),) if averaged else ()),
                  *(_with_n(target.heading, [line.rows[place] for line in lines])
                    for place, target in enumerate(targets))),
        groups=groups(
            ((count_cell(rank), signed(metric_cell(index, line.column), line.column, line.mean, control),
              *((value_cell(line.mean, lead_mean),) if averaged else ()),
              *_cells(index, targets, line, statistic, lead))
             for rank, line in zip(_ranks(ranked), ranked, strict=True)),
            ((Cell(""), replace(metric_cell(index, line.column), small=coverage(line.covered, line.targets)),
              *((Cell(MISSING, title="no mean over an incomplete row"),) if averaged else ()),
              *_cells(index, targets, line, statistic, lead))
             for line in unranked)),
        data=marked(index.data(origin), any_fitted), sample=origin == "sample", folded=title if folded else "")


def _line(index: Index, targets: Sequence[TargetColumn], column: Column, statistic: str) -> _Line:
    rows = tuple(index.correlation(target.target, column, statistic) for target in targets)
    counted = [None if index.is_fitted(column, target.dataset.name) else row
               for row, target in zip(rows, targets, strict=True) if target.quality.rated]
    values = [row.value for row in counted if row is not None and has_value(row)]
    complete = bool(counted) and len(values) == len(counted)
    mean = math.fsum(values) / len(values) if complete else math.nan
    return _Line(column, rows, mean, len(values), len(counted))


def _cells(index: Index, targets: Sequence[TargetColumn], line: _Line, statistic: str,
           lead: Sequence[tuple[float, float]]) -> Row:
    cells = ((target, correlation_cell(row, best) if row is not None and has_value(row)
              else missing(_why(index, target, line.column, statistic)))
             for row, target, best in zip(line.rows, targets, lead, strict=True))
    return tuple(fitted_cell(cell) if cell.value is not None and index.is_fitted(line.column, target.dataset.name)
                 else cell for target, cell in cells)


def _why(index: Index, target: TargetColumn, column: Column, statistic: str) -> str:
    nobody = not target.quality.rated and index.correlation(target.target, column, statistic) is None
    return "nobody rated this quality" if nobody else index.why(target.target, column, statistic)


def _with_n(heading: Heading, rows: Sequence[Correlation | None]) -> Heading:
    sizes = sorted({row.n for row in rows if row is not None and has_value(row)})
    if not sizes:
        return heading
    n = f"n = {sizes[0]}" if len(sizes) == 1 else f"n = {sizes[0]}–{sizes[-1]}"
    return replace(heading, small=", ".join(filter(None, (heading.small, n))))


def _ranks(lines: Sequence[_Line]) -> list[int]:
    """Rank from the best; equal means share a rank, and the next is counted from the start."""
    ranks: list[int] = []
    for position, line in enumerate(lines):
        same = position > 0 and line.mean == lines[position - 1].mean
        ranks.append(ranks[-1] if same else position + 1)
    return ranks
