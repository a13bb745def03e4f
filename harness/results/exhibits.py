"""Exhibits: the findings of a study in OUT/studies/NAME/exhibit.json, shown by the pages, and their heat maps as SVG.

Files may come from anyone: only strings and numbers are read from them.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.formats.records import Refused, load, mapping, value_of
from harness.errors import BadReport

SCHEMA = 2
FILE = "exhibit.json"
MAX_BYTES = 16_000_000
"""Maximum bytes of an exhibit, a hundred times the largest one of the studies."""
MAX_ROWS = 100
"""Maximum rows of a heat map, so that a page stays under 2 MB."""
MARKDOWN_SPECIAL = re.compile(r"[\\`*\[\]|~$#<>&]|(?<![^\W_])_|_(?![^\W_])")
"""Characters with a special meaning in Markdown, even within a line."""
NEGATIVE, ZERO, POSITIVE = (240, 176, 122), (255, 255, 255), (151, 195, 230)
"""Colours of correlations of -1, 0 and 1; black text has a contrast of more than 7 on each of them."""
SQUARE, TITLE, LETTER, MAX_LABEL = 38, 50, 7, 230
"""Sizes in a heat map: a square, the space for its title, the width of a letter, the maximum space for a label."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A table of an exhibit: strings under headings, with row names in the first column; `data` describes the data."""

    name: str
    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    data: str = ""


@dataclass(frozen=True, slots=True)
class HeatMap:
    """A square matrix of correlations, None if missing, with a label per row and column; `told` is its description."""

    title: str
    labels: tuple[str, ...]
    values: tuple[tuple[float | None, ...], ...]
    told: str

    @classmethod
    def of(cls, title: str, labels: tuple[str, ...], values: npt.NDArray[np.float64], told: str) -> HeatMap:
        """Return the map of an array (labels, labels), with NaN for missing correlations."""
        return cls(title, labels, tuple(tuple(value if math.isfinite(value) else None for value in row)
                                        for row in values.tolist()), told)


@dataclass(frozen=True, slots=True)
class Exhibit:
    """The result of a study, or of recomputing a paper's tables: tables, heat maps, remarks.

    `kind` is study or challenge; `command` reproduces it.
    """

    name: str
    kind: str
    title: str
    lead: str
    command: str
    grids: tuple[Grid, ...]
    maps: tuple[HeatMap, ...] = ()
    remarks: tuple[str, ...] = ()


def encoded(exhibit: Exhibit) -> bytes:
    """Encode an exhibit as JSON; equal exhibits give equal bytes."""
    content = {"schema": SCHEMA, **dataclasses.asdict(exhibit)}
    return (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "replace")


def read(path: Path) -> Exhibit:
    """Read an exhibit, named after its folder."""
    where, name = (text.encode("utf-8", "replace").decode() for text in (str(path), path.parent.name))
    try:
        return _read(path, name)
    except (OSError, Refused) as error:
        raise BadReport(f"{where}: invalid exhibit, omitted from the pages ({error}); "
                        f"`harness study {name}` writes it again") from error


def _read(path: Path, name: str) -> Exhibit:
    if path.stat().st_size > MAX_BYTES:
        raise Refused(f"more than {MAX_BYTES} bytes")
    content = mapping(FILE, load(FILE, path.read_bytes()))
    if content.pop("schema", None) != SCHEMA:
        raise Refused(f"its schema is not {SCHEMA}")
    exhibit: Exhibit = value_of(Exhibit, {**content, "name": name}, FILE)
    if exhibit.kind != "study":
        raise Refused("its kind is not study")
    if any(not grid.head or {len(row) for row in grid.rows} - {len(grid.head)} for grid in exhibit.grids):
        raise Refused("a row of a table differs in length from its head")
    if any(not 0 < len(heat.labels) <= MAX_ROWS or [*map(len, heat.values)] != [len(heat.labels)] * len(heat.labels)
           for heat in exhibit.maps):
        raise Refused(f"a heat map is not a square with 1 to {MAX_ROWS} labels")
    return exhibit


def read_all(out: Path) -> tuple[tuple[Exhibit, ...], tuple[str, ...]]:
    """Read every exhibit under a run's folder; return a warning for each invalid one."""
    exhibits, warnings = list[Exhibit](), list[str]()
    for path in sorted((out / "studies").glob(f"*/{FILE}")):
        try:
            exhibits.append(read(path))
        except BadReport as error:
            warnings.append(" ".join(str(error).split()))
    return tuple(exhibits), tuple(warnings)


