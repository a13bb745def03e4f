"""Boards as tables: a row per column of a metric, ranked ones first.

An overall board has rank and averages from the ranking, the mean of every dataset beside them, and the cost. A board
over targets has a cell per target and is ranked by the mean of the cells; a row that lacks a cell has no mean and no
rank, and a quality that nobody rated is shown but not counted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from harness.results.rows import Correlation, DatasetEntry, QualityEntry
from leaderboard.blocks.cells import (
    MISSING,
    correlation_cell,
    count_cell,
    fitted_cell,
    leaders,
    marked,
    metric_cell,
    missing,
    number,
    value_cell,
)
from leaderboard.blocks.tables import Cell, Group, Heading, Row, Table
from leaderboard.model.boards import RULES, Board, has_interval, rank_interval
from leaderboard.model.cost import COMPOSITE, Cost, costs
from leaderboard.model.index import Column, Index, Target, has_value, plural, slug, statistic_title
from leaderboard.model.numbers import TargetEntry

CONTROL = "length"
"""The metric that every other should beat: it counts the words of the response."""

BELOW = ("▽", "not above the length control")
UNRANKED = "Not ranked: a value is missing"
LETTERS = Heading("Group", "words", key="letters", title="The ranks of columns that share a letter do not differ "
                                                         "significantly")
MEASURED = "By itself, models loaded; measured when the numbers were made"


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


def board_table(index: Index, board: Board, targets: Sequence[TargetEntry] = (), *, folded: bool = False) -> Table:
    """Draw an overall board; `targets` are those that the scripts rank it anew over."""
    datasets = index.on(board.origin, board.name)
    found = {column: [[index.correlation((entry.name, quality.name), column, board.statistic)
                       for quality in entry.qualities] for entry in datasets] for column in board.columns}
    means = {column: [_mean(entry, rows) for entry, rows in zip(datasets, every, strict=True)]
             for column, every in found.items()}
    lead = [leaders(row[place] for column, row in means.items() if not index.is_fitted(column, entry.name))
            for place, entry in enumerate(datasets)]
    rows = {column: (
        *head, *((Cell(row.letters if (row := board.row(column)) else ""),) if board.has_letters else ()),
        *(_dataset_cell(index, entry, column, board.statistic, own, mean, best)
          for entry, own, mean, best in zip(datasets, found[column], means[column], lead, strict=True)))
        for column, head in row_heads(index, board).items()}
    any_fitted = any(index.is_fitted(column, entry.name) for column in means for entry in datasets)
    return Table(
        anchor="-".join(map(slug, (board.name, board.origin, board.statistic))), caption=board.caption,
        headings=(*headings(board), *((LETTERS,) if board.has_letters else ()), *(
            Heading(entry.name, "number", title=entry.title, link=index.dataset_paths[entry.name], targets=tuple(
                place for place, (other, _) in enumerate(targets) if other.name == entry.name))
            for entry in datasets)),
        groups=groups((row for column, row in rows.items() if board.row(column)),
                      (row for column, row in rows.items() if not board.row(column))),
        data=marked(index.data(board.origin, board.name), any_fitted), sample=board.origin == "sample",
        folded=board.caption if folded else "")


def headings(board: Board) -> tuple[Heading, ...]:
    """Head the columns: rank, metric, and an average under each rule."""
    rules = ((rule, RULES.get(rule, (rule, f"Ranking rule {rule}"))) for rule in board.rules)
    known = any(math.isfinite(row.low) for row in board.ranking.values())
    return (Heading("Rank, 95 %" if known else "Rank", "rank", key="rank"), Heading("Metric", "stub", key="metric"),
            *(Heading(text, "number", title=title, key=rule) for rule, (text, title) in rules))


def row_heads(index: Index, board: Board) -> dict[Column, Row]:
    """Begin the rows, in the order of the board: rank, metric, average under each rule."""
    columns, ranked = board.columns, board.ranked
    lead = {rule: leaders(row.value for column in columns if (row := board.row(column, rule)))
            for rule in board.rules}
    control = max((row.value for column, row in ranked.items() if column[0] == CONTROL), default=math.nan)
    heads: dict[Column, Row] = {}
    for column in columns:
        row, rank = ranked.get(column), Cell("")
        if row is not None and row.rank is not None:
            title = "95 % interval of the rank, over items and datasets" if has_interval(row) else ""
            rank = count_cell(row.rank)._replace(small=rank_interval(row), title=title)
        heads[column] = (rank, _name(index, column, row.value if row else math.nan, control),
                         *(_average(board, rule, column, lead[rule]) for rule in board.rules))
    return heads


def groups(ranked: Iterable[Row], unranked: Iterable[Row]) -> tuple[Group, ...]:
    """Put the ranked rows first, and below them the others."""
    both = (Group(tuple(ranked)), Group(tuple(unranked), UNRANKED))
    return tuple(group for group in both if group.rows)


def coverage(covered: int, targets: int) -> str:
    """Say how much of a row exists."""
    return f"{covered} of {plural(targets, 'target')}"


def target_boards(index: Index, targets: Sequence[TargetColumn], columns: Iterable[Column], caption: str, anchor: str,
                  origin: str) -> tuple[Table, ...]:
    """Draw a board per statistic over the same targets; all but the first are folded."""
    listed = sorted(columns)
    tables: list[Table] = []
    for statistic in index.statistics:
        title = statistic_title(statistic)
        table = _target_board(index, targets, listed, statistic)
        tables.append(replace(table, anchor=f"{anchor}-{slug(statistic)}", caption=f"{caption}: {title}",
                              data=marked(index.data(origin), any(index.is_fitted(column, target.dataset.name)
                                                                  for column in listed for target in targets)),
                              sample=origin == "sample", folded=title if tables else ""))
    return tuple(tables)


def with_costs(index: Index, table: Table, at: int) -> Table:
    """Put cost, needs and family of each row's metric into a table, before its column `at`."""
    known = costs(index.results)
    heads = (Heading("Cost", "number", small="s per 1,000", key="cost",
                     title=f"Seconds per 1,000 items on {index.results.run.device}. {MEASURED}"),
             Heading("Needs", "words", key="needs",
                     title="What it needs beside the response, also judging by the datasets that it has scores on"),
             Heading("Family", "words", key="family"))

    def cells(row: Row) -> Row:
        cost = known.get(next((cell.key for cell in row if cell.key[0]), ("", "")))
        return (cost_cell(cost)._replace(why=""), needs_cell(cost), Cell(cost.family) if cost else needs_cell(None))

    widened = tuple(replace(group, rows=tuple((*row[:at], *cells(row), *row[at:]) for row in group.rows))
                    for group in table.groups)
    return replace(table, groups=widened, headings=(*table.headings[:at], *heads, *table.headings[at:]))


