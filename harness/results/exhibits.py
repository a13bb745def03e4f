"""Exhibits on disk: what a study found, kept as OUT/studies/NAME/exhibit.json for the pages to show.

    of_study(name, title, lead, command, findings) -> Exhibit -> encoded -> exhibit.json
    gathered(OUT) -> the exhibits that are there, and a line for each file that is none

A file is from outside, whoever wrote it: it is read as text and nothing else, and its pictures are made safe where they
are put on a page (leaderboard/pages/exhibits.py).
"""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

from harness.errors import BadReport
from harness.results.records import Refused, load, mapping, value_of
from harness.results.rows import Exhibit

if TYPE_CHECKING:
    from harness.studies import Findings

SCHEMA = 1
FILE = "exhibit.json"
LARGEST = 16_000_000
"""Bytes of a file that is read; studies of everything write about one in a hundred of it."""
SVG = "{http://www.w3.org/2000/svg}"


def of_study(name: str, title: str, lead: str, command: str, findings: Findings) -> Exhibit:
    """Make an exhibit of what a study found; what failed is said among the remarks."""
    failed = tuple(f"Failed, and not in the study: {line}." for line in findings.failures)
    return Exhibit(
        name=name, kind="study", title=title, lead=lead, command=command,
        grids=findings.tables,
        pictures=tuple(_picture(content) for file, content in findings.files.items() if file.endswith(".svg")),
        remarks=(*findings.remarks, *failed))


def encoded(exhibit: Exhibit) -> bytes:
    """Write an exhibit as JSON; the same exhibit gives the same bytes."""
    content = {"schema": SCHEMA, **dataclasses.asdict(exhibit)}
    return (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "replace")


def read(path: Path) -> Exhibit:
    """Read an exhibit back; it is called what its folder is called."""
    name = path.parent.name.encode("utf-8", "replace").decode()
    try:
        return _read(path, name)
    except (OSError, Refused) as error:
        where = str(path).encode("utf-8", "replace").decode()
        raise BadReport(f"{where}: no exhibit, so not on the pages ({error}); "
                        f"`harness study {name}` writes it anew") from error


def _read(path: Path, name: str) -> Exhibit:
    if path.stat().st_size > LARGEST:
        raise Refused(f"more than {LARGEST} bytes")
    content = mapping(FILE, load(FILE, path.read_bytes()))
    if content.pop("schema", None) != SCHEMA:
        raise Refused(f"not of form {SCHEMA}")
    exhibit: Exhibit = value_of(Exhibit, {**content, "name": name}, FILE)
    if exhibit.kind != "study":
        raise Refused("its kind is not study")
    if any(not grid.head or {len(row) for row in grid.rows} - {len(grid.head)} for grid in exhibit.grids):
        raise Refused("a row of a table is not as long as its head")
    return exhibit


def gathered(out: Path) -> tuple[tuple[Exhibit, ...], tuple[str, ...]]:
    """Read every exhibit of the studies under a run's folder, and say of each broken one what is wrong with it."""
    exhibits: list[Exhibit] = []
    warnings: list[str] = []
    for path in sorted((out / "studies").glob(f"*/{FILE}")):
        try:
            exhibits.append(read(path))
        except BadReport as error:
            warnings.append(" ".join(str(error).split()))
    return tuple(exhibits), tuple(warnings)


def _picture(content: bytes) -> tuple[str, str]:
    """A picture of a study with what it says of itself; the studies draw them, so they parse."""
    root = ET.fromstring(content)  # noqa: S314 - drawn by the study a moment ago
    said = (root.findtext(f"{SVG}{name}") or root.findtext(name) or "" for name in ("title", "desc"))
    return content.decode(), ". ".join(part.strip().rstrip(".") for part in said if part.strip()) + "."
