"""What the tests say over many targets: how often each column beats each other on a board, and how many pairs differ.

Counted is Williams' test of Spearman's correlations, significant by Holm's method among all pairs of a target.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from harness.results.rows import DatasetEntry
from leaderboard.blocks.cells import count_cell, metric_cell, number_cell, shade
from leaderboard.blocks.cells import table as table_of
from leaderboard.blocks.tables import Cell, Heading, Row, Table
from leaderboard.model.boards import Board
from leaderboard.model.index import Column, Index, plural
from leaderboard.model.pairs import HOLM, Matrix, Pairs
from leaderboard.model.slugs import slug

TOP = 15
"""How many columns of a board are compared with each other."""
ITSELF = Cell("·", title="itself")


def wins_table(index: Index, board: Board, pairs: Pairs) -> Table | None:
    """Draw the best columns of a board against each other: on how many targets each wins and loses."""
    ranked = board.ranked
    columns = list(ranked)[:TOP]
    targets = [(entry.name, quality.name) for entry in index.on(board.origin, board.name)
               for quality in entry.qualities]
    tested = [matrix for target in targets if (matrix := pairs.matrix(target)) is not None]
    if len(columns) < 2 or not tested:
        return None
    won = _won(tested, columns)
    rows = (_wins_row(index, ranked[column].rank or 0, columns, place, won, len(tested))
            for place, column in enumerate(columns))
    headings = (Heading("Rank", "rank"), Heading("Metric", "stub"),
                Heading("All", "number", title="wins and losses against all in this table"),
                *(Heading(index.labels[column], "number") for column in columns))
    caption = (f"{board.title}: wins–losses of the row against the column, on "
               f"{plural(len(tested), 'quality', 'qualities')}")
    return table_of(index, board.origin, f"wins-{slug(board.name)}-{slug(board.origin)}", caption, headings, rows,
                    board.name)


def differing_table(index: Index, pairs: Pairs, paths: Mapping[str, str], origin: str) -> Table | None:
    """Draw a row for each target: how many pairs differ, what is best, and how many columns are as good."""
    rows = [_differing_row(index, entry, quality.name, matrix, paths)
            for entry in index.on(origin) for quality in entry.qualities
            if (matrix := pairs.matrix((entry.name, quality.name))) is not None]
    headings = (Heading("Dataset", "stub"), Heading("Quality"), Heading("Items", "number"),
                Heading("Columns", "number"), Heading("Pairs", "number"),
                Heading("Significant", "number", title="of the pairs, p < 0.05 by Holm"), Heading("Best"),
                Heading("Spearman", "number"),
                Heading("As good as the best", "number", title="columns that the best does not beat by Holm, without "
                                                               "the best itself"))
    caption = "How many pairs differ significantly, quality by quality"
    return table_of(index, origin, f"significant-{slug(origin)}", caption, headings, rows) if rows else None


def contexts_table(index: Index, origin: str) -> Table | None:
    """Draw the datasets in which several items share a context, so that rows are not independent."""
    rows = [(Cell(entry.name, link=index.dataset_paths[entry.name]), count_cell(entry.items),
             count_cell(entry.contexts),
             Cell(f"{entry.items / entry.contexts:.1f}", value=entry.items / entry.contexts))
            for entry in index.on(origin) if shares_contexts(entry)]
    headings = (Heading("Dataset", "stub"), Heading("Items", "number"), Heading("Contexts", "number"),
                Heading("Items per context", "number"))
    caption = "Datasets in which items share contexts"
    return table_of(index, origin, f"contexts-{slug(origin)}", caption, headings, rows) if rows else None


def shares_contexts(entry: DatasetEntry) -> bool:
    """Tell whether items of a dataset share contexts."""
    return 0 < entry.contexts < entry.items


def items_range(matrix: Matrix, joined: str) -> str:
    """Write how many items the comparisons are over: one number, or the least and the most."""
    least, most = matrix.least_items, matrix.most_items
    return str(most) if least == most else f"{least}{joined}{most}"


def _won(tested: Sequence[Matrix], columns: Sequence[Column]) -> list[list[int]]:
    """Count on how many targets each column beats each other."""
    won = [[0] * len(columns) for _ in columns]
    for matrix in tested:
        position = {column: place for place, column in enumerate(matrix.columns)}
        for i, first in enumerate(columns):
            for j, second in enumerate(columns):
                both = first in position and second in position
                won[i][j] += int(both and matrix.levels[position[first], position[second]] == HOLM)
    return won


def _wins_row(index: Index, rank: int, columns: Sequence[Column], place: int, won: Sequence[Sequence[int]],
              targets: int) -> Row:
    wins, losses = sum(won[place]), sum(row[place] for row in won)
    cells = (ITSELF if other == place else _wins_cell(index, columns, place, other, won, targets)
             for other in range(len(columns)))
    return (count_cell(rank), metric_cell(index, columns[place]), Cell(f"{wins}–{losses}", value=wins - losses), *cells)


def _wins_cell(index: Index, columns: Sequence[Column], row: int, column: int, won: Sequence[Sequence[int]],
               targets: int) -> Cell:
    wins, losses = won[row][column], won[column][row]
    title = (f"{index.labels[columns[row]]} beats {index.labels[columns[column]]} on {wins} of {targets} qualities and "
             f"loses on {losses}")
    return Cell(f"{wins}–{losses}", value=wins - losses, title=title, shade=shade((wins - losses) / targets))


def _differing_row(index: Index, entry: DatasetEntry, quality: str, matrix: Matrix, paths: Mapping[str, str]) -> Row:
    share = matrix.by_holm / matrix.pairs
    as_good = int((matrix.levels[0] != HOLM).sum()) - 1
    return (Cell(entry.name, link=paths[entry.name]), Cell(quality),
            replace(count_cell(matrix.most_items), text=items_range(matrix, "–")), count_cell(len(matrix.columns)),
            count_cell(matrix.pairs),
            Cell(f"{share:.0%}".replace("%", " %"), value=round(share, 4), title=f"{matrix.by_holm} pairs"),
            metric_cell(index, matrix.columns[0]), number_cell(matrix.values[0]), count_cell(as_good))
