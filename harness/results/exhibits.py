"""Exhibits: the findings of a study in OUT/studies/NAME/exhibit.json, shown by the pages.

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
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.formats.records import Refused, load, mapping, value_of
from harness.errors import BadReport

SCHEMA = 3
FILE = "exhibit.json"
MAX_BYTES = 16_000_000
"""Maximum bytes of an exhibit, a hundred times the largest one of the studies."""
MARKDOWN_SPECIAL = re.compile(r"[\\`*\[\]|~$#<>&]|(?<![^\W_])_|_(?![^\W_])")
"""Characters with a special meaning in Markdown, even within a line."""


@dataclass(frozen=True, slots=True)
class Grid:
    """A table of an exhibit: strings under headings, with row names in the first column; `data` describes the data.

    The numbers of a `shaded` table are correlations, which pages colour.
    """

    name: str
    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    data: str = ""
    shaded: bool = False


@dataclass(frozen=True, slots=True)
class Exhibit:
    """The result of a study, or of recomputing a paper's tables: tables and remarks.

    `kind` is study or challenge; `command` reproduces it.
    """

    name: str
    kind: str
    title: str
    lead: str
    command: str
    grids: tuple[Grid, ...]
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


def matrix(name: str, caption: str, labels: Sequence[str], values: npt.NDArray[np.float64], data: str) -> Grid:
    """Return a table of correlations, with the same labels for rows and columns."""
    rows = ((label, *map(number, row)) for label, row in zip(labels, values.tolist(), strict=True))
    return Grid(name, caption, ("", *labels), tuple(rows), data, shaded=True)


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
