"""Overall boards as tables: rank and averages from the ranking, the mean of every dataset beside them, and the cost."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from harness.results.rows import DatasetEntry
from leaderboard.blocks.cells import (
    MISSING,
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
from leaderboard.model.index import Column, Index, has_value, plural
from leaderboard.model.numbers import TargetEntry
from leaderboard.model.slugs import slug

CONTROL = "length"
"""The metric that every other should beat: it counts the words of the response."""

BELOW = ("▽", "not above the length control")
UNRANKED = "Not ranked: a value is missing"
LETTERS = Heading("Group", "words", key="letters", title="The ranks of columns that share a letter do not differ "
                                                         "significantly")
MEASURED = "From the seconds that scoring took when the numbers were made, and the items that were scored"


def board_table(index: Index, board: Board, targets: Sequence[TargetEntry] = (), *, folded: bool = False) -> Table:
    """Draw a board; `targets` are those that the scripts rank it anew over."""
    datasets = index.on(board.origin, board.name)
    means = {column: [_mean(index, entry, column, board.statistic) for entry in datasets] for column in board.columns}
    lead = [leaders(row[place] for column, row in means.items() if not index.is_fitted(column, entry.name))
            for place, entry in enumerate(datasets)]
    rows = {column: (*head, *_letters(board, column), *_means(index, datasets, column, board, means[column], lead))
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


def width(board: Board) -> int:
    """Count the columns before the datasets."""
    return 2 + len(board.rules) + board.has_letters


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
    return {column: (_rank(board, column),
                     signed(metric_cell(index, column), column,
                            ranked[column].value if column in ranked else math.nan, control),
                     *(_average(board, rule, column, lead[rule]) for rule in board.rules)) for column in columns}


def signed(cell: Cell, column: Column, value: float, control: float) -> Cell:
    """Mark the name of a column whose average is not above that of the length control."""
    return replace(cell, sign=BELOW) if column[0] != CONTROL and value <= control else cell


def coverage(covered: int, targets: int) -> str:
    """Say how much of a row exists."""
    return f"{covered} of {plural(targets, 'target')}"


def groups(ranked: Iterable[Row], unranked: Iterable[Row]) -> tuple[Group, ...]:
    """Put the ranked rows first, and below them the others."""
    both = (Group(tuple(ranked)), Group(tuple(unranked), UNRANKED))
    return tuple(group for group in both if group.rows)


def with_costs(index: Index, table: Table, at: int) -> Table:
    """Put cost, needs and family of each row's metric into a table, before its column `at`."""
    known = costs(index.results)
    heads = (Heading("Cost", "number", small="s per 1,000", key="cost",
                     title=f"Seconds per 1,000 items on {index.results.run.device}. {MEASURED}"),
             Heading("Needs", "words", key="needs",
                     title="What it needs beside the response, also judging by the datasets that it has scores on"),
             Heading("Family", "words", key="family"))
    widened = tuple(replace(group, rows=tuple((*row[:at], *_costs(known, row), *row[at:]) for row in group.rows))
                    for group in table.groups)
    return replace(table, groups=widened, headings=(*table.headings[:at], *heads, *table.headings[at:]))


def cost_cell(cost: Cost | None) -> Cell:
    """Show what 1,000 items cost; for a composition without its inputs."""
    if cost is None:
        return missing("the metric is not in the report")
    if not math.isfinite(cost.seconds):
        return Cell(MISSING, title="the report has no times of it")
    composite = cost.family == COMPOSITE
    return Cell(_seconds(cost.seconds), value=cost.seconds, small="+ inputs" if composite else "",
                title="to combine the scores of other metrics, whose own cost is not included" if composite else "")


def needs_cell(cost: Cost | None) -> Cell:
    """Say what a metric needs, and in the title what it was trained on."""
    if cost is None:
        return Cell(MISSING, title="the metric is not in the report")
    return Cell(", ".join(cost.needs) or "nothing", title=f"trained on {cost.trained_on}" if cost.trained_on else "")


def _costs(known: Mapping[Column, Cost], row: Row) -> Row:
    cost = known.get(next((cell.key for cell in row if cell.key[0]), ("", "")))
    return (replace(cost_cell(cost), why=""), needs_cell(cost), Cell(cost.family) if cost else needs_cell(None))


def _seconds(value: float) -> str:
    """Write seconds with two significant digits."""
    if value < 0.01:
        return "< 0.01"
    return f"{value:.0f}" if value >= 9.95 else f"{value:.1f}" if value >= 0.995 else f"{value:.2f}"


def _rank(board: Board, column: Column) -> Cell:
    row = board.row(column)
    if row is None or row.rank is None:
        return Cell("")
    return replace(count_cell(row.rank), small=rank_interval(row),
                   title="95 % interval of the rank, over items and datasets" if has_interval(row) else "")


def _average(board: Board, rule: str, column: Column, lead: tuple[float, float]) -> Cell:
    row, complete = board.ranking.get((rule, column)), board.row(column, rule)
    if row is None:
        return Cell(MISSING, title="no ranking under this rule")
    if complete is None:
        return Cell(MISSING, title="no average over an incomplete row", small=coverage(row.covered, row.targets))
    cell = value_cell(row.value, lead)
    return cell if rule == board.rules[0] else replace(cell, small=f"rank {complete.rank}")


def _letters(board: Board, column: Column) -> Row:
    row = board.row(column)
    return (Cell(row.letters if row else ""),) if board.has_letters else ()


def _mean(index: Index, entry: DatasetEntry, column: Column, statistic: str) -> float:
    """Average a dataset's qualities; NaN unless every one that was rated has a value."""
    values = [row.value if (row := index.correlation((entry.name, quality.name), column, statistic)) else math.nan
              for quality in entry.qualities if quality.rated]
    return math.fsum(values) / len(values) if values and all(map(math.isfinite, values)) else math.nan


def _means(index: Index, datasets: Sequence[DatasetEntry], column: Column, board: Board,
           means: Sequence[float], lead: Sequence[tuple[float, float]]) -> Row:
    cells = ((entry, value_cell(mean, best, shaded=True, title=_parts(index, entry, column, board.statistic))
              if math.isfinite(mean) else missing(_why(index, entry, column, board.statistic)))
             for entry, mean, best in zip(datasets, means, lead, strict=True))
    return tuple(fitted_cell(cell) if cell.value is not None and index.is_fitted(column, entry.name) else cell
                 for entry, cell in cells)


def _parts(index: Index, entry: DatasetEntry, column: Column, statistic: str) -> str:
    rows = ((quality.name, index.correlation((entry.name, quality.name), column, statistic))
            for quality in entry.qualities)
    return ", ".join(f"{name} {number(row.value)}" for name, row in rows if row is not None and has_value(row))


def _why(index: Index, entry: DatasetEntry, column: Column, statistic: str) -> str:
    """Give the reasons of the qualities without a value; a reason that all share is said once."""
    targets = [(entry.name, quality.name) for quality in entry.qualities if quality.rated]
    reasons = {target[1]: index.why(target, column, statistic) for target in targets
               if not has_value(index.correlation(target, column, statistic))}
    if not reasons:
        return "nobody rated this dataset"
    if len(set(reasons.values())) == 1:
        return next(iter(reasons.values()))
    return "; ".join(f"{name}: {reason}" for name, reason in reasons.items())
