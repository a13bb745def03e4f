"""Boards as tables with a row per column of a metric, ranked rows first.

The board of the front page has rank and score for the question, the mean on each quality, cost and size. An overall
board has rank and averages, and the mean on every dataset. The board of a dataset has a column per quality and ranks
by their mean; a row with a missing value has no mean and no rank. Unrated qualities are shown but not counted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeAlias

from harness.results.entries import DatasetEntry
from harness.results.item_scores import slug
from harness.results.rows import RankingRow
from harness.statistics import statistic_title
from harness.statistics.rank_intervals import rank
from leaderboard.blocks import cells
from leaderboard.blocks.tables import Cell, Heading, Row, Table
from leaderboard.model.boards import RULES, Board, plus_minus, rank_interval
from leaderboard.model.cost import Cost, cost_of, size
from leaderboard.model.index import ColumnKey, Index, has_value, plural
from leaderboard.model.questions import Question, identical_columns

CONTROL = "length"
"""The control that every metric should beat: the number of words of the response."""
NOT_ABOVE_CONTROL = ("▽", "no better than counting words")
MAX_QUALITIES = 8
"""Maximum number of qualities with a column on the front page."""
RANKED_WITHOUT = "those on whose ratings it was not fitted; ranked among the columns without missing values"
UNRANKED = "Not ranked: a value is missing"
ExtraColumn: TypeAlias = tuple[Heading, Mapping[ColumnKey, Cell]]


def ranked_table(index: Index, question: Question, qualities: Sequence[Question], columns: Sequence[ColumnKey],
                 rows: Mapping[str, Sequence[ColumnKey]]) -> Table:
    """Draw the board of the front page: groups of rows by title; `columns` are in the order of the script data."""
    control = control_value(question)
    leading = {board.name: cells.leaders(row.value for row in board.ranked.values())
               for board in (question, *qualities)}

    def value(board: Question, column: ColumnKey) -> Cell:
        row = board.ranking[board.rule].get(column)
        if row is None or not row.rank:
            return Cell(cells.MISSING, title=_why_no_mean(index, board, column))
        return cells.number_cell(row.value, leading[board.name], shaded=True) if row.complete else _incomplete(row)

    def line(column: ColumnKey) -> Row:
        identical = sorted(identical_columns(index.results).get(column, ()))
        equal_labels = ", ".join(index.labels[other] for other in identical)
        remarks = (index.badges.get(column[0], ""), f"identical to {equal_labels}" if equal_labels else "")
        row, score = question.ranked.get(column), value(question, column)._replace(shade="")
        rank, name = _rank_and_name(index, column, row, control)
        name = name._replace(model="; ".join(filter(None, remarks)), key=columns.index(column))
        score = score._replace(small=plus_minus(row).strip()) if row else score
        cost = cost_of(index, column)
        return rank, name, score, *(value(board, column) for board in qualities), cost_cell(cost), Cell(size(cost.size))

    any_fitted = any(cost_of(index, column).fitted for column in question.ranked)
    fitted_note = ", including those fitted on ratings, which are listed below" if any_fitted else ""
    return Table(
        "board", f"Spearman, with human ratings: {question.title}",
        (Heading("Rank", "rank", small="of all, 95 %", key="rank", title=f"Among all {len(question.ranked)} "
                 "columns without missing values; the interval is over resampled contexts and datasets"),
         Heading("Metric", "stub", key="metric"),
         Heading("Score", "number", small="± 95 %", key="score",
                 title="Mean over the datasets; the interval is over resampled contexts of these datasets"),
         *(Heading(board.dimension or board.title, "number", key=board.name,
                   small=plural(board.datasets, "dataset")) for board in qualities),
         Heading("Cost", "number", small="s per 1,000", key="cost", title="Seconds per 1,000 items on "
                 f"{index.results.run.device}, running alone, models loaded, inputs included"),
         Heading("Size", "number", small="parameters", key="size", title="Parameters of all networks")),
        {title: tuple(map(line, group)) for title, group in rows.items() if group}, board=True,
        data=f"Ranks count all columns{fitted_note}")


def board_table(index: Index, board: Board, extra: Sequence[ExtraColumn], data: str) -> Table:
    """Draw a board: rank and name, then the given columns; unranked rows are in a group below."""
    control, groups = control_value(board), dict[str, list[Row]]()
    for column in board.columns:  # ranked columns first
        row = board.ranked.get(column)
        groups.setdefault("" if row else UNRANKED, []).append((
            *_rank_and_name(index, column, row, control),
            *(column_cells.get(column, Cell(cells.MISSING)) for _, column_cells in extra)))
    any_interval = any(map(rank_interval, board.ranked.values()))
    return Table(
        f"{slug(board.name)}-{slug(board.statistic.replace(' ', '-'))}", board.caption,
        (Heading("Rank, 95 %" if any_interval else "Rank", "rank", key="rank"),
         Heading("Metric", "stub", key="metric"), *(heading for heading, _ in extra)),
        {title: tuple(rows) for title, rows in groups.items()}, data=data)


def overall_board(index: Index, board: Board) -> Table:
    """Draw an overall board with the mean on every dataset, for export to LaTeX."""
    means: list[ExtraColumn] = []
    any_fitted = False
    for entry in index.datasets_on(board.name):
        values = {column: _mean(_rated_correlations(index, entry, column, board.statistic)) for column in board.columns}
        fitted = {column for column, mean in values.items() if index.is_fitted(column, entry.name)}
        leading = cells.leaders(mean for column, mean in values.items() if column not in fitted)
        column_cells = {column: cells.number_cell(mean, leading) for column, mean in values.items()}
        column_cells |= {column: cells.fitted_cell(column_cells[column])
                         for column in fitted if math.isfinite(values[column])}
        means.append((Heading(entry.name, "number"), column_cells))
        any_fitted |= bool(fitted)
    return board_table(index, board, [*averages(board), *letters(board), *means],
                       cells.with_fitted_note(index.describe_data(board.name), any_fitted))


def dataset_board(index: Index, entry: DatasetEntry, statistic: str) -> Table:
    """Draw every column, including declared columns without values, on every quality of a dataset."""
    columns = sorted({(metric.name, column) for metric in index.results.metrics for column in metric.columns}
                     | index.columns.get(entry.name, set()))
    fitted = {column for column in columns if index.is_fitted(column, entry.name)}
    board = _dataset_ranking(index, entry, statistic, columns)
    extra: list[ExtraColumn] = []
    if len(entry.qualities) > 1:
        extra.append((Heading("Mean", "number", title="Mean of the other columns", key="test"),
                      average_cells(board, "test")))
    for quality in entry.qualities:
        rows = {column: row for column in columns
                if (row := index.correlation((entry.name, quality.name), column, statistic)) and has_value(row)}
        leading = cells.leaders(row.value for column, row in rows.items() if column not in fitted)
        column_cells = {column: cells.correlation_cell(row, leading) for column, row in rows.items()}
        column_cells |= {column: cells.fitted_cell(cell) for column, cell in column_cells.items() if column in fitted}
        column_cells |= {column: cells.missing(index.reason_missing((entry.name, quality.name), column, statistic))
                         for column in columns if column not in rows}
        sizes = sorted({row.n for row in rows.values()})
        small = f"n = {sizes[0]}" + (f"–{sizes[-1]}" if len(sizes) > 1 else "") if sizes else ""
        extra.append((Heading(quality.name, "number", small=small), column_cells))
    return replace(board_table(index, board, extra, cells.with_fitted_note(index.describe_data(), bool(fitted))),
                   anchor=f"correlation-{slug(statistic.replace(' ', '-'))}",
                   caption=f"{entry.name}: {statistic_title(statistic)}, analytic 95 % intervals")


def _dataset_ranking(index: Index, entry: DatasetEntry, statistic: str, columns: Sequence[ColumnKey]) -> Board:
    """Rank columns by their mean over the rated qualities of a dataset; columns fitted on it have no mean."""
    correlations = {column: [math.nan] if index.is_fitted(column, entry.name) else
                    _rated_correlations(index, entry, column, statistic) for column in columns}
    means = {column: _mean(values) for column, values in correlations.items()}
    targets = sum(quality.rated > 0 for quality in entry.qualities)
    return Board(entry.name, statistic, {"test": {column: RankingRow(
        entry.name, entry.kind, "test", statistic, *column, means[column], position.rank,
        sum(map(math.isfinite, correlations[column])), targets) for column, position in rank(means).items()}})


def averages(board: Board) -> list[ExtraColumn]:
    """Return a column with the averages under each rule of a board."""
    return [(Heading(RULES.get(rule, rule), "number", key=rule), average_cells(board, rule)) for rule in board.ranking]


def average_cells(board: Board, rule: str) -> dict[ColumnKey, Cell]:
    """Return the average of each column under a rule, with its rank unless it is the board's first rule."""
    rows = board.ranking[rule]
    leading = cells.leaders(row.value for row in rows.values() if row.complete)
    return {column: _incomplete(row) if not row.complete else cells.number_cell(row.value, leading)._replace(
        small="" if rule == board.rule else f"rank {row.rank}") for column, row in rows.items()}


