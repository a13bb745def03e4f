"""Boards as tables: a row per column of a metric, ranked ones first.

The board of the front page has the place on the question, the mean on each quality, cost and size. An overall board
has rank and averages from the ranking, the mean of every dataset beside them. That of a dataset has a cell per
quality and is ranked by the mean of the cells; a row that lacks a cell has no mean and no rank, and a quality that
nobody rated is shown but not counted.
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
"""The metric that every other should beat: it counts the words of the response."""

BELOW = ("▽", "no better than counting words")
QUALITIES = 8
"""As many qualities have a column on the board of the front page."""
UNRANKED = "Not ranked: a value is missing"
LETTERS = Heading("Group", "words", key="letters")


def ranked_table(index: Index, question: Question, qualities: Sequence[Question], columns: Sequence[Column],
                 rows: Mapping[str, Sequence[Column]]) -> Table:
    """Draw the board of the front page: groups of rows by title; `columns` are the rows of the scripts' numbers."""
    known = costs(index.results)
    lead = {one.board.name: leaders(row.value for row in one.board.ranked.values()) for one in (question, *qualities)}
    control = max((row.value for column, row in question.board.ranked.items() if column[0] == CONTROL),
                  default=math.nan)
    place = {column: number for number, column in enumerate(columns)}

    def value(one: Question, column: Column) -> Cell:
        row = one.row(column)
        if row is None:
            return Cell(MISSING, title=lacking(one, column))
        return value_cell(row.value, lead[one.board.name], shaded=True)

    def lacking(one: Question, column: Column) -> str:
        gone = [target for target in one.targets if not math.isfinite(index.value(target, column))]
        if not gone:
            return "a value is missing"
        why = "fitted on its ratings" if index.is_fitted(column, gone[0][0]) else index.why(gone[0], column)
        return f"no value on {', '.join(gone[0])}: {why}" + (f"; likewise {len(gone) - 1} more" if gone[1:] else "")

    def line(column: Column) -> Row:
        row, cost = question.row(column), known.get(column)
        rank = Cell("") if row is None else count_cell(row.rank or 0)._replace(small=rank_interval(row))
        same = ", ".join(index.labels[other] for other in sorted(equals(index.results).get(column, ())))
        name = _name(index, column, row.value if row else math.nan, control)._replace(model="; ".join(filter(None, (
            index.badges.get(column[0], ""), f"the same as {same}" if same else ""))), key=place[column])
        score = value(question, column)._replace(shade="", small=sentences.error(row.error).strip() if row else "")
        return (rank, name, score, *(value(one, column) for one in qualities),
                cost_cell(cost), Cell(sentences.size(cost.parameters) if cost else "", value=cost.parameters or None
                                      if cost else None))

    return Table(
        "board", f"Spearman, with people: {question.title}",
        (Heading("Rank", "rank", small="of all, 95 %", key="rank", title=f"Among all {len(question.board.ranked)} "
                 "columns that have every value; the interval is over resampled contexts and, of several, datasets"),
         Heading("Metric", "stub", key="metric"),
         Heading("Score", "number", small="± 95 %", key="score", title="Mean over the datasets; the interval is over "
                 "other contexts of the same datasets"),
         *(Heading(one.dimension or one.title, "number", key=one.board.name,
                   small=plural(one.datasets, "dataset")) for one in qualities),
         Heading("Cost", "number", small="s per 1,000", key="cost", title="Seconds per 1,000 items on "
                 f"{index.results.run.device}, by itself, models loaded, with its inputs"),
         Heading("Size", "number", small="parameters", key="size", title="Of all its networks")),
        tuple(Group(tuple(map(line, own)), title) for title, own in rows.items() if own), board=True,
        data="Ranks include the metrics fitted on ratings, listed further down")


def board_table(index: Index, board: Board) -> Table:
    """Draw an overall board with the mean of every dataset, for print."""
    datasets = index.on(board.name)
    means = {column: [_mean(entry, [index.correlation((entry.name, quality.name), column, board.statistic)
                                    for quality in entry.qualities]) for entry in datasets] for column in board.columns}
    fitted = {(column, entry.name) for column in means for entry in datasets if index.is_fitted(column, entry.name)}
    lead = [leaders(row[place] for column, row in means.items() if (column, entry.name) not in fitted)
            for place, entry in enumerate(datasets)]

    def mean(entry: DatasetEntry, column: Column, value: float, best: tuple[float, float]) -> Cell:
        cell = value_cell(value, best)
        return fitted_cell(cell) if (column, entry.name) in fitted and math.isfinite(value) else cell

    rows = {column: (
        *head, *((Cell(row.letters if (row := board.row(column)) else ""),) if board.has_letters else ()),
        *(mean(entry, column, value, best) for entry, value, best in zip(datasets, means[column], lead, strict=True)))
        for column, head in row_heads(index, board).items()}
    return Table(
        anchor="-".join(map(slug, (board.name, board.statistic))), caption=board.caption,
        headings=(*headings(board), *((LETTERS,) if board.has_letters else ()),
                  *(Heading(entry.name, "number") for entry in datasets)),
        groups=groups((row for column, row in rows.items() if board.row(column)),
                      (row for column, row in rows.items() if not board.row(column))),
        data=marked(index.data(board.name), bool(fitted)))


