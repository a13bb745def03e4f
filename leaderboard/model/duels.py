"""What the tests say over many qualities: who beats whom how often on a board, and how many pairs are told apart where.

Counted is Williams' test of Spearman's correlations, significant by Holm's method among all pairs of a quality.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from harness.results.rows import DatasetEntry
from leaderboard.blocks.cells import number, shade
from leaderboard.blocks.grid import metric_cell
from leaderboard.blocks.matrix import SURE, Matrix, Place, Way
from leaderboard.blocks.tables import Cell, Group, Heading, Row, Table
from leaderboard.model.boards import Board
from leaderboard.model.index import Index, Key, origin_of
from leaderboard.model.slugs import slug

WILLIAMS: Way = ("spearman", "williams")
TOP = 15
"""So many columns of a board are set against each other."""
NONE = Cell("·", title="itself")

Squares = Mapping[Place, Mapping[Way, Matrix]]


def duels(index: Index, board: Board, squares: Squares) -> Table | None:
    """The best columns of a board against each other: on how many qualities each wins and loses."""
    keys = [key for key in board.keys if board.ranked(key)][:TOP]
    places = [(entry.name, quality.name) for entry in index.on(board.origin, board.name) for quality in entry.qualities]
    tested = [one[WILLIAMS] for place in places if WILLIAMS in (one := squares.get(place, {}))]
    if len(keys) < 2 or not tested:
        return None
    won = _won(tested, keys)
    rows = tuple(_row(index, board, keys, place, won, len(tested)) for place in range(len(keys)))
    qualities = "1 quality" if len(tested) == 1 else f"{len(tested)} qualities"
    return Table(
        anchor=f"duels-{slug(board.name)}-{slug(board.origin)}",
        caption=f"{board.title}: wins–losses of the row against the column, on {qualities}",
        headings=(Heading("Rank", "rank"), Heading("Metric", "stub"),
                  Heading("All", "number", title="wins and losses against all in this table"),
                  *(Heading(index.labels[key], "number") for key in keys)),
        groups=(Group(rows),), data=index.data(board.origin, board.name), sample=board.origin == "sample")


def told_apart(index: Index, squares: Squares, paths: Mapping[str, str], origin: str) -> Table | None:
    """A row for each quality: how many pairs are told apart, what is best, and how many cannot be told from it."""
    rows = tuple(_quality(index, entry, quality.name, squares[entry.name, quality.name][WILLIAMS], paths)
                 for entry in index.on(origin) for quality in entry.qualities
                 if WILLIAMS in squares.get((entry.name, quality.name), {}))
    if not rows:
        return None
    return Table(
        anchor=f"told-apart-{slug(origin)}", caption="How many pairs are told apart, quality by quality",
        headings=(Heading("Dataset", "stub"), Heading("Quality"), Heading("Items", "number"),
                  Heading("Columns", "number"), Heading("Pairs", "number"),
                  Heading("Told apart", "number", title="of the pairs, p < 0.05 by Holm"), Heading("Best"),
                  Heading("Spearman", "number"),
                  Heading("As good as the best", "number", title="columns that the best does not beat by Holm, the "
                                                                 "best left out")),
        groups=(Group(rows),), data=index.data(origin), sample=origin == "sample")


def shared_contexts(index: Index, origin: str) -> Table | None:
    """The datasets in which several items answer one context, so that rows are not independent."""
    rows = tuple((Cell(entry.name, link=index.dataset_paths[entry.name]), Cell(str(entry.items), value=entry.items),
                  Cell(str(entry.contexts), value=entry.contexts),
                  Cell(f"{entry.items / entry.contexts:.1f}", value=entry.items / entry.contexts))
                 for entry in index.on(origin) if shares(entry))
    if not rows:
        return None
    return Table(
        anchor=f"contexts-{slug(origin)}", caption="Datasets in which items share contexts",
        headings=(Heading("Dataset", "stub"), Heading("Items", "number"), Heading("Contexts", "number"),
                  Heading("Items a context", "number")),
        groups=(Group(rows),), data=index.data(origin), sample=origin == "sample")


def shares(entry: DatasetEntry) -> bool:
    """Tell whether items of a dataset share contexts."""
    return 0 < entry.contexts < entry.items


def _won(tested: Sequence[Matrix], keys: Sequence[Key]) -> list[list[int]]:
    """On how many qualities each column beats each other."""
    won = [[0] * len(keys) for _ in keys]
    for one in tested:
        position = {key: place for place, key in enumerate(one.keys)}
        for i, first in enumerate(keys):
            for j, second in enumerate(keys):
                if first in position and second in position and one.ahead[position[first], position[second]] == SURE:
                    won[i][j] += 1
    return won


def _row(index: Index, board: Board, keys: Sequence[Key], place: int, won: Sequence[Sequence[int]],
         qualities: int) -> Row:
    standing = board.complete(board.rules[0], keys[place])
    rank = standing.rank if standing is not None else None
    wins, losses = sum(won[place]), sum(row[place] for row in won)
    cells = (NONE if other == place else _duel(index, keys, place, other, won, qualities)
             for other in range(len(keys)))
    return (Cell(str(rank), value=rank), metric_cell(index, keys[place]),
            Cell(f"{wins}–{losses}", value=wins - losses), *cells)


def _duel(index: Index, keys: Sequence[Key], row: int, column: int, won: Sequence[Sequence[int]],
          qualities: int) -> Cell:
    wins, losses = won[row][column], won[column][row]
    told = (f"{index.labels[keys[row]]} beats {index.labels[keys[column]]} on {wins} of {qualities} qualities and is "
            f"beaten on {losses}")
    return Cell(f"{wins}–{losses}", value=wins - losses, title=told, shade=shade((wins - losses) / qualities))


def _quality(index: Index, entry: DatasetEntry, quality: str, one: Matrix, paths: Mapping[str, str]) -> Row:
    best = one.keys[0]
    share = one.sure / one.pairs
    alike = int((one.ahead[0] != SURE).sum()) - 1
    items = str(one.most) if one.least == one.most else f"{one.least}–{one.most}"
    return (Cell(entry.name, link=paths[entry.name]), Cell(quality), Cell(items, value=one.most),
            Cell(str(len(one.keys)), value=len(one.keys)), Cell(str(one.pairs), value=one.pairs),
            Cell(f"{share:.0%}".replace("%", " %"), value=round(share, 4), title=f"{one.sure} pairs"),
            metric_cell(index, best), Cell(number(one.values[0]), value=one.values[0]), Cell(str(alike), value=alike))


def origins(index: Index) -> tuple[str, ...]:
    """The kinds of data of a run, real before sample."""
    return tuple(sorted({origin_of(entry) for entry in index.datasets}))