def cost_cell(cost: Cost | None) -> Cell:
    """Show what 1,000 items cost, in two significant digits; for a composition without its inputs."""
    if cost is None:
        return missing("the metric is not in the report")
    if not math.isfinite(value := cost.seconds):
        return Cell(MISSING, title="the report has no times of it")
    text = "< 0.01" if value < 0.01 else f"{value:.{0 if value >= 9.95 else 1 if value >= 0.995 else 2}f}"
    composite = cost.family == COMPOSITE
    return Cell(text, value=value, small="+ inputs" if composite else "",
                title="to combine the scores of other metrics, whose own cost is not included" if composite else "")


def needs_cell(cost: Cost | None) -> Cell:
    """Say what a metric needs, and in the title what it was trained on."""
    if cost is None:
        return Cell(MISSING, title="the metric is not in the report")
    return Cell(", ".join(cost.needs) or "nothing", title=f"trained on {cost.trained_on}" if cost.trained_on else "")


def _name(index: Index, column: Column, value: float, control: float) -> Cell:
    """Name a column, marked where its average is not above that of the length control."""
    cell = metric_cell(index, column)
    return cell._replace(sign=BELOW) if column[0] != CONTROL and value <= control else cell


def _average(board: Board, rule: str, column: Column, lead: tuple[float, float]) -> Cell:
    row, complete = board.ranking.get((rule, column)), board.row(column, rule)
    if row is None:
        return Cell(MISSING, title="no ranking under this rule")
    if complete is None:
        return Cell(MISSING, title="no average over an incomplete row", small=coverage(row.covered, row.targets))
    cell = value_cell(row.value, lead)
    return cell if rule == board.rules[0] else cell._replace(small=f"rank {complete.rank}")


def _mean(entry: DatasetEntry, rows: Sequence[Correlation | None]) -> float:
    """Average a dataset's qualities; NaN unless every one that was rated has a value."""
    values = [row.value if row else math.nan for quality, row in zip(entry.qualities, rows, strict=True)
              if quality.rated]
    return math.fsum(values) / len(values) if values and all(map(math.isfinite, values)) else math.nan


