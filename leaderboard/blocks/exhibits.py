"""An exhibit as the sections of a page: its pictures and tables, remarks on them, and how to make it again."""

from __future__ import annotations

import re
from collections.abc import Iterable

from harness.results.rows import Exhibit, Grid
from leaderboard.blocks.drawings import Unsafe, sanitised
from leaderboard.blocks.tables import Block, Cell, Group, Heading, Picture, Prose, Row, Section, Table
from leaderboard.model.index import DATA
from leaderboard.model.slugs import slugs

NUMBER = re.compile(r"[−-]?\d+(\.\d+)?(e[−-]?\d+)?")
"""How a cell of numbers begins: 0.31 ± 0.02, 88.3 %, 12 of 54."""
BLANK = frozenset({"", "–"})
SAMPLE = re.compile(r"\bsample\b")
REAL = re.compile(r"\breal\b")


def sections(exhibit: Exhibit) -> tuple[Section, ...]:
    """Lay an exhibit out: pictures, tables under a heading each, remarks, the command."""
    names = [f"{place}-{grid.name}" for place, grid in enumerate(exhibit.grids)]
    anchors = slugs(names)
    pictures = tuple(_picture(svg, text) for svg, text in exhibit.pictures)
    every = (
        Section("pictures", "At a glance", pictures),
        *(Section(f"table-{anchors[name]}", _title(exhibit.grids, grid), (_table(grid, f"grid-{anchors[name]}"),))
          for name, grid in zip(names, exhibit.grids, strict=True)),
        Section("remarks", "How to read it", tuple(map(Prose, exhibit.remarks))),
        Section("repeat", "How to make it again", (Prose(exhibit.command, code=True),) if exhibit.command else ()))
    return tuple(section for section in every if section.blocks)


def on_sample(exhibit: Exhibit) -> set[bool]:
    """Tell of which kinds the tables are: on the bundled sample (true), or on other data (false)."""
    return {_on_sample(grid) for grid in exhibit.grids}


def _on_sample(grid: Grid) -> bool:
    """Tell it from the words that name the data of a table."""
    return grid.data == DATA["sample"] or bool(SAMPLE.search(grid.data) and not REAL.search(grid.data))


def _title(grids: Iterable[Grid], grid: Grid) -> str:
    """Return the caption, with the data where several tables have the same one."""
    same = sum(other.caption == grid.caption for other in grids) > 1
    return f"{grid.caption}: {grid.data}" if same and grid.data else grid.caption


def _table(grid: Grid, anchor: str) -> Table:
    columns = list(zip(*grid.rows, strict=True)) or [()] * len(grid.head)
    headings = (Heading(grid.head[0], "stub"), *(Heading(text, "number" if _numeric(column) else "text")
                                                 for text, column in zip(grid.head[1:], columns[1:], strict=True)))
    return Table(anchor, grid.caption, headings, (Group(tuple(map(_row, grid.rows))),),
                 data=grid.data or "not stated", sample=_on_sample(grid))


def _row(texts: Iterable[str]) -> Row:
    """Cells are sorted by the number that they begin with."""
    return tuple(Cell(text, value=float(number[0].replace("−", "-")) if (number := NUMBER.match(text)) else None)
                 for text in texts)


def _numeric(column: Iterable[str]) -> bool:
    values = [text for text in column if text not in BLANK]
    return bool(values) and all(NUMBER.match(text) and len(text) <= 24 for text in values)


def _picture(svg: str, text: str) -> Block:
    try:
        return Picture(sanitised(svg, text), text)
    except Unsafe as error:
        return Prose(f"A picture is left out: {error}. In words: {text}")
