"""How studies write numbers, CSV files and their page in Markdown."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence

from harness.results.rows import Grid


def number(value: float, digits: int = 2) -> str:
    """A rounded number with a real minus sign; a dash where it is missing."""
    return f"{round(value, digits) + 0:.{digits}f}".replace("-", "−") if math.isfinite(value) else "–"


def finite(value: float, digits: int | None = None) -> float | None:
    """A number for JSON, rounded where digits are named; None where it is missing."""
    if not math.isfinite(value):
        return None
    return value if digits is None else round(value, digits) + 0


def csv_lines(head: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """A table as CSV."""
    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows((head, *rows))
    return stream.getvalue().encode()


def csv_objects(objects: Iterable[Mapping[str, object]]) -> bytes:
    """Objects with the same keys as CSV, a list as its values with spaces between; empty without any."""
    listed = list(objects)
    rows = [[" ".join(map(str, value)) if isinstance(value, list) else value for value in entry.values()]
            for entry in listed]
    return csv_lines(list(listed[0]), rows) if listed else b""


def markdown(title: str, remarks: Iterable[str], tables: Iterable[Grid], picture: str = "") -> bytes:
    """The page of a study: remarks, a picture, and every table."""
    return "\n".join(_lines(title, remarks, tables, picture)).encode()


def _lines(title: str, remarks: Iterable[str], tables: Iterable[Grid], picture: str) -> Iterator[str]:
    yield from (f"# {title}", "", *(line for remark in remarks for line in (remark, "")))
    if picture:
        yield from (picture, "")
    for table in tables:
        yield from (f"## {table.caption}: {table.data}", "")
        for row in (table.head, ["---"] * len(table.head), *table.rows):
            yield "| " + " | ".join(text.replace("|", "\\|") for text in row) + " |"
        yield ""