def _dataset_cell(index: Index, entry: DatasetEntry, column: Column, statistic: str,
                  own: Sequence[Correlation | None], mean: float, lead: tuple[float, float]) -> Cell:
    """Show a mean with its parts, or the reasons of the qualities without a value; one that all share is said once."""
    rows = list(zip(entry.qualities, own, strict=True))
    if math.isfinite(mean):
        parts = (f"{quality.name} {number(row.value)}" for quality, row in rows if row is not None and has_value(row))
        cell = value_cell(mean, lead, shaded=True, title=", ".join(parts))
        return fitted_cell(cell) if index.is_fitted(column, entry.name) else cell
    reasons = {quality.name: index.why((entry.name, quality.name), column, statistic) for quality, row in rows
               if quality.rated and not has_value(row)}
    if len(set(reasons.values())) > 1:
        return missing("; ".join(f"{name}: {reason}" for name, reason in reasons.items()))
    return missing(next(iter(reasons.values()), "nobody rated this dataset"))


@dataclass(frozen=True, slots=True)
class _Line:
    column: Column
    rows: tuple[Correlation | None, ...]
    mean: float
    covered: int
    targets: int


def _target_board(index: Index, targets: Sequence[TargetColumn], columns: Sequence[Column], statistic: str) -> Table:
    lines = [_line(index, targets, column, statistic) for column in columns]
    ranked = sorted((line for line in lines if math.isfinite(line.mean)), key=lambda line: (-line.mean, line.column))
    unranked = sorted((line for line in lines if not math.isfinite(line.mean)),
                      key=lambda line: (-line.covered, line.column))
    lead = [leaders(row.value for line in lines if (row := line.rows[place]) is not None
                    and not index.is_fitted(line.column, target.dataset.name))
            for place, target in enumerate(targets)]
    means = [line.mean for line in ranked]
    lead_mean = leaders(means)
    control = max((line.mean for line in ranked if line.column[0] == CONTROL), default=math.nan)
    average = (Heading("Mean", "number", title="Mean of the other columns", key="test"),) if len(targets) > 1 else ()

    def cells(line: _Line, rank: Cell, name: Cell, mean: Cell) -> Row:
        values = (_target_cell(index, target, line.column, row, statistic, best)
                  for target, row, best in zip(targets, line.rows, lead, strict=True))
        return (rank, name, *((mean,) if average else ()), *values)

    return Table(
        "", "", (Heading("Rank", "rank", key="rank"), Heading("Metric", "stub", key="metric"), *average,
                 *(_with_n(target.heading, [line.rows[place] for line in lines])
                   for place, target in enumerate(targets))),
        groups((cells(line, count_cell(1 + means.index(line.mean)), _name(index, line.column, line.mean, control),
                      value_cell(line.mean, lead_mean)) for line in ranked),
               (cells(line, Cell(""),
                      metric_cell(index, line.column)._replace(small=coverage(line.covered, line.targets)),
                      Cell(MISSING, title="no mean over an incomplete row")) for line in unranked)))


def _line(index: Index, targets: Sequence[TargetColumn], column: Column, statistic: str) -> _Line:
    rows = tuple(index.correlation(target.target, column, statistic) for target in targets)
    counted = [None if index.is_fitted(column, target.dataset.name) else row
               for row, target in zip(rows, targets, strict=True) if target.quality.rated]
    values = [row.value for row in counted if row is not None and has_value(row)]
    mean = math.fsum(values) / len(values) if values and len(values) == len(counted) else math.nan
    return _Line(column, rows, mean, len(values), len(counted))


def _target_cell(index: Index, target: TargetColumn, column: Column, row: Correlation | None, statistic: str,
                 lead: tuple[float, float]) -> Cell:
    if row is None or not has_value(row):
        nobody = not target.quality.rated and row is None
        return missing("nobody rated this quality" if nobody else index.why(target.target, column, statistic))
    cell = correlation_cell(row, lead)
    return fitted_cell(cell) if index.is_fitted(column, target.dataset.name) else cell


def _with_n(heading: Heading, rows: Sequence[Correlation | None]) -> Heading:
    sizes = sorted({row.n for row in rows if row is not None and has_value(row)})
    n = f"n = {sizes[0]}" + (f"–{sizes[-1]}" if len(sizes) > 1 else "") if sizes else ""
    return replace(heading, small=", ".join(filter(None, (heading.small, n))))
