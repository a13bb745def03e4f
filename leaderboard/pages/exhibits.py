"""Pages made from additional files: the challenge with its published numbers, and a page per study."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace

from harness.results import heat_maps
from harness.results.item_scores import slug
from harness.results.rows import Exhibit, Grid, Results
from leaderboard.blocks.tables import Cell, Heading, Page, Picture, Prose, Section, Table

NUMBER = re.compile(r"[−-]?\d+(\.\d+)?(e[−-]?\d+)?")
"""The number at the beginning of a cell: 0.31 ± 0.02, 88.3 %, 12 of 54."""
SAMPLE, REAL = re.compile(r"\bsample\b"), re.compile(r"\breal\b")

LONG = 60
"""Longer tables are folded."""


def build(results: Results) -> tuple[Page, ...]:
    challenges = [Page(path="challenge.html", title=exhibit.title, label="Challenge", lead=exhibit.lead, order=5,
                       sections=sections(exhibit)) for exhibit in results.exhibits if exhibit.kind == "challenge"]
    studies = sorted((_without_sample(exhibit, results) for exhibit in results.exhibits if exhibit.kind == "study"),
                     key=lambda exhibit: exhibit.name)
    return (*challenges[:1],
            *(Page(path=f"study/{slug(exhibit.name)}.html", title=exhibit.title or exhibit.name, label=exhibit.name,
                   lead=exhibit.lead, detail=exhibit.title, sections=sections(exhibit), group="Studies", order=6,
                   markdown=False) for exhibit in studies if exhibit.grids))


def _without_sample(exhibit: Exhibit, results: Results) -> Exhibit:
    """Drop tables on the sample if there is real data, and with them the heat maps, which cover all tables."""
    if all(entry.kind == "sample" for entry in results.datasets):
        return exhibit
    grids = tuple(grid for grid in exhibit.grids if not _is_on_sample(grid))
    return exhibit if len(grids) == len(exhibit.grids) else replace(exhibit, grids=grids, maps=())


def sections(exhibit: Exhibit) -> tuple[Section, ...]:
    """Lay out an exhibit: the official table if any, a picture, the other tables, remarks, the command."""
    captions = [grid.caption for grid in exhibit.grids]
    official = any(grid.name == "official" for grid in exhibit.grids)
    tables = []
    for number, grid in enumerate(exhibit.grids):
        title = f"{grid.caption}: {grid.data}" if captions.count(grid.caption) > 1 and grid.data else grid.caption
        shown = replace(grid, caption=grid.data, data="") if official else grid
        tables.append(Section(f"table-{number}", title, (_table(shown, f"grid-{number}"),)))
    described = " ".join(map_.told for map_ in exhibit.maps)
    pictures = (Picture(heat_maps.drawn(exhibit.title, exhibit.maps), described),) if exhibit.maps else ()
    command = (Prose(exhibit.command, code=True),) if exhibit.command else ()
    return tuple(section for section in (
        *tables[:official],
        Section("pictures", "How similar the submissions are" if official else "At a glance", pictures),
        *tables[official:], Section("remarks", "Notes", tuple(map(Prose, exhibit.remarks))),
        Section("repeat", "How to reproduce it", command)) if section.blocks)


def _is_on_sample(grid: Grid) -> bool:
    """Tell from the description of a table's data whether it is the bundled sample."""
    return bool(SAMPLE.search(grid.data) and not REAL.search(grid.data))


def _table(grid: Grid, anchor: str) -> Table:
    columns = list(zip(*grid.rows, strict=True)) or [()] * len(grid.head)
    headings = (Heading(grid.head[0], "stub"), *(Heading(text, "number" if _numeric(column) else "text")
                                                 for text, column in zip(grid.head[1:], columns[1:], strict=True)))
    return Table.of(anchor, grid.caption, headings, (tuple(map(Cell, row)) for row in grid.rows), grid.data,
                    folded=f"All {len(grid.rows)} rows" if len(grid.rows) > LONG else "")


def _numeric(column: Iterable[str]) -> bool:
    values = [text for text in column if text not in ("", "–")]
    return bool(values) and all(NUMBER.match(text) and len(text) <= 24 for text in values)