def _incomplete(row: RankingRow) -> Cell:
    """Show the average over the targets that a metric was not fitted on; if there is none, explain why."""
    coverage = f"{row.covered} of {plural(row.targets, 'target')}"
    if row.rank is None:
        return Cell(cells.MISSING, title="no average because a value is missing", small=coverage)
    return cells.number_cell(row.value)._replace(small=f"over {row.covered}/{row.targets}",
                                                 title=f"rank {row.rank} over {coverage}: {RANKED_WITHOUT}")


def letters(board: Board) -> list[ExtraColumn]:
    """Return a column with the letters, if known; columns that share a letter do not differ significantly."""
    if not any(row.letters for row in board.ranked.values()):
        return []
    return [(Heading("Group", "words"), {
        column: Cell(row.letters if row.complete else "") for column, row in board.ranking[board.rule].items()})]


def cost_cell(cost: Cost) -> Cell:
    if not cost.time:
        return Cell(cells.MISSING, title="this metric or one of its inputs has no timings")
    return Cell(cost.time, title=f"including {', '.join(cost.inputs)}" if cost.inputs else "")


def control_value(board: Board) -> float:
    """Return the average of the length control; NaN if it is not ranked."""
    return max((row.value for column, row in board.ranked.items() if column[0] == CONTROL), default=math.nan)