def number(value: float, digits: int = 2) -> str:
    """Format a number with U+2212 as its minus sign, or a dash if it is not finite."""
    return f"{round(value, digits) + 0:.{digits}f}".replace("-", "−") if math.isfinite(value) else "–"


def csv_of(rows: Iterable[Iterable[object]]) -> bytes:
    """Return a CSV file; strings that look like formulas are prefixed with an apostrophe."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows(
        [f"'{cell}" if isinstance(cell, str) and cell[:1] in ("=", "+", "-", "@", "\t") else cell for cell in row]
        for row in rows)
    return stream.getvalue().encode()


def markdown(exhibit: Exhibit) -> bytes:
    """Return the exhibit as Markdown; the title and table cells are escaped, other text is not."""
    lines = [f"# {_plain(exhibit.title)}", "", exhibit.lead, ""]
    for grid in exhibit.grids:
        lines += [f"## {grid.caption}", "", _row(grid.head), "|" + " --- |" * len(grid.head), *map(_row, grid.rows), "",
                  *((f"Data: {grid.data}.", "") if grid.data else ())]
    return "\n".join([*lines, *(line for remark in exhibit.remarks for line in (remark, ""))]).encode()


def _row(texts: Iterable[str]) -> str:
    return "| " + " | ".join(map(_plain, texts)) + " |"


def _plain(text: str) -> str:
    return MARKDOWN_SPECIAL.sub(r"\\\g<0>", " ".join(text.split()))


def draw_maps(title: str, maps: Sequence[HeatMap]) -> str:
    """Draw maps below one another as SVG: orange for -1, white for 0, blue for 1, and the number."""
    longest = max((len(label) for heat in maps for label in heat.labels), default=0)
    space = min(MAX_LABEL, LETTER * longest + 20)
    heights = [TITLE + space + SQUARE * len(heat.labels) for heat in maps]
    width = 20 + max(max(space + SQUARE * len(heat.labels), (LETTER + 2) * len(heat.title)) for heat in maps)
    height = sum(heights) + 20
    parts = [f'<g transform="translate(0 {sum(heights[:index])})">\n{_map(heat, space)}</g>\n'
             for index, heat in enumerate(maps)]
    description = escape(" ".join(heat.told for heat in maps))
    return (f'<svg xmlns="http://www.w3.org/2000/svg" class="drawing" viewBox="0 0 {width} {height}" width="{width}" '
            f'height="{height}" role="img" tabindex="0" aria-label="{description}" font-family="system-ui, sans-serif" '
            f'font-size="12">\n<title>{escape(title)}</title>\n<desc>{description}</desc>\n'
            f'<rect width="100%" height="100%" fill="#ffffff"/>\n{"".join(parts)}</svg>\n')


def _map(heat: HeatMap, space: int) -> str:
    top = TITLE + space
    lines = [f'<text x="10" y="30" font-size="15" font-weight="600">{escape(heat.title)}</text>']
    for i, label in enumerate(heat.labels):
        middle = i * SQUARE + SQUARE / 2
        lines.append(f'<text x="{space - 8}" y="{top + middle + 4}" text-anchor="end">{escape(label)}</text>')
        lines.append(f'<text transform="translate({space + middle + 4} {top - 8}) rotate(-90)">{escape(label)}</text>')
        lines += [_square(heat, i, j, space) for j in range(len(heat.labels))]
    return "\n".join(lines) + "\n"


def _square(heat: HeatMap, i: int, j: int, space: int) -> str:
    value = heat.values[i][j]
    x, y = space + j * SQUARE, TITLE + space + i * SQUARE
    label = number(math.nan if value is None else value)
    return (f'<g><title>{escape(f"{heat.labels[i]} and {heat.labels[j]}: {label}")}</title>'
            f'<rect x="{x}" y="{y}" width="{SQUARE}" height="{SQUARE}" fill="{_colour(value)}" stroke="#ffffff"/>'
            f'<text x="{x + SQUARE / 2}" y="{y + SQUARE / 2 + 4}" text-anchor="middle">{label}</text></g>')


def _colour(value: float | None) -> str:
    if value is None:
        return "#eeeeee"
    end, share = POSITIVE if value > 0 else NEGATIVE, min(1.0, abs(value))
    return "#" + "".join(f"{round(zero + share * (full - zero)):02x}" for zero, full in zip(ZERO, end, strict=True))
