"""The ranking as boards: one per split or dimension and statistic, with an average under each rule.

A column without a value on some target has no average and no rank.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from harness.results.rows import BoardId, RankingRow, Results
from harness.statistics import statistic_title
from leaderboard.model.index import Column, once, ordered, split_order

TITLES = {"dev": "Development", "test": "Test", "recent": "Recent", "own": "Your own", "more": "Further"}
BOARDS = {f"{split}{part}": f"{title} datasets{words}" for split, title in TITLES.items()
          for part, words in (("", ""), ("-references", " with references"))}
RULES = {"dev": "Mean of datasets", "test": "Mean of qualities"}
"""The mean over the qualities of each dataset and then over datasets; the mean over all qualities of all datasets."""


@dataclass(frozen=True)
class Board:
    """The ranking of one split or dimension and statistic; the first rule ranks the rows."""

    name: str
    statistic: str
    rules: tuple[str, ...]
    ranking: dict[tuple[str, Column], RankingRow]

    @property
    def id(self) -> BoardId:
        return BoardId.parse(self.name)

    @property
    def caption(self) -> str:
        split, language = self.id.split, self.id.part
        in_language = f"{BOARDS[split]} in {language}" if language and split in BOARDS else self.name
        return f"{BOARDS.get(self.name, in_language)}: {statistic_title(self.statistic)}"

    @cached_property
    def columns(self) -> list[Column]:
        """Return the ranked columns by rank, then the others from the most complete."""
        def order(column: Column) -> tuple[float, int, Column]:
            row = self.ranking.get((self.rules[0], column))
            rank = row.rank if row and row.complete else None
            return (math.inf if rank is None else rank, -row.covered if row else 0, column)

        return sorted({column for _, column in self.ranking}, key=order)

    def row(self, column: Column, rule: str = "") -> RankingRow | None:
        """Return the ranking row of a column, None if it is incomplete; by default under the rule of the board."""
        row = self.ranking.get((rule or self.rules[0], column))
        return row if row is not None and row.complete else None

    @cached_property
    def ranked(self) -> dict[Column, RankingRow]:
        """Return the complete rows by column, the best first."""
        return {column: row for column in self.columns if (row := self.row(column)) is not None}


@once
def all_boards(results: Results) -> tuple[Board, ...]:
    """Collect all boards by name, those of single dimensions included, Spearman first."""
    rows: dict[str, dict[str, list[RankingRow]]] = {}
    for row in results.ranking:
        rows.setdefault(row.board, {}).setdefault(row.statistic, []).append(row)
    return tuple(_board(name, statistic, rows[name][statistic]) for name in sorted(rows)
                 for statistic in ordered(rows[name]))


def overall_boards(results: Results) -> dict[str, list[Board]]:
    """Return the boards of all qualities by name, development first; each name has a board per statistic."""
    boards: dict[str, list[Board]] = defaultdict(list)
    for board in sorted(all_boards(results), key=lambda board: split_order(board.name)):
        if not board.id.dimension:
            boards[board.name].append(board)
    return boards


def has_interval(row: RankingRow) -> bool:
    return math.isfinite(row.low) and math.isfinite(row.high)


def rank_interval(row: RankingRow) -> str:
    """Format the 95 % interval of a rank; "" if there is none."""
    return f"{row.low:.0f}–{row.high:.0f}" if has_interval(row) else ""


def _board(name: str, statistic: str, rows: Sequence[RankingRow]) -> Board:
    split = BoardId.parse(name).split  # the rule named like the split ranks the rows
    rules = sorted({row.rule for row in rows}, key=lambda rule: (rule != split, rule))
    return Board(name, statistic, tuple(rules), {(row.rule, (row.metric, row.column)): row for row in rows})
