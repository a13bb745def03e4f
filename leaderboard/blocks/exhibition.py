"""An exhibit as the sections of a page: its pictures and tables, what is to be known of them, how to make it again."""

from __future__ import annotations

import re
from collections.abc import Iterable

from harness.results.rows import Exhibit, Grid
from leaderboard.blocks.drawings import Unsafe, redrawn
from leaderboard.blocks.tables import Block, Cell, Group, Heading, Picture, Prose, Row, Section, Table
from leaderboard.model.index import DATA
from leaderboard.model.slugs import slugs

NUMBER = re.compile(r"[−-]?\d+(\.\d+)?(e[−-]?\d+)?")
"""What a cell of numbers begins with: 0.31 ± 0.02, 88.3 %, 12 of 54."""
BLANK = frozenset({"", "–"})
MADE = re.compile(r"\bsample\b")
REAL = re.compile(r"\breal\b")


def sections(exhibit: Exhibit) -> tuple[Section, ...]:
    """Lay an exhibit out: tables under a heading each, pictures, remarks, the command."""
    anchors = slugs(f"{place}-{grid.name}" for place, grid in enumerate(exhibit.grids))
    shown = [Section(f"table-{anchors[f'{place}-{grid.name}']}", _title(exhibit.grids, grid),
                     (_table(grid, f"grid-{anchors[f'{place}-{grid.name}']}"),))
             for place, grid in enumerate(exhibit.grids)]
    pictures = tuple(_picture(svg, text) for svg, text in exhibit.pictures)
    if pictures:
        shown.insert(0, Section("pictures", "At a glance", pictures))
    if exhibit.remarks:
        shown.append(Section("remarks", "How to read it", tuple(map(Prose, exhibit.remarks))))
    if exhibit.command:
        shown.append(Section("repeat", "How to make it again", (Prose(exhibit.command, code=True),)))
    return tuple(shown)


def sampled(exhibit: Exhibit) -> bool:
    """Tell whether a table is on the bundled sample; tables say it in the words that name their data."""
    return any(_sample(grid) for grid in exhibit.grids)


def mixed(exhibit: Exhibit) -> bool:
    """Tell whether some tables are on the bundled sample and others are not."""
    return len({_sample(grid) for grid in exhibit.grids}) > 1


def _sample(grid: Grid) -> bool:
    return grid.data == DATA["sample"] or bool(MADE.search(grid.data) and not REAL.search(grid.data))


def _title(grids: Iterable[Grid], grid: Grid) -> str:
    """The caption, with the data where several tables have it."""
    alike = sum(other.caption == grid.caption for other in grids) > 1
    return f"{grid.caption}: {grid.data}" if alike and grid.data else grid.caption


def _table(grid: Grid, anchor: str) -> Table:
    columns = list(zip(*grid.rows, strict=True)) or [()] * len(grid.head)
    kinds = [_numeric(column) for column in columns]
    headings = (Heading(grid.head[0], "stub"), *(Heading(text, "number" if numeric else "text")
                                                 for text, numeric in zip(grid.head[1:], kinds[1:], strict=True)))
    return Table(anchor, grid.caption, headings, (Group(tuple(map(_row, grid.rows))),),
                 data=grid.data or "not said", sample=_sample(grid))


def _row(texts: Iterable[str]) -> Row:
    return tuple(Cell(text, value=_value(text)) for text in texts)


def _numeric(column: Iterable[str]) -> bool:
    there = [text for text in column if text not in BLANK]
    return bool(there) and all(NUMBER.match(text) and len(text) <= 24 for text in there)


def _value(text: str) -> float | None:
    """The number that a cell begins with, by which its column is sorted."""
    found = NUMBER.match(text)
    return float(found[0].replace("−", "-")) if found else None


def _picture(svg: str, text: str) -> Block:
    try:
        return Picture(redrawn(svg, text), text)
    except Unsafe as error:
        return Prose(f"A picture is left out: {error}. In words: {text}")
