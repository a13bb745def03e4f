"""A column on every target, its ranking on each board, and whether it does better than the length control."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from harness.results.rows import Correlation, DatasetEntry, QualityEntry, RankingRow
from leaderboard.blocks.boards import CONTROL, coverage
from leaderboard.blocks.cells import (
    correlation_cell,
    count_cell,
    fitted_cell,
    marked,
    missing,
    number,
    number_cell,
    p_value,
)
from leaderboard.blocks.cells import table as table_of
from leaderboard.blocks.tables import Cell, Group, Heading, Row, Table
from leaderboard.model.boards import BOARDS, names, rank_interval
from leaderboard.model.index import (
    ORIGIN_TITLES,
    STATISTIC,
    STATISTICS,
    Column,
    Index,
    Target,
    has_value,
    is_complete,
    plural,
    rated_targets,
    slug,
    split_order,
    statistic_title,
)


@dataclass(frozen=True, slots=True)
class AllColumns:
    """All columns together: their ranks on each target, their ranking under each board's own rule, the control."""

    index: Index
    ranks: Mapping[Target, Mapping[Column, int]]
    ranking: Mapping[tuple[str, str, Column], RankingRow]
    control: Column | None


def all_columns(index: Index) -> AllColumns:
    """Put the columns of results side by side; equal correlations share a rank."""
    values: dict[Target, dict[Column, float]] = {}
    for row in index.results.correlations:
        if row.statistic == STATISTIC and has_value(row) and (row.metric, row.dataset) not in index.fitted:
            values.setdefault((row.dataset, row.quality), {})[row.metric, row.column] = row.value
    order = {target: sorted(own.values(), reverse=True) for target, own in values.items()}
    ranks = {target: {column: 1 + order[target].index(value) for column, value in own.items()}
             for target, own in values.items()}
    ranking = {(row.board, row.origin, (row.metric, row.column)): row for row in index.results.ranking
               if row.statistic == STATISTIC and row.rule == row.board.partition("-")[0]}
    controls = [(entry.name, entry.columns[0]) for entry in index.results.metrics
                if entry.name == CONTROL and entry.family == "control" and entry.columns]
    return AllColumns(index, ranks, ranking, controls[0] if controls else None)


def ranking_table(every: AllColumns, columns: Sequence[Column], origin: str) -> tuple[Table, ...]:
    """Draw the rank of each column on each board of an origin, under the board's own rule."""
    rows = [_ranking_row(every, row) for name, board_origin in names(every.index.results) if board_origin == origin
            for column in columns if (row := every.ranking.get((name, origin, column))) is not None]
    headings = (Heading("Board", "stub"), Heading("Column"), Heading("Average", "number"),
                Heading("Length control", "number"), Heading("Rank, 95 %", "number"),
                Heading("Letters", title="The ranks of columns that share a letter do not differ significantly"),
                Heading("Targets", "number"))
    caption = f"Rank on the boards: {statistic_title(STATISTIC)}"
    return (table_of(every.index, origin, f"ranking-table-{origin}", caption, headings, rows),) if rows else ()


def not_above_length(every: AllColumns, columns: Sequence[Column], origin: str) -> tuple[str, ...]:
    """Say for each board where a column does no better than the length control, with both numbers."""
    if every.control is None or every.control in columns:
        return ()
    return tuple(
        f"{every.index.labels[column]} does not beat the length control on “{BOARDS.get(name, name)}”, "
        f"{ORIGIN_TITLES[origin]}: {number(own)} against {number(control)}{over}."
        for name, board_origin in names(every.index.results) if board_origin == origin
        for column in columns for own, control, over in (_beside_length(every, name, origin, column, every.control),)
        if own <= control)  # NaN where nothing can be compared


