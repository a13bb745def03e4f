"""Pages made from additional files: the challenge with its published numbers, and a page per study."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from harness.results.exhibits import Exhibit, Grid
from harness.results.item_scores import slug
from harness.results.rows import Results
from leaderboard.blocks.cells import column_cell, shade
from leaderboard.blocks.tables import Cell, Dot, Dots, Heading, Page, Prose, Section, Table
from leaderboard.model.index import Index, make_index

NUMBER = re.compile(r"[−-]?\d+(\.\d+)?(e[−-]?\d+)?")
"""The number at the beginning of a cell: 0.31 ± 0.02, 88.3 %, 12 of 54."""
MIXED_HEAD = ("metric or team", "source")
THIS_RUN, PUBLISHED = "this run", "challenge, as published"
"""The first headings of tables that mix this run with published numbers, and the two kinds of rows."""
MAX_UNFOLDED = 60
"""Longer tables are folded."""


def build(results: Results) -> tuple[Page, ...]:
    index, pages = make_index(results), list[Page]()
    has_real_data = any(entry.kind != "sample" for entry in results.datasets)
    for exhibit in sorted(results.exhibits, key=lambda exhibit: (exhibit.kind != "challenge", exhibit.name)):
        if exhibit.kind == "challenge":
            pages.append(Page("challenge.html", exhibit.title, "Challenge", sections(exhibit, index), exhibit.lead,
                              order=5))
            continue
        grids = tuple(grid for grid in exhibit.grids if not has_real_data or re.search(r"\breal\b", grid.data)
                      or not re.search(r"\bsample\b", grid.data))
        if len(grids) < len(exhibit.grids):
            exhibit = replace(exhibit, grids=grids)
        if grids:
            pages.append(Page(
                f"study/{slug(exhibit.name)}.html", exhibit.title or exhibit.name, exhibit.name,
                sections(exhibit, index), exhibit.lead, exhibit.title, group="Studies", order=6, markdown=False))
    return tuple(pages)


def sections(exhibit: Exhibit, index: Index) -> tuple[Section, ...]:
    """Lay out an exhibit: the tables, remarks, the command."""
    tables = [Section(f"table-{number}", grid.caption, (*_picture(grid, index), _table(grid, f"grid-{number}", index)))
              for number, grid in enumerate(exhibit.grids)]
    return (*tables, Section("remarks", "Notes", tuple(map(Prose, exhibit.remarks))),
            Section("repeat", "How to reproduce it", (Prose(exhibit.command, code=True),) if exhibit.command else ()))


def _picture(grid: Grid, index: Index) -> Iterator[Dots]:
    if grid.head[:2] == MIXED_HEAD:
        dots = [Dot(_name(grid, row, index), float(row[2].replace("−", "-")),
                    kind="dot" if row[1] == THIS_RUN else "printed") for row in grid.rows]
        yield Dots(dots, f"Spearman correlation, {grid.head[2]}.", {"dot": THIS_RUN, "printed": PUBLISHED})


def _table(grid: Grid, anchor: str, index: Index) -> Table:
    columns = list(zip(*grid.rows, strict=True)) or [()] * len(grid.head)
    headings = (grid.head[0], *(Heading(text, "number" if _numeric(column) else "text")
                                for text, column in zip(grid.head[1:], columns[1:], strict=True)))
    return Table.of(anchor, grid.data or grid.caption, headings,
                    ((_name(grid, row, index), *(map(_shaded, row[1:]) if grid.shaded else row[1:]))
                     for row in grid.rows),
                    folded=f"All {len(grid.rows)} rows" if len(grid.rows) > MAX_UNFOLDED else "")


def _shaded(text: str) -> Cell:
    return Cell(text, shade=shade(float(text.replace("−", "-"))) if NUMBER.fullmatch(text) else "")


def _name(grid: Grid, row: Sequence[str], index: Index) -> Cell:
    """Name a row; in tables with published numbers, columns of this run have their titles, and teams are marked."""
    if grid.head[:2] != MIXED_HEAD:
        return Cell(row[0])
    column = next((column for column in index.labels if row[:2] == (column[1], THIS_RUN)), None)
    return column_cell(index, column) if column else Cell(row[0], sign=("■", PUBLISHED))


def _numeric(column: Iterable[str]) -> bool:
    values = [text for text in column if text not in ("", "–")]
    return bool(values) and all(NUMBER.match(text) and len(text) <= 24 for text in values)