def _rank_and_name(index: Index, column: ColumnKey, row: RankingRow | None, control: float) -> tuple[Cell, Cell]:
    """Show a column's rank, and its name with a warning if its average is not above the length control's."""
    name = cells.metric_cell(index, column)
    if row is None:
        return Cell(""), name
    is_below = column[0] != CONTROL and row.value <= control
    return Cell(str(row.rank), small=rank_interval(row)), name._replace(sign=NOT_ABOVE_CONTROL) if is_below else name


def _rated_correlations(index: Index, entry: DatasetEntry, column: ColumnKey, statistic: str) -> list[float]:
    """Return the correlations on the rated qualities of a dataset, NaN where missing."""
    return [row.value if (row := index.correlation((entry.name, quality.name), column, statistic)) else math.nan
            for quality in entry.qualities if quality.rated]


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values) if values else math.nan


def _why_no_mean(index: Index, question: Question, column: ColumnKey) -> str:
    targets = [target for target in question.targets if not math.isfinite(index.value(target, column))]
    if not targets:
        return "a value is missing"
    is_fitted = index.is_fitted(column, targets[0][0])
    reason = "fitted on its ratings" if is_fitted else index.reason_missing(targets[0], column)
    more_missing = f"; {len(targets) - 1} more missing" if targets[1:] else ""
    return f"no value on {', '.join(targets[0])}: {reason}{more_missing}"

