"""Exhibits on disk: what a study found, kept as OUT/studies/NAME/exhibit.json for the pages to show.

    of_study(name, title, lead, command, findings) -> Exhibit -> encoded -> exhibit.json
    gathered(OUT) -> the exhibits that are there, and a line for each file that is none

A file is from outside, whoever wrote it: it is read as text and nothing else, and its pictures are made safe where they
are put on a page (leaderboard/blocks/drawings.py).
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree as ET

from harness.errors import BadReport
from harness.results.rows import Exhibit, Grid

if TYPE_CHECKING:
    from harness.studies import Findings

SCHEMA = 1
FILE = "exhibit.json"
LARGEST = 16_000_000
"""Bytes of a file that is read; studies of everything write about one in a hundred of it."""
SVG = "{http://www.w3.org/2000/svg}"


def of_study(name: str, title: str, lead: str, command: str, found: Findings) -> Exhibit:
    """Make an exhibit of what a study found; what failed is said among the remarks."""
    failed = tuple(f"Failed, and not in the study: {line}." for line in found.failures)
    return Exhibit(
        name=name, kind="study", title=title, lead=lead, command=command,
        grids=tuple(Grid(table.name, table.caption, table.head, table.rows, table.data) for table in found.tables),
        pictures=tuple(_picture(content) for file, content in found.files.items() if file.endswith(".svg")),
        remarks=(*found.remarks, *failed))


def encoded(exhibit: Exhibit) -> bytes:
    """Write an exhibit as JSON; the same exhibit gives the same bytes."""
    content = {"schema": SCHEMA, **dataclasses.asdict(exhibit),
               "pictures": [{"svg": svg, "text": text} for svg, text in exhibit.pictures]}
    return (json.dumps(content, indent=1, ensure_ascii=False) + "\n").encode("utf-8", "replace")


def read(path: Path) -> Exhibit:
    """Read an exhibit back; it is called what its folder is called."""
    try:
        return _exhibit(_clean(path.parent.name), _content(path))
    except (OSError, ValueError, TypeError, KeyError, RecursionError) as error:
        reason = f"{error} is missing" if isinstance(error, KeyError) else str(error)
        raise BadReport(f"{_clean(str(path))}: no exhibit, so not on the pages ({reason}); "
                        f"`harness study {_clean(path.parent.name)}` writes it anew") from error


def gathered(out: Path) -> tuple[tuple[Exhibit, ...], tuple[str, ...]]:
    """Read every exhibit of the studies under a run's folder, and say of each broken one what is wrong with it."""
    found: list[Exhibit] = []
    warnings: list[str] = []
    for path in sorted((out / "studies").glob(f"*/{FILE}")):
        try:
            found.append(read(path))
        except BadReport as error:
            warnings.append(" ".join(str(error).split()))
    return tuple(found), tuple(warnings)


def _content(path: Path) -> dict[str, Any]:
    if path.stat().st_size > LARGEST:
        raise ValueError(f"more than {LARGEST} bytes")
    content = json.loads(path.read_bytes())
    if not isinstance(content, dict) or content.get("schema") != SCHEMA:
        raise ValueError(f"not of form {SCHEMA}")
    return content


def _picture(content: bytes) -> tuple[str, str]:
    """A picture of a study with what it says of itself; the studies draw them, so they parse."""
    root = ET.fromstring(content)  # noqa: S314 - drawn by the study a moment ago
    said = (root.findtext(f"{SVG}{name}") or root.findtext(name) or "" for name in ("title", "desc"))
    return content.decode(), ". ".join(part.strip().rstrip(".") for part in said if part.strip()) + "."


def _exhibit(name: str, content: Mapping[str, Any]) -> Exhibit:
    pictures = tuple((_text(entry, "svg"), _text(entry, "text")) for entry in _list(content, "pictures"))
    if _text(content, "kind") != "study":
        raise ValueError("kind is not study")
    return Exhibit(
        name=name, kind="study", title=_text(content, "title"), lead=_text(content, "lead"),
        command=_text(content, "command"), grids=tuple(map(_grid, _list(content, "grids"))), pictures=pictures,
        remarks=tuple(_texts(_list(content, "remarks"))))


def _grid(entry: Any) -> Grid:
    head = tuple(_texts(_list(entry, "head")))
    rows = tuple(tuple(_texts(row)) for row in _list(entry, "rows"))
    if not head or any(len(row) != len(head) for row in rows):
        raise ValueError("a row of a table is not as long as its head")
    return Grid(_text(entry, "name"), _text(entry, "caption"), head, rows, _text(entry, "data"))


def _text(entry: Any, name: str) -> str:
    if not isinstance(entry, dict):
        raise TypeError(f"{name} of something that has no names")
    (found,) = _texts([entry[name]])
    return found


def _list(entry: Any, name: str) -> list[Any]:
    if not isinstance(entry, dict):
        raise TypeError(f"{name} of something that has no names")
    if not isinstance(entry[name], list):
        raise TypeError(f"{name} is no list")
    return list(entry[name])


def _texts(values: Any) -> Iterator[str]:
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise TypeError("a text is no text")
    return map(_clean, values)


def _clean(text: str) -> str:
    """A text without halves of characters, which no page can be encoded with."""
    return text.encode("utf-8", "surrogatepass").decode("utf-8", "replace")
