"""What was made beside the run: the page of the challenge, with what its papers print, and a page per study.

Pictures come from files: they are parsed, and written again with nothing but shapes, lines and text. What they may
contain is on the lists below; anything else is left out with all its content: scripts, handlers, styles, links, images,
references to other places. Ids are left out as well, since two pictures of a page may share one. A picture with a
document type is refused. Colours stay as attributes, which the page's policy allows; those of a style become such.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from html import escape
from xml.etree import ElementTree

from harness.results.rows import Exhibit, Grid, Results
from leaderboard.blocks.tables import Block, Cell, Group, Heading, Page, Picture, Prose, Section, Table
from leaderboard.model.index import slugs

NUMBER = re.compile(r"[−-]?\d+(\.\d+)?(e[−-]?\d+)?")
"""How a cell of numbers begins: 0.31 ± 0.02, 88.3 %, 12 of 54."""
SAMPLE, REAL = re.compile(r"\bsample\b"), re.compile(r"\breal\b")

SPACE = "{http://www.w3.org/2000/svg}"
TEXTS = frozenset({"title", "desc", "text", "tspan"})
ELEMENTS = TEXTS | {"g", "rect", "circle", "ellipse", "line", "polyline", "polygon", "path"}
PAINT = ("fill", "stroke", "stroke-width", "stroke-dasharray", "stroke-linecap", "stroke-linejoin", "opacity",
         "fill-opacity", "stroke-opacity", "font-size", "font-weight", "font-style", "font-family", "text-anchor",
         "dominant-baseline")
ATTRIBUTES = frozenset({"x", "y", "x1", "x2", "y1", "y2", "dx", "dy", "cx", "cy", "r", "rx", "ry", "width", "height",
                        "d", "points", "transform", *PAINT})
VALUE = re.compile(r"[\w\s.,#%()+-]*")
BOX = re.compile(r"\s*0[\s,]+0[\s,]+(\d{1,5}(?:\.\d+)?)[\s,]+(\d{1,5}(?:\.\d+)?)\s*")
LONG = 60
"""Rows from which on a table is folded."""
DEEPEST = 40
LARGEST = 1_000_000
"""Characters of a picture: a page should stay under 2 MB."""


class Unsafe(ValueError):
    """A picture that cannot be shown; the message says why."""


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
    """Leave out tables on the sample beside real data, and with them the pictures, which are of all tables."""
    if all(entry.kind == "sample" for entry in results.datasets):
        return exhibit
    kept = tuple(grid for grid in exhibit.grids if not on_sample(grid))
    return exhibit if len(kept) == len(exhibit.grids) else replace(exhibit, grids=kept, pictures=())


def sections(exhibit: Exhibit) -> tuple[Section, ...]:
    """Lay an exhibit out: an official table, pictures, tables under a heading each, remarks, the command."""
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
                tuple(drawing(*picture) for picture in exhibit.pictures)),
        *tables[official:], Section("remarks", "How to read it", tuple(map(Prose, exhibit.remarks))),
        Section("repeat", "How to make it again", (Prose(exhibit.command, code=True),) if exhibit.command else ()))
    return tuple(section for section in every if section.blocks)


def on_sample(grid: Grid) -> bool:
    """Tell from the words that name the data of a table whether it is on the bundled sample."""
    return bool(SAMPLE.search(grid.data) and not REAL.search(grid.data))


def sanitised(svg: str, text: str) -> str:
    """Return the picture with nothing but what is allowed; `text` is read to those who do not see it."""
    if len(svg) > LARGEST:
        raise Unsafe(f"it has more than {LARGEST} characters")
    if "<!DOCTYPE" in svg:
        raise Unsafe("it has a document type")
    parser = ElementTree.XMLParser(encoding="utf-8")  # noqa: S314 - nothing expands without a document type
    try:
        root = ElementTree.fromstring(svg.encode("utf-8", "replace"), parser)  # noqa: S314
    except ElementTree.ParseError as error:
        raise Unsafe(f"it is not well-formed ({error})") from error
    if root.tag.removeprefix(SPACE) != "svg":
        raise Unsafe("it is no SVG")
    box = BOX.fullmatch(root.get("viewBox", ""))
    if box is None:
        raise Unsafe("its viewBox is not of the form 0 0 WIDTH HEIGHT")
    width, height = map(float, box.groups())
    if not 0 < width <= 20_000 or not 0 < height <= 20_000:
        raise Unsafe("it has no size, or one above 20,000")
    paint = {name: value for name, value in root.items() if name in PAINT}
    return (f'<svg class="drawing" viewBox="0 0 {width:g} {height:g}" width="{width:g}" height="{height:g}" '
            f'role="img" tabindex="0" aria-label="{escape(text)}"{_attributes(paint)}>'
            f'{"".join(_drawn(child, 1) for child in root)}</svg>')


def _drawn(element: ElementTree.Element, depth: int) -> str:
    """Write an element with what is allowed in it; nothing where it is not allowed itself."""
    name = element.tag.removeprefix(SPACE)
    if name not in ELEMENTS or depth >= DEEPEST:
        return ""
    texts = (element.text, *(child.tail for child in element)) if name in TEXTS else ("",) * (1 + len(element))
    drawn = ("", *(_drawn(child, depth + 1) for child in element))
    inside = "".join(part + escape(text or "") for part, text in zip(drawn, texts, strict=True))
    return f"<{name}{_attributes(dict(element.items()))}>{inside}</{name}>"


def _attributes(attributes: Mapping[str, str]) -> str:
    """Write the allowed attributes, those of the style attribute too, in the order of their names."""
    declared = (part.partition(":")[::2] for part in attributes.get("style", "").split(";"))
    style = {name.strip(): value.strip() for name, value in declared if name.strip() in PAINT}
    return "".join(f' {name}="{escape(value)}"' for name, value in sorted({**attributes, **style}.items())
                   if name in ATTRIBUTES and VALUE.fullmatch(value) and "url" not in value.casefold())


def drawing(svg: str, text: str) -> Block:
    """Show a picture from a file, or say why it is left out."""
    try:
        return Picture(sanitised(svg, text), text)
    except Unsafe as error:
        return Prose(f"A picture is left out: {error}. In words: {text}")


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
