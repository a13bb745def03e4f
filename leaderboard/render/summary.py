"""The report in a terminal: the overall boards, then what was skipped, by reason, then what failed.

Beside the averages stand, where they are known, the letters of a rank (columns that share one under `Group` cannot be
told apart) and the seconds that a metric takes for 1,000 items.
"""

from __future__ import annotations

import math
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from harness.results.rows import Results
from leaderboard.blocks.boardtable import LETTERS, lettered
from leaderboard.blocks.cells import MISSING
from leaderboard.blocks.grid import groups
from leaderboard.blocks.tables import Cell, Heading, Row, Table
from leaderboard.model.boards import Board, boards, headings, heads, names
from leaderboard.model.cost import Profile, cost_cell, profiles
from leaderboard.model.index import Index, Key, make_index, statistic_title
from leaderboard.pages.about import cells, skips
from leaderboard.pages.dataset import tables
from leaderboard.pages.overall import why_nothing
from leaderboard.render.html import BANNER, MIXED, WIDTH, plain, text

MOST = 3  # as many statistics as fit on a line
SHORT = {"dev": "by dataset", "test": "by quality"}
"""What an average under a rule is called where a line has 110 columns."""

LETTERED = 12
"""Of more letters the first are shown: names of metrics come before them on a line."""

FEW, NARROW = 3, 5  # so many datasets, of so many qualities, are printed in full


def write(results: Results) -> str:
    """Write a report as plain text, at most 110 columns wide."""
    index = make_index(results)
    parts = [text(_table(index, boards(results, name, origin)[:MOST])) for name, origin in names(results)]
    sampled = [place for place, (_, origin) in enumerate(names(results)) if origin == "sample"]
    if sampled:  # above the first board it is true of
        mixed = len({origin for _, origin in names(results)}) > 1
        parts.insert(sampled[0], textwrap.fill(f"{BANNER} {MIXED}" if mixed else BANNER, WIDTH) + "\n")
    nothing = ["No ranking.\n" + textwrap.fill(plain(why_nothing(results)), WIDTH) + "\n"]
    return "\n".join([*_cells(results), *(parts or nothing), *_skips(results), *_failures(results)])


def _cells(results: Results) -> list[str]:
    """Every quality of a few datasets, where the terminal has room for it."""
    index = make_index(results)
    few = len(index.datasets) <= FEW and all(len(entry.qualities) <= NARROW for entry in index.datasets)
    return [text(tables(index, entry)[0]) for entry in index.datasets] if few and results.correlations else []


def _table(index: Index, shown: Sequence[Board]) -> Table:
    """Set the averages of the first statistic, and of the others under the first rule, side by side."""
    first, others = shown[0], shown[1:]
    beside = [heads(index, board) for board in others]
    behind = _behind(first, profiles(index.results))
    rows = {key: (*head, *_others(key, beside), *(cell(key) for cell in behind.values()))
            for key, head in heads(index, first).items()}
    averages = (replace(heading, text=SHORT.get(heading.key, heading.text)) for heading in headings(first))
    return Table(
        anchor="", caption=f"{first.caption}, averages",
        headings=(*averages, *(Heading(statistic_title(board.statistic), "number") for board in others), *behind),
        groups=groups((row for key, row in rows.items() if first.ranked(key)),
                      (row for key, row in rows.items() if not first.ranked(key))),
        data=index.data(first.origin, first.name))


def _behind(board: Board, costs: Mapping[Key, Profile]) -> dict[Heading, Callable[[Key], Cell]]:
    """What stands behind the averages, where it is known: the letters of the ranks, and the cost."""
    def letters(key: Key) -> Cell:
        row = board.complete(board.rules[0], key)
        known = row.letters if row else ""
        return Cell(known if len(known) <= LETTERED else known[:LETTERED - 1].rstrip("'") + "…")

    def cost(key: Key) -> Cell:
        return Cell(cost_cell(costs[key]).text if key in costs else MISSING)

    priced = any(math.isfinite(costs[key].cost) for _, key in board.ranking if key in costs)
    known = ((lettered(board), LETTERS, letters), (priced, Heading("s/1,000", "number"), cost))
    return {heading: cell for there, heading, cell in known if there}


def _others(key: Key, beside: Sequence[dict[Key, Row]]) -> Row:
    return tuple(replace(rows[key][2], small="") if key in rows else Cell(MISSING) for rows in beside)


def _skips(results: Results) -> list[str]:
    return [_entry("Skipped", len(rows), reason, cells(rows)) for reason, rows in skips(results)]


def _failures(results: Results) -> list[str]:
    rows = sorted(results.failures, key=lambda row: (row.metric, row.dataset, row.error))
    return [_entry("Failed", 1, row.error, f"{row.metric} on {row.dataset}") for row in rows]


def _entry(what: str, count: int, reason: str, which: str) -> str:
    pairs = "1 pair" if count == 1 else f"{count} pairs"
    line = plain(f"{what} {pairs} of metric and dataset: {reason} ({which})")
    return textwrap.fill(line, WIDTH, subsequent_indent="  ", break_on_hyphens=False) + "\n"

