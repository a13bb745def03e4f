"""Boards as tables: a row per column of a metric, ranked ones first.

The board of the front page has the place on the question, the mean on each quality, cost and size. An overall board
has rank and averages from the ranking, the mean of every dataset beside them. A board over targets has a cell per
target and is ranked by the mean of the cells; a row that lacks a cell has no mean and no rank, and a quality that
nobody rated is shown but not counted.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
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
from leaderboard.model import sentences
from leaderboard.model.boards import RULES, Board, has_interval, rank_interval
from leaderboard.model.cost import Cost, costs
from leaderboard.model.index import Column, Index, Target, has_value, plural, slug, statistic_title
from leaderboard.model.questions import Question, equals

CONTROL = "length"
"""The metric that every other should beat: it counts the words of the response."""

BELOW = ("▽", "no better than counting words")
QUALITIES = 8
"""As many qualities have a column on the board of the front page."""
UNRANKED = "Not ranked: a value is missing"
LETTERS = Heading("Group", "words", key="letters", title="The ranks of columns that share a letter do not differ "
                                                         "significantly")


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
    """Draw an overall board with the mean of every dataset."""
    datasets = index.on(board.name)
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
        anchor="-".join(map(slug, (board.name, board.statistic))), caption=board.caption,
        headings=(*headings(board), *((LETTERS,) if board.has_letters else ()), *(
            Heading(entry.name, "number", title=entry.title, link=index.dataset_paths[entry.name])
            for entry in datasets)),
        groups=groups((row for column, row in rows.items() if board.row(column)),
                      (row for column, row in rows.items() if not board.row(column))),
        data=marked(index.data(board.name), any_fitted))


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


def dataset_boards(index: Index, entry: DatasetEntry) -> tuple[Table, ...]:
    """Draw every column on every quality of a dataset, promised ones too, a table per statistic."""
    targets = [TargetColumn(entry, quality, Heading(quality.name, "number")) for quality in entry.qualities]
    columns = {(metric.name, column) for metric in index.results.metrics for column in metric.columns}
    return target_boards(index, targets, columns | index.columns.get(entry.name, set()), entry.name, "correlation")


def quality_boards(index: Index, dimension: str) -> tuple[Table, ...]:
    """Draw every ranked column on every dataset that has a quality, a table per statistic."""
    targets = [TargetColumn(entry, quality, Heading(entry.name, "number", small=entry.split,
                                                    link=index.dataset_paths[entry.name]))
               for entry in index.datasets for quality in entry.qualities if quality.dimension == dimension]
    columns = {(row.metric, row.column) for row in index.results.ranking}
    return target_boards(index, targets, columns, dimension, slug(dimension))


def target_boards(index: Index, targets: Sequence[TargetColumn], columns: Iterable[Column], caption: str, anchor: str,
                  ) -> tuple[Table, ...]:
    """Draw a board per statistic over the same targets; all but the first are folded."""
    listed = sorted(columns)
    tables: list[Table] = []
    for statistic in index.statistics:
        title = statistic_title(statistic)
        table = _target_board(index, targets, listed, statistic)
        tables.append(replace(table, anchor=f"{anchor}-{slug(statistic)}", caption=f"{caption}: {title}",
                              data=marked(index.data(), any(index.is_fitted(column, target.dataset.name)
                                                            for column in listed for target in targets)),
                              folded=title if tables else ""))
    return tuple(tables)


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
