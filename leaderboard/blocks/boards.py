"""Boards as tables with a row per column of a metric, ranked rows first.

The board of the front page has rank and score for the question, the mean on each quality, cost and size. An overall
board has rank and averages, and the mean on every dataset. The board of a dataset has a cell per quality and is ranked
by their mean; a row that lacks a value has no mean and no rank, and an unrated quality is shown but not counted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

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
    value_cell,
)
from leaderboard.blocks.tables import Cell, Group, Heading, Row, Table
from leaderboard.model import sentences
from leaderboard.model.boards import RULES, Board, rank_interval
from leaderboard.model.cost import Cost, costs
from leaderboard.model.index import Column, Index, has_value, plural, slug, statistic_title
from leaderboard.model.questions import Question, equals

CONTROL = "length"
"""The baseline that every metric should beat: the number of words of the response."""

BELOW = ("▽", "no better than counting words")
QUALITIES = 8
"""The most qualities with a column on the front page."""
UNRANKED = "Not ranked: a value is missing"
LETTERS = Heading("Group", "words", key="letters")


def ranked_table(index: Index, question: Question, qualities: Sequence[Question], columns: Sequence[Column],
                 rows: Mapping[str, Sequence[Column]]) -> Table:
    """Draw the board of the front page: groups of rows by title; `columns` are the rows of the script data."""
    column_costs = costs(index.results)
    best = {shown.board.name: leaders(row.value for row in shown.board.ranked.values())
            for shown in (question, *qualities)}
    control = _control(question.board)
    keys = {column: key for key, column in enumerate(columns)}

    def value(shown: Question, column: Column) -> Cell:
        row = shown.row(column)
        if row is None:
            return Cell(MISSING, title=lacking(shown, column))
        return value_cell(row.value, best[shown.board.name], shaded=True)

    def lacking(shown: Question, column: Column) -> str:
        targets = [target for target in shown.targets if not math.isfinite(index.value(target, column))]
        if not targets:
            return "a value is missing"
        why = "fitted on its ratings" if index.is_fitted(column, targets[0][0]) else index.why(targets[0], column)
        more = f"; {len(targets) - 1} more missing" if targets[1:] else ""
        return f"no value on {', '.join(targets[0])}: {why}{more}"

    def line(column: Column) -> Row:
        row, cost = question.row(column), column_costs.get(column)
        rank = Cell("") if row is None else count_cell(row.rank or 0)._replace(small=rank_interval(row))
        same = ", ".join(index.labels[other] for other in sorted(equals(index.results).get(column, ())))
        name = _name(index, column, row.value if row else math.nan, control)._replace(model="; ".join(filter(None, (
            index.badges.get(column[0], ""), f"identical to {same}" if same else ""))), key=keys[column])
        score = value(question, column)._replace(shade="", small=sentences.error(row.error).strip() if row else "")
        parameters = cost.parameters if cost else 0
        return (rank, name, score, *(value(shown, column) for shown in qualities),
                cost_cell(cost), Cell(sentences.size(parameters), value=parameters or None))

    return Table(
        "board", f"Spearman, with human ratings: {question.title}",
        (Heading("Rank", "rank", small="of all, 95 %", key="rank", title=f"Among all {len(question.board.ranked)} "
                 "columns without missing values; the interval is over resampled contexts and datasets"),
         Heading("Metric", "stub", key="metric"),
         Heading("Score", "number", small="± 95 %", key="score",
                 title="Mean over the datasets; the interval is over resampled contexts of these datasets"),
         *(Heading(shown.dimension or shown.title, "number", key=shown.board.name,
                   small=plural(shown.datasets, "dataset")) for shown in qualities),
         Heading("Cost", "number", small="s per 1,000", key="cost", title="Seconds per 1,000 items on "
                 f"{index.results.run.device}, running alone, models loaded, inputs included"),
         Heading("Size", "number", small="parameters", key="size", title="Parameters of all its networks")),
        tuple(Group(tuple(map(line, listed)), title) for title, listed in rows.items() if listed), board=True,
        data="Ranks count all columns, including those fitted on ratings, which are listed below")


def board_table(index: Index, board: Board) -> Table:
    """Draw an overall board with the mean on every dataset, for LaTeX."""
    datasets = index.on(board.name)
    means = {column: [_mean(entry, [index.correlation((entry.name, quality.name), column, board.statistic)
                                    for quality in entry.qualities]) for entry in datasets] for column in board.columns}
    fitted = {(column, entry.name) for column in means for entry in datasets if index.is_fitted(column, entry.name)}
    best = [leaders(row[position] for column, row in means.items() if (column, entry.name) not in fitted)
            for position, entry in enumerate(datasets)]

    def mean(entry: DatasetEntry, column: Column, value: float, best: tuple[float, float]) -> Cell:
        cell = value_cell(value, best)
        return fitted_cell(cell) if (column, entry.name) in fitted and math.isfinite(value) else cell

    rows = {column: (
        *head, *((Cell(row.letters if (row := board.row(column)) else ""),) if board.has_letters else ()),
        *(mean(entry, column, value, lead) for entry, value, lead in zip(datasets, means[column], best, strict=True)))
        for column, head in row_heads(index, board).items()}
    return Table(
        anchor="-".join(map(slug, (board.name, board.statistic))), caption=board.caption,
        headings=(*headings(board), *((LETTERS,) if board.has_letters else ()),
                  *(Heading(entry.name, "number") for entry in datasets)),
        groups=groups(board, rows), data=marked(index.data(board.name), bool(fitted)))


def headings(board: Board) -> tuple[Heading, ...]:
    """Return the headings of rank, metric and an average under each rule."""
    intervals = any(math.isfinite(row.low) for row in board.ranking.values())
    return (Heading("Rank, 95 %" if intervals else "Rank", "rank", key="rank"), Heading("Metric", "stub", key="metric"),
            *(Heading(RULES.get(rule, rule), "number", key=rule) for rule in board.rules))


def row_heads(index: Index, board: Board) -> dict[Column, Row]:
    """Return the first cells of each row in board order: rank, metric, average under each rule."""
    best = {rule: leaders(row.value for column in board.columns if (row := board.row(column, rule)))
            for rule in board.rules}
    control = _control(board)
    heads: dict[Column, Row] = {}
    for column in board.columns:
        row = board.ranked.get(column)
        rank = count_cell(row.rank or 0)._replace(small=rank_interval(row)) if row else Cell("")
        heads[column] = (rank, _name(index, column, row.value if row else math.nan, control),
                         *(_average(board, rule, column, best[rule]) for rule in board.rules))
    return heads


def groups(board: Board, rows: Mapping[Column, Row]) -> tuple[Group, ...]:
    """Separate the ranked rows from the others below."""
    return _groups((row for column, row in rows.items() if board.row(column)),
                   (row for column, row in rows.items() if not board.row(column)))


def _groups(ranked: Iterable[Row], unranked: Iterable[Row]) -> tuple[Group, ...]:
    both = (Group(tuple(ranked)), Group(tuple(unranked), UNRANKED))
    return tuple(group for group in both if group.rows)


def _coverage(covered: int, targets: int) -> str:
    return f"{covered} of {plural(targets, 'target')}"


def dataset_board(index: Index, entry: DatasetEntry, statistic: str) -> Table:
    """Draw every column, including declared but missing ones, on every quality of a dataset."""
    columns = sorted({(metric.name, column) for metric in index.results.metrics for column in metric.columns}
                     | index.columns.get(entry.name, set()))
    rows = {column: [index.correlation((entry.name, quality.name), column, statistic) for quality in entry.qualities]
            for column in columns}
    fitted = {column for column in columns if index.is_fitted(column, entry.name)}
    means = {column: math.nan if column in fitted else _mean(entry, rows[column]) for column in columns}
    rated = [position for position, quality in enumerate(entry.qualities) if quality.rated]
    covered = {column: 0 if column in fitted else sum(has_value(rows[column][position]) for position in rated)
               for column in columns}
    best = [leaders(row.value for column in columns if column not in fitted and (row := rows[column][position]))
            for position, _ in enumerate(entry.qualities)]
    ordered = sorted((mean for mean in means.values() if math.isfinite(mean)), reverse=True)
    best_mean = leaders(ordered)
    control = max((mean for column, mean in means.items() if column[0] == CONTROL and math.isfinite(mean)),
                  default=math.nan)
    with_mean = len(entry.qualities) > 1

    def line(column: Column) -> Row:
        mean, rank = means[column], Cell("")
        name = metric_cell(index, column)._replace(small=_coverage(covered[column], len(rated)))
        average = Cell(MISSING, title="no mean because a value is missing")
        if math.isfinite(mean):
            rank, name = count_cell(1 + ordered.index(mean)), _name(index, column, mean, control)
            average = value_cell(mean, best_mean)
        cells = (_quality_cell(index, entry, quality, column, row, statistic, lead)
                 for quality, row, lead in zip(entry.qualities, rows[column], best, strict=True))
        return (rank, name, *((average,) if with_mean else ()), *cells)

    return Table(
        f"correlation-{slug(statistic)}", f"{entry.name}: {statistic_title(statistic)}",
        (Heading("Rank", "rank", key="rank"), Heading("Metric", "stub", key="metric"),
         *((Heading("Mean", "number", title="Mean of the other columns", key="test"),) if with_mean else ()),
         *(Heading(quality.name, "number", small=_sizes(rows[column][position] for column in columns))
           for position, quality in enumerate(entry.qualities))),
        _groups(map(line, sorted((column for column in columns if math.isfinite(means[column])),
                                 key=lambda column: (-means[column], column))),
                map(line, sorted((column for column in columns if not math.isfinite(means[column])),
                                 key=lambda column: (-covered[column], column)))),
        data=marked(index.data(), bool(fitted)))


def cost_cell(cost: Cost | None) -> Cell:
    """Show the cost of 1,000 items, inputs included."""
    if cost is None or not (shown := sentences.seconds(cost)):
        return Cell(MISSING, title="no timings of this metric or one of its inputs")
    return Cell(shown, value=cost.seconds, title=f"including {', '.join(cost.inputs)}" if cost.inputs else "")


def _control(board: Board) -> float:
    """Return the average of the length control; NaN if it is not ranked."""
    return max((row.value for column, row in board.ranked.items() if column[0] == CONTROL), default=math.nan)


def _name(index: Index, column: Column, value: float, control: float) -> Cell:
    """Name a column, with a warning if its average is not above that of the length control."""
    cell = metric_cell(index, column)
    return cell._replace(sign=BELOW) if column[0] != CONTROL and value <= control else cell


def _average(board: Board, rule: str, column: Column, best: tuple[float, float]) -> Cell:
    row, complete = board.ranking.get((rule, column)), board.row(column, rule)
    if row is None:
        return Cell(MISSING, title="no ranking under this rule")
    if complete is None:
        return Cell(MISSING, title="no average because a value is missing", small=_coverage(row.covered, row.targets))
    cell = value_cell(row.value, best)
    return cell if rule == board.rules[0] else cell._replace(small=f"rank {complete.rank}")


def _mean(entry: DatasetEntry, rows: Sequence[Correlation | None]) -> float:
    """Average the qualities of a dataset; NaN unless every rated one has a value."""
    values = [row.value if row else math.nan for quality, row in zip(entry.qualities, rows, strict=True)
              if quality.rated]
    return math.fsum(values) / len(values) if values and all(map(math.isfinite, values)) else math.nan


def _quality_cell(index: Index, entry: DatasetEntry, quality: QualityEntry, column: Column, row: Correlation | None,
                  statistic: str, best: tuple[float, float]) -> Cell:
    if row is None or not has_value(row):
        unrated = not quality.rated and row is None
        return missing("nobody rated this quality" if unrated else
                       index.why((entry.name, quality.name), column, statistic))
    cell = correlation_cell(row, best)
    return fitted_cell(cell) if index.is_fitted(column, entry.name) else cell


def _sizes(rows: Iterable[Correlation | None]) -> str:
    sizes = sorted({row.n for row in rows if row is not None and has_value(row)})
    return f"n = {sizes[0]}" + (f"–{sizes[-1]}" if len(sizes) > 1 else "") if sizes else ""
