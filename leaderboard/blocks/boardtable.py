"""An overall board as a table: rank and averages from the report's ranking, the mean of every dataset beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence

from harness.results.rows import DatasetEntry
from leaderboard.blocks.cells import leaders, learned_cell, missing, number, value_cell
from leaderboard.blocks.grid import groups, marked
from leaderboard.blocks.tables import Cell, Heading, Row, Table
from leaderboard.model.boards import Board, headings, heads
from leaderboard.model.index import Index, Key, there
from leaderboard.model.numbers import Spot
from leaderboard.model.slugs import slug

LETTERS = Heading("Group", "words", key="letters", title="Columns that share a letter cannot be told apart by the "
                                                         "draws behind the intervals of the ranks")


def width(board: Board) -> int:
    """Count the columns before the datasets."""
    return 2 + len(board.rules) + lettered(board)


def lettered(board: Board) -> bool:
    """Tell whether the report has letters for a board."""
    return any(row.letters for row in board.ranking.values())


def table(index: Index, board: Board, spots: Sequence[Spot] = (), *, folded: bool = False) -> Table:
    """Draw a board; `spots` are the qualities that the scripts rank it anew over."""
    datasets = index.on(board.origin, board.name)
    means = {key: [_mean(index, entry, key, board.statistic) for entry in datasets] for key in board.keys}
    lead = [leaders(row[column] for key, row in means.items() if (key[0], entry.name) not in index.learned)
            for column, entry in enumerate(datasets)]
    rows = {key: (*head, *_letters(board, key), *_cells(index, datasets, key, board.statistic, means[key], lead))
            for key, head in heads(index, board).items()}
    return Table(
        anchor="-".join(map(slug, (board.name, board.origin, board.statistic))),
        caption=board.caption,
        headings=(*headings(board), *((LETTERS,) if lettered(board) else ()), *(
            Heading(entry.name, "number", title=entry.title, link=index.dataset_paths[entry.name], cells=tuple(
                place for place, (other, _) in enumerate(spots) if other.name == entry.name))
            for entry in datasets)),
        groups=groups((row for key, row in rows.items() if board.ranked(key)),
                      (row for key, row in rows.items() if not board.ranked(key))),
        data=marked(index.data(board.origin, board.name), any((key[0], entry.name) in index.learned
                                                              for key in means for entry in datasets)),
        sample=board.origin == "sample",
        folded=board.caption if folded else "",
    )


def _letters(board: Board, key: Key) -> Row:
    row = board.complete(board.rules[0], key)
    return (Cell(row.letters if row else ""),) if lettered(board) else ()


def _mean(index: Index, entry: DatasetEntry, key: Key, statistic: str) -> float:
    """Average a dataset's qualities; NaN unless every one that was rated has a value."""
    values = [row.value if (row := index.correlation(entry.name, quality.name, key, statistic)) else math.nan
              for quality in entry.qualities if quality.rated]
    return math.fsum(values) / len(values) if values and all(map(math.isfinite, values)) else math.nan


def _cells(index: Index, datasets: Sequence[DatasetEntry], key: Key, statistic: str,
           means: Sequence[float], lead: Sequence[tuple[float, float]]) -> Row:
    shown = (value_cell(mean, best, shaded=True, title=_parts(index, entry, key, statistic))
             if math.isfinite(mean) else missing(_why(index, entry, key, statistic))
             for entry, mean, best in zip(datasets, means, lead, strict=True))
    return tuple(learned_cell(cell) if cell.value is not None and (key[0], entry.name) in index.learned else cell
                 for cell, entry in zip(shown, datasets, strict=True))


def _parts(index: Index, entry: DatasetEntry, key: Key, statistic: str) -> str:
    rows = ((quality.name, index.correlation(entry.name, quality.name, key, statistic))
            for quality in entry.qualities)
    return ", ".join(f"{name} {number(row.value)}" for name, row in rows if row is not None and there(row))


def _why(index: Index, entry: DatasetEntry, key: Key, statistic: str) -> str:
    """Give the reasons of the qualities without a value; one for all is said once."""
    gone = {quality.name: index.why(entry.name, quality.name, key, statistic) for quality in entry.qualities
            if quality.rated and not there(index.correlation(entry.name, quality.name, key, statistic))}
    if not gone:
        return "nobody rated this dataset"
    if len(set(gone.values())) == 1:
        return next(iter(gone.values()))
    return "; ".join(f"{name}: {reason}" for name, reason in gone.items())