def target_tables(every: AllColumns, columns: Sequence[Column], origin: str) -> tuple[Table, ...]:
    """Draw every rated target of an origin, a table per column of a metric; all but the first are folded."""
    index, datasets = every.index, every.index.on(origin)
    headings = (Heading("Dataset", "stub"), Heading("Quality"),
                Heading(statistic_title(STATISTIC), "number", small="95 % interval"), Heading("p", "number"),
                Heading("Rank", "number", small="of columns", title="Rank by Spearman among the columns of the run"),
                Heading("People", "number", small="one against the others"),
                Heading("Corrected", "number", small="for rater unreliability",
                        title="Spearman divided by the square root of the raters' reliability"),
                *(Heading(statistic_title(name), "number", small="95 % interval") for name in STATISTICS[1:]),
                Heading("n", "number"))
    tables: list[Table] = []
    for column in columns:
        groups = (Group(tuple(_target_row(every, entry, quality, column) for entry in datasets if entry.split == split
                              for quality in entry.qualities if quality.rated), BOARDS.get(split, split))
                  for split in sorted({entry.split for entry in datasets}, key=split_order))
        label = index.labels[column]
        table = table_of(index, origin, f"targets-{origin}-{slug('-'.join(column))}",
                         f"{label} on every quality of every dataset", headings,
                         (group for group in groups if group.rows))
        any_fitted = any(index.is_fitted(column, entry.name) for entry in datasets)
        tables.append(replace(table, data=marked(table.data, any_fitted), folded=label if tables else ""))
    return tuple(tables)


def _beside_length(every: AllColumns, name: str, origin: str, column: Column,
                   control: Column) -> tuple[float, float, str]:
    """Take the averages of the board where both have one, else the means over the targets that both have."""
    index, (own, other) = every.index, (every.ranking.get((name, origin, key)) for key in (column, control))
    if own is not None and other is not None and is_complete(own) and is_complete(other):
        return own.value, other.value, ""
    pairs = [pair for target in rated_targets(index.on(origin, name))
             if all(map(math.isfinite, pair := (index.value(target, column), index.value(target, control))))]
    if not pairs:
        return math.nan, math.nan, ""
    means = [math.fsum(values) / len(pairs) for values in zip(*pairs, strict=True)]
    return means[0], means[1], f", the means over the {plural(len(pairs), 'target')} that both have"


def _ranking_row(every: AllColumns, row: RankingRow) -> Row:
    first = (Cell(BOARDS.get(row.board, row.board), link="index.html"),
             Cell(every.index.labels[row.metric, row.column]))
    targets = Cell(f"{row.covered} of {row.targets}")
    if not is_complete(row) or row.rank is None:
        average = missing("no average over an incomplete row", coverage(row.covered, row.targets))
        return (*first, average, Cell(""), Cell(""), Cell(""), targets)
    control = every.ranking.get((row.board, row.origin, every.control)) if every.control else None
    return (*first, number_cell(row.value),
            number_cell(control.value) if control is not None and is_complete(control)
            else missing("the length control has no average here"),
            count_cell(row.rank)._replace(small=rank_interval(row)), Cell(row.letters), targets)


def _target_row(every: AllColumns, entry: DatasetEntry, quality: QualityEntry, column: Column) -> Row:
    index, target = every.index, (entry.name, quality.name)
    first = (Cell(entry.name, link=index.dataset_paths[entry.name]),
             Cell(quality.name, link=index.quality_paths[quality.dimension]))
    row = index.correlation(target, column)
    if row is None or not has_value(row):
        return (*first, missing(index.why(target, column)), *(Cell(""),) * 7)
    ranks = every.ranks.get(target, {})
    rank = Cell(f"{ranks[column]} of {len(ranks)}", value=ranks[column]) if column in ranks else Cell("")
    known = (number_cell(value) if math.isfinite(value) else Cell("", title="not known")
             for value in (index.one_rater.get(target, math.nan), row.corrected))
    others = (_correlation(index, index.correlation(target, column, name), f"no {name}") for name in STATISTICS[1:])
    return (*first, _correlation(index, row), Cell(p_value(row.p), value=row.p if math.isfinite(row.p) else None), rank,
            *known, *others, count_cell(row.n))


def _correlation(index: Index, row: Correlation | None, why: str = "") -> Cell:
    if row is None or not has_value(row):
        return missing((row.note if row is not None else "") or why)
    cell = correlation_cell(row)
    return fitted_cell(cell) if (row.metric, row.dataset) in index.fitted else cell
