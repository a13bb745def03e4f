"""The ranking as boards: one per split, origin and statistic, with an average under each rule.

A column that lacks a target has no average and no rank, whatever its ranking row says.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from harness.results.rows import RankingRow, Results
from leaderboard.model.index import Column, is_complete, ordered, split_order, statistic_title

BOARDS = {"dev": "Development datasets", "dev-references": "Development datasets with references",
          "test": "Test datasets", "test-references": "Test datasets with references",
          "own": "Datasets of one's own", "own-references": "Datasets of one's own with references",
          "more": "Further datasets", "more-references": "Further datasets with references"}
RULES = {"dev": ("Mean of datasets", "Mean over the qualities of each dataset, then over the datasets"),
         "test": ("Mean of qualities", "Mean over all qualities of all datasets at once")}


@dataclass(frozen=True, slots=True)
class Board:
    """The ranking of one split, origin and statistic; the first rule ranks the rows."""

    name: str
    origin: str
    statistic: str
    rules: tuple[str, ...]
    ranking: dict[tuple[str, Column], RankingRow]

    @property
    def title(self) -> str:
        """The title of the board."""
        return BOARDS.get(self.name, self.name)

    @property
    def caption(self) -> str:
        """The caption of its table."""
        return f"{self.title}: {statistic_title(self.statistic)}"

    @property
    def columns(self) -> list[Column]:
        """The ranked columns by rank, then the others from the most complete."""
        return sorted({column for _, column in self.ranking}, key=self._order)

    def row(self, column: Column, rule: str = "") -> RankingRow | None:
        """Return a ranking row only if it has an average and a rank; under the board's own rule if none is named."""
        row = self.ranking.get((rule or self.rules[0], column))
        return row if row is not None and is_complete(row) else None

    @property
    def ranked(self) -> dict[Column, RankingRow]:
        """The columns that have a rank, the best first."""
        return {column: row for column in self.columns if (row := self.row(column)) is not None}

    @property
    def has_letters(self) -> bool:
        """Whether the results have letters for this board."""
        return any(row.letters for row in self.ranking.values())

    def _order(self, column: Column) -> tuple[float, int, Column]:
        row, complete = self.ranking.get((self.rules[0], column)), self.row(column)
        rank = math.inf if complete is None or complete.rank is None else complete.rank
        return (rank, -row.covered if row else 0, column)


def names(results: Results) -> list[tuple[str, str]]:
    """List the boards of all qualities as split and origin: development first, real before sample."""
    return sorted({(row.board, row.origin) for row in results.ranking if ":" not in row.board},
                  key=lambda pair: (split_order(pair[0]), pair[1]))


def boards(results: Results, name: str, origin: str) -> tuple[Board, ...]:
    """Collect the boards of a split and an origin, one per statistic, Spearman first."""
    rows = [row for row in results.ranking if (row.board, row.origin) == (name, origin)]
    return tuple(_board([row for row in rows if row.statistic == statistic])
                 for statistic in ordered(row.statistic for row in rows))


def has_interval(row: RankingRow) -> bool:
    """Tell whether the rank has a 95 % interval."""
    return math.isfinite(row.low) and math.isfinite(row.high)


def rank_interval(row: RankingRow) -> str:
    """Write the 95 % interval of a rank; nothing where there is none."""
    return f"{row.low:.0f}–{row.high:.0f}" if has_interval(row) else ""


def _board(rows: Sequence[RankingRow]) -> Board:
    name = rows[0].board
    own = name.partition("-")[0]  # the rule named like the split ranks the rows
    rules = sorted({row.rule for row in rows}, key=lambda rule: (rule != own, rule))
    return Board(name, rows[0].origin, rows[0].statistic, tuple(rules),
                 {(row.rule, (row.metric, row.column)): row for row in rows})
