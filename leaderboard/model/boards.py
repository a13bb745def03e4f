"""The report's ranking as boards: one per split, origin and statistic, with an average under each rule.

A column that covers fewer than all cells has no average and no rank, whatever its standing says.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from harness.results.rows import RankingRow, Results
from leaderboard.blocks.cells import MISSING, leaders, value_cell
from leaderboard.blocks.grid import CONTROL, coverage, metric_cell, signed
from leaderboard.blocks.tables import Cell, Heading, Row
from leaderboard.model.index import Index, Key, ordered, split_order, statistic_title

BOARDS = {"dev": "Development datasets", "dev-references": "Development datasets with references",
          "test": "Test datasets", "test-references": "Test datasets with references"}
RULES = {"dev": ("Mean of datasets", "Mean over the qualities of each dataset, then over the datasets"),
         "test": ("Mean of qualities", "Mean over all qualities of all datasets at once")}


@dataclass(frozen=True, slots=True)
class Board:
    """The ranking of one split, origin and statistic; the first rule ranks the rows."""

    name: str
    origin: str
    statistic: str
    rules: tuple[str, ...]
    ranking: dict[tuple[str, Key], RankingRow]

    @property
    def title(self) -> str:
        """What the board is called."""
        return BOARDS.get(self.name, self.name)

    @property
    def caption(self) -> str:
        """What stands over its table."""
        return f"{self.title}: {statistic_title(self.statistic)}"

    @property
    def keys(self) -> list[Key]:
        """The ranked columns by rank, then the others from the most complete."""
        return sorted({key for _, key in self.ranking}, key=self._order)

    def complete(self, rule: str, key: Key) -> RankingRow | None:
        """Return a standing only if it has an average and a rank."""
        row = self.ranking.get((rule, key))
        return row if row is not None and complete(row) else None

    def ranked(self, key: Key) -> bool:
        """Tell whether a column has a place."""
        return self.complete(self.rules[0], key) is not None

    def _order(self, key: Key) -> tuple[float, int, Key]:
        row, shown = self.ranking.get((self.rules[0], key)), self.complete(self.rules[0], key)
        rank = math.inf if shown is None or shown.rank is None else shown.rank
        return (rank, -row.covered if row else 0, key)


def complete(row: RankingRow) -> bool:
    """Tell whether a standing covers all cells, so that it has an average and a rank."""
    return row.rank is not None and 0 < row.cells <= row.covered and math.isfinite(row.value)


def names(results: Results) -> list[tuple[str, str]]:
    """List the boards as split and origin: development first, real before sample."""
    found = {(row.board, row.origin) for row in results.ranking}
    return sorted(found, key=lambda pair: (split_order(pair[0]), pair[1]))


def boards(results: Results, name: str, origin: str) -> tuple[Board, ...]:
    """Collect the boards of a split and an origin, one per statistic, Spearman first."""
    rows = [row for row in results.ranking if (row.board, row.origin) == (name, origin)]
    return tuple(_board([row for row in rows if row.statistic == statistic])
                 for statistic in ordered(row.statistic for row in rows))


def headings(board: Board) -> tuple[Heading, ...]:
    """Head the columns: rank, metric, and an average under each rule."""
    rules = ((rule, RULES.get(rule, (rule, f"Ranking rule {rule}"))) for rule in board.rules)
    known = any(math.isfinite(row.low) for row in board.ranking.values())
    return (Heading("Rank, 95 %" if known else "Rank", "rank", key="rank"), Heading("Metric", "stub", key="metric"),
            *(Heading(text, "number", title=title, key=rule) for rule, (text, title) in rules))


def heads(index: Index, board: Board) -> dict[Key, Row]:
    """Begin the rows, in the order of the board: rank, metric, average under each rule."""
    lead = {rule: leaders(row.value for key in board.keys if (row := board.complete(rule, key)))
            for rule in board.rules}
    bar = max((row.value for key in board.keys
               if key[0] == CONTROL and (row := board.complete(board.rules[0], key))), default=math.nan)
    return {key: (_rank(board, key), signed(metric_cell(index, key), key, _first(board, key), bar),
                  *(_average(board, rule, key, lead[rule]) for rule in board.rules)) for key in board.keys}


def _first(board: Board, key: Key) -> float:
    row = board.complete(board.rules[0], key)
    return math.nan if row is None else row.value


def _board(rows: Sequence[RankingRow]) -> Board:
    name = rows[0].board
    own = name.partition("-")[0]  # the rule named like the split ranks the rows
    rules = sorted({row.rule for row in rows}, key=lambda rule: (rule != own, rule))
    return Board(name, rows[0].origin, rows[0].statistic, tuple(rules),
                 {(row.rule, (row.metric, row.column)): row for row in rows})


def _rank(board: Board, key: Key) -> Cell:
    row = board.complete(board.rules[0], key)
    if row is None:
        return Cell("")
    known = math.isfinite(row.low) and math.isfinite(row.high)
    return Cell(str(row.rank), value=row.rank, small=f"{row.low:.0f}–{row.high:.0f}" if known else "",
                title="95 % interval of the rank, over items and datasets" if known else "")


def _average(board: Board, rule: str, key: Key, lead: tuple[float, float]) -> Cell:
    row, shown = board.ranking.get((rule, key)), board.complete(rule, key)
    if row is None:
        return Cell(MISSING, title="no standing under this rule")
    if shown is None:
        return Cell(MISSING, title="no average over an incomplete row",
                    small=coverage(row.covered, row.cells))
    cell = value_cell(row.value, lead)
    return cell if rule == board.rules[0] else replace(cell, small=f"rank {shown.rank}")
