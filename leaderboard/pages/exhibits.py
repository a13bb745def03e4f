"""What was made beside the run: the page of the challenge, with what its papers print, and a page per study."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from harness.results import heat_maps
from harness.results.rows import Exhibit, Grid, Results
from leaderboard.blocks.tables import Cell, Group, Heading, Page, Picture, Prose, Section, Table
from leaderboard.model.index import slugs

NUMBER = re.compile(r"[−-]?\d+(\.\d+)?(e[−-]?\d+)?")
"""How a cell of numbers begins: 0.31 ± 0.02, 88.3 %, 12 of 54."""
SAMPLE, REAL = re.compile(r"\bsample\b"), re.compile(r"\breal\b")

LONG = 60
"""Rows from which on a table is folded."""


def build(results: Results) -> tuple[Page, ...]:
    """Build the page of the challenge, where the results have the published rows, and those of the studies."""
    challenges = [exhibit for exhibit in results.exhibits if exhibit.kind == "challenge"]
    studies = sorted((kept for exhibit in results.exhibits if exhibit.kind == "study"
                      and (kept := _shown(exhibit, results)).grids), key=lambda exhibit: exhibit.name)
    paths = slugs(exhibit.name for exhibit in studies)
    return (*(Page(path="challenge.html", title=exhibit.title, label="Challenge", lead=exhibit.lead, order=5,
                   sections=sections(exhibit)) for exhibit in challenges[:1]),
            *(Page(path=f"study/{paths[exhibit.name]}.html", title=exhibit.title or exhibit.name, label=exhibit.name,
                   lead=exhibit.lead, detail=exhibit.title, sections=sections(exhibit), group="Studies", order=6,
                   markdown=False) for exhibit in studies))


def _shown(exhibit: Exhibit, results: Results) -> Exhibit:
    """Leave out tables on the sample beside real data, and with them the heat maps, which are of all tables."""
    if all(entry.kind == "sample" for entry in results.datasets):
        return exhibit
    kept = tuple(grid for grid in exhibit.grids if not on_sample(grid))
    return exhibit if len(kept) == len(exhibit.grids) else replace(exhibit, grids=kept, maps=())


def sections(exhibit: Exhibit) -> tuple[Section, ...]:
    """Lay an exhibit out: an official table, a picture, tables under a heading each, remarks, the command."""
    names = [f"{place}-{grid.name}" for place, grid in enumerate(exhibit.grids)]
    anchors, captions = slugs(names), [grid.caption for grid in exhibit.grids]
    official = any(grid.name == "official" for grid in exhibit.grids)
    tables = [Section(f"table-{anchors[name]}",
                  f"{grid.caption}: {grid.data}" if captions.count(grid.caption) > 1 and grid.data else grid.caption,
                  (_table(replace(grid, caption=grid.data, data="") if official else grid, f"grid-{anchors[name]}"),))
          for name, grid in zip(names, exhibit.grids, strict=True)]
    every = (
        *tables[:official],
        Section("pictures", "How alike the submissions are" if official else "At a glance",
                (Picture(heat_maps.drawn(exhibit.title, exhibit.maps), " ".join(one.told for one in exhibit.maps)),)
                if exhibit.maps else ()),
        *tables[official:], Section("remarks", "How to read it", tuple(map(Prose, exhibit.remarks))),
        Section("repeat", "How to make it again", (Prose(exhibit.command, code=True),) if exhibit.command else ()))
    return tuple(section for section in every if section.blocks)


def on_sample(grid: Grid) -> bool:
    """Tell from the words that name the data of a table whether it is on the bundled sample."""
    return bool(SAMPLE.search(grid.data) and not REAL.search(grid.data))


def _table(grid: Grid, anchor: str) -> Table:
    """Make a table; its cells are sorted by the number that they begin with."""
    columns = list(zip(*grid.rows, strict=True)) or [()] * len(grid.head)
    headings = (Heading(grid.head[0], "stub"), *(Heading(text, "number" if _numeric(column) else "text")
                                                 for text, column in zip(grid.head[1:], columns[1:], strict=True)))
    rows = tuple(tuple(Cell(text, value=float(number[0].replace("−", "-")) if (number := NUMBER.match(text)) else None)
                       for text in row) for row in grid.rows)
    return Table(anchor, grid.caption, headings, (Group(rows),), data=grid.data,
                 folded=f"All {len(rows)} rows" if len(rows) > LONG else "")


def _numeric(column: Iterable[str]) -> bool:
    values = [text for text in column if text not in ("", "–")]
    return bool(values) and all(NUMBER.match(text) and len(text) <= 24 for text in values)
