"""Results as plain text for a terminal: the overall boards, then what was skipped, by reason, then what failed.

Beside the averages are, where they are known, the letters of a rank (under `Group`: columns that share one do not
differ significantly) and the seconds that a metric takes for 1,000 items.
"""

from __future__ import annotations

import math
import textwrap
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import replace

from harness.results.rows import Results, Skip
from leaderboard.blocks.boards import LETTERS, cost_cell, dataset_board, groups, headings, row_heads
from leaderboard.blocks.cells import MISSING
from leaderboard.blocks.tables import Cell, Heading, Row, Table
from leaderboard.model.boards import Board, boards, names
from leaderboard.model.cost import costs
from leaderboard.model.index import Column, Index, make_index, plural, real_alone, statistic_title
from leaderboard.pages.front import why_nothing
from leaderboard.pages.methods import by_reason, pairs, without_value
from leaderboard.render.html import BANNER

WIDTH = 110
STATISTICS = 3  # as many as fit on a line
SHORT = {"dev": "by dataset", "test": "by quality"}
"""Headings of the averages under a rule where a line has 110 columns."""

MOST_LETTERS = 12
"""Of more letters the first are shown: names of metrics need the room."""

FEW_DATASETS, FEW_QUALITIES = 3, 5  # results this small are printed in full


def summary(results: Results) -> str:
    """Write results as plain text, at most 110 columns wide; the sample only where there is no real data."""
    results = real_alone(results)
    index, every = make_index(results), names(results)
    parts = [text(_board_table(index, boards(results, name)[:STATISTICS])) for name in every]
    if every and any(entry.kind == "sample" for entry in results.datasets):
        parts.insert(0, textwrap.fill(BANNER, WIDTH) + "\n")
    nothing = ["No ranking.\n" + textwrap.fill(plain(why_nothing(results)), WIDTH, break_on_hyphens=False) + "\n"]
    skipped = [_entry("Skipped", len(rows), reason, pairs(rows)) for reason, rows in by_reason(results.skips)]
    failed = [_entry("Failed", len(rows), reason, pairs(rows)) for reason, rows in by_reason(
        Skip(row.dataset, row.metric, row.error) for row in results.failures)]
    empty = [textwrap.fill(plain(f"No value: {pairs(rows)}: {reason}"), WIDTH, subsequent_indent="  ",
                           break_on_hyphens=False) + "\n" for reason, rows in without_value(results)]
    few = (index.correlations and len(index.datasets) <= FEW_DATASETS
           and all(len(entry.qualities) <= FEW_QUALITIES for entry in index.datasets))
    full = [text(dataset_board(index, entry, index.statistics[0])) for entry in index.datasets] if few else []
    return "\n".join([*full, *(parts or nothing), *empty, *skipped, *failed])


def text(table: Table, width: int = WIDTH) -> str:
    """Render a table for the terminal, the names cut where it would not fit."""
    rows = [tuple(Cell(heading.text) for heading in table.headings), *table.rows]
    words = [list(map(_words, row)) for row in rows]
    sizes = [max(map(_width, column)) for column in zip(*words, strict=True)]
    stub = next((place for place, heading in enumerate(table.headings) if heading.kind == "stub"), 0)
    sizes[stub] = max(8, min(sizes[stub], width - sum(sizes) + sizes[stub] - 2 * (len(sizes) - 1)))
    head, *lines = [_cut(line, width) for row, own in zip(rows, words, strict=True)
                    for line in _lines(row, own, sizes, table.headings, stub)]
    title = textwrap.fill(plain(f"{table.caption}. {f'Data: {table.data}.' if table.data else ''}"), width,
                          break_on_hyphens=False)
    return "\n".join([title, "", head, "-" * max(map(len, (head, *lines))), *lines, ""])


def plain(value: str) -> str:
    """Keep what a terminal can print: no control character, no line break; an ASCII minus."""
    printable = value if value.isprintable() else "".join(sign if sign.isprintable() else " " for sign in value)
    return " ".join(printable.replace("−", "-").split())


def _board_table(index: Index, every: Sequence[Board]) -> Table:
    """Set the averages of the first statistic, and of the others under the first rule, side by side."""
    first, others = every[0], every[1:]
    beside = [row_heads(index, board) for board in others]
    behind = _behind(index, first)
    rows = {column: (*head, *(rows[column][2]._replace(small="") if column in rows else Cell(MISSING)
                              for rows in beside), *(cell(column) for cell in behind.values()))
            for column, head in row_heads(index, first).items()}
    averages = (replace(heading, text=SHORT.get(heading.key, heading.text)) for heading in headings(first))
    return Table(
        anchor="", caption=f"{first.caption}, averages",
        headings=(*averages, *(Heading(statistic_title(board.statistic), "number") for board in others), *behind),
        groups=groups((row for column, row in rows.items() if first.row(column)),
                      (row for column, row in rows.items() if not first.row(column))),
        data=index.data(first.name))


def _behind(index: Index, board: Board) -> dict[Heading, Callable[[Column], Cell]]:
    """Return what follows the averages, where it is known: the letters of the ranks, and the cost."""
    known = costs(index.results)

    def letters(column: Column) -> Cell:
        row = board.row(column)
        every = row.letters if row else ""
        return Cell(every if len(every) <= MOST_LETTERS else every[:MOST_LETTERS - 1].rstrip("'") + "…")

    def cost(column: Column) -> Cell:
        return Cell(cost_cell(known.get(column)).text)

    priced = any(math.isfinite(known[column].seconds) for column in board.columns if column in known)
    return {**({LETTERS: letters} if board.has_letters else {}),
            **({Heading("s/1,000", "number"): cost} if priced else {})}


def _entry(what: str, count: int, reason: str, which: str) -> str:
    line = plain(f"{what} {plural(count, 'pair')} of metric and dataset: {reason} ({which})")
    return textwrap.fill(line, WIDTH, subsequent_indent="  ", break_on_hyphens=False) + "\n"


def _width(value: str) -> int:
    """Count the places that a text takes in a terminal: two for a wide sign, none for one set over another."""
    return len(value) if value.isascii() else sum(
        0 if unicodedata.combining(sign) else 1 + (unicodedata.east_asian_width(sign) in "WF") for sign in value)


def _cut(value: str, width: int) -> str:
    """Return the first signs that take no more places."""
    return value if _width(value) <= width else next(
        value[:size] for size in range(len(value), -1, -1) if _width(value[:size]) <= width)


def _words(cell: Cell) -> str:
    """Write a cell on one line: its text, the models in brackets, the small text."""
    model = f"({cell.model})" if cell.model else ""
    return plain(" ".join(filter(None, (cell.text, model, cell.small))))


def _lines(row: Row, words: list[str], sizes: Sequence[int], headings: Sequence[Heading], stub: int) -> list[str]:
    """Write a row on a line, `words` being its cells; models that do not fit are on a second one."""
    name, below = row[stub], ""
    if name.model and _width(words[stub]) > sizes[stub]:
        below = " " * (sum(sizes[:stub]) + 2 * stub + 2) + plain(f"({name.model})")
        words = [*words[:stub], _words(name._replace(model="")), *words[stub + 1:]]
    words = [value if _width(value) <= size else _cut(value, size - 1) + "…"
             for value, size in zip(words, sizes, strict=True)]
    spaces = [" " * (size - _width(value)) for value, size in zip(words, sizes, strict=True)]
    line = "  ".join(space + value if heading.kind in ("number", "rank") else value + space
                     for value, space, heading in zip(words, spaces, headings, strict=True)).rstrip()
    return [line, below] if below else [line]