def headings(board: Board) -> tuple[Heading, ...]:
    """Head the columns: rank, metric, and an average under each rule."""
    known = any(math.isfinite(row.low) for row in board.ranking.values())
    return (Heading("Rank, 95 %" if known else "Rank", "rank", key="rank"), Heading("Metric", "stub", key="metric"),
            *(Heading(RULES.get(rule, rule), "number", key=rule) for rule in board.rules))


def row_heads(index: Index, board: Board) -> dict[Column, Row]:
    """Begin the rows, in the order of the board: rank, metric, average under each rule."""
    columns, ranked = board.columns, board.ranked
    lead = {rule: leaders(row.value for column in columns if (row := board.row(column, rule)))
            for rule in board.rules}
    control = max((row.value for column, row in ranked.items() if column[0] == CONTROL), default=math.nan)
    heads: dict[Column, Row] = {}
    for column in columns:
        row = ranked.get(column)
        rank = count_cell(row.rank or 0)._replace(small=rank_interval(row)) if row else Cell("")
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


def dataset_board(index: Index, entry: DatasetEntry, statistic: str) -> Table:
    """Draw every column on every quality of a dataset, promised ones too."""
    columns = sorted({(metric.name, column) for metric in index.results.metrics for column in metric.columns}
                     | index.columns.get(entry.name, set()))
    rows = {column: [index.correlation((entry.name, quality.name), column, statistic) for quality in entry.qualities]
            for column in columns}
    fitted = {column for column in columns if index.is_fitted(column, entry.name)}
    means = {column: math.nan if column in fitted else _mean(entry, rows[column]) for column in columns}
    rated = [place for place, quality in enumerate(entry.qualities) if quality.rated]
    covered = {column: 0 if column in fitted else sum(has_value(rows[column][place]) for place in rated)
               for column in columns}
    lead = [leaders(row.value for column in columns if column not in fitted and (row := rows[column][place]))
            for place, _ in enumerate(entry.qualities)]
    ordered = sorted((mean for mean in means.values() if math.isfinite(mean)), reverse=True)
    lead_mean = leaders(ordered)
    control = max((mean for column, mean in means.items() if column[0] == CONTROL and math.isfinite(mean)),
                  default=math.nan)
    several = len(entry.qualities) > 1

    def line(column: Column) -> Row:
        mean, rank = means[column], Cell("")
        name = metric_cell(index, column)._replace(small=coverage(covered[column], len(rated)))
        average = Cell(MISSING, title="no mean over an incomplete row")
        if math.isfinite(mean):
            rank, name = count_cell(1 + ordered.index(mean)), _name(index, column, mean, control)
            average = value_cell(mean, lead_mean)
        cells = (_quality_cell(index, entry, quality, column, row, statistic, best)
                 for quality, row, best in zip(entry.qualities, rows[column], lead, strict=True))
        return (rank, name, *((average,) if several else ()), *cells)

    return Table(
        f"correlation-{slug(statistic)}", f"{entry.name}: {statistic_title(statistic)}",
        (Heading("Rank", "rank", key="rank"), Heading("Metric", "stub", key="metric"),
         *((Heading("Mean", "number", title="Mean of the other columns", key="test"),) if several else ()),
         *(Heading(quality.name, "number", small=_sizes(rows[column][place] for column in columns))
           for place, quality in enumerate(entry.qualities))),
        groups(map(line, sorted((column for column in columns if math.isfinite(means[column])),
                                key=lambda column: (-means[column], column))),
               map(line, sorted((column for column in columns if not math.isfinite(means[column])),
                                key=lambda column: (-covered[column], column)))),
        data=marked(index.data(), bool(fitted)))


def cost_cell(cost: Cost | None) -> Cell:
    """Show what 1,000 items cost, those of its inputs included."""
    if cost is None or not (shown := sentences.seconds(cost)):
        return Cell(MISSING, title="the results have no times of it, or of one of its inputs")
    return Cell(shown, value=cost.seconds, title=f"with {', '.join(cost.inputs)}" if cost.inputs else "")


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


def _quality_cell(index: Index, entry: DatasetEntry, quality: QualityEntry, column: Column, row: Correlation | None,
                  statistic: str, lead: tuple[float, float]) -> Cell:
    if row is None or not has_value(row):
        nobody = not quality.rated and row is None
        return missing("nobody rated this quality" if nobody else
                       index.why((entry.name, quality.name), column, statistic))
    cell = correlation_cell(row, lead)
    return fitted_cell(cell) if index.is_fitted(column, entry.name) else cell


def _sizes(rows: Iterable[Correlation | None]) -> str:
    """How many items the correlations are over."""
    sizes = sorted({row.n for row in rows if row is not None and has_value(row)})
    return f"n = {sizes[0]}" + (f"–{sizes[-1]}" if len(sizes) > 1 else "") if sizes else ""
