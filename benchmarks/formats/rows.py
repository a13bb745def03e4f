"""Rows of text files (CSV, TSV, JSON Lines), each with its location for messages.

Files are untrusted, so the length of lines and cells is limited.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from benchmarks.errors import BadRecord
from benchmarks.formats.records import SURROGATE

MAX_LINE = 1 << 20  # maximum characters of a line or field
SAVE_AS_CSV_HINT = "save it as CSV in UTF-8 (in Excel: Save As, CSV UTF-8)"
FORMATS = {b"PK\x03\x04": f"is an Excel workbook or an archive; {SAVE_AS_CSV_HINT}",
           b"\xd0\xcf\x11\xe0": f"is an old Excel workbook; {SAVE_AS_CSV_HINT}",
           b"\xff\xfe": f"is text in UTF-16; {SAVE_AS_CSV_HINT}", b"\xfe\xff": f"is text in UTF-16; {SAVE_AS_CSV_HINT}",
           b"PAR1": "is a Parquet file; save it as CSV", b"\x1f\x8b": "is compressed by gzip; decompress it first"}
"""Formats that are mistaken for text tables, keyed by their first bytes."""
CSV_ERRORS = {"unexpected end of data": "a quotation mark opens here and is never closed",
              "new-line character seen in unquoted field": "contains a carriage return that does not end a line"}

csv.field_size_limit(MAX_LINE)


class Unreadable(Exception):
    """A file or row that cannot be read, with its line (0 for the whole file) and the reason."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line, self.text = line, text


@contextlib.contextmanager
def located(file: str) -> Iterator[None]:
    try:
        yield
    except Unreadable as error:
        raise BadRecord(f"{file}, line {error.line}" if error.line else file, None, "", error.text) from error


def decoded(content: bytes) -> str:
    """Decode UTF-8, with or without a byte order mark."""
    if reason := next((text for start, text in FORMATS.items() if content.startswith(start)), ""):
        raise Unreadable(0, reason)
    if (position := content.find(b"\0")) >= 0:
        problem = "looks like UTF-16" if position < 2 else "contains a null byte, so it is not text"
        raise Unreadable(content.count(b"\n", 0, position) + 1, f"{problem}; {SAVE_AS_CSV_HINT}")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line, byte = error.object.count(b"\n", 0, error.start) + 1, error.object[error.start]
        raise Unreadable(line, f"is not UTF-8: the byte 0x{byte:02x}; save the file as UTF-8") from error


def delimited(text: str, ending: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of the first line and the cells of each non-empty row, in the csv module's strict mode.

    A CSV is separated by the first of , ; and tab in its header, a TSV by tabs.
    """
    separator = re.search("[,;\t]", text.partition("\n")[0].strip()) if ending == ".csv" else None
    delimiter = separator[0] if separator else "," if ending == ".csv" else "\t"
    return ((line, row) for line, row in csv_rows(_lines(text), delimiter=delimiter, strict=True) if row)


def csv_rows(lines: Iterable[str], start: int = 1, **dialect: Any) -> Iterator[tuple[int, list[str]]]:
    """Yield the number of the first line and the cells of each row; the first of `lines` has the number `start`."""
    reader = csv.reader(lines, **dialect)
    line = start
    try:
        for row in reader:
            yield line, row
            line = start + reader.line_num
    except csv.Error as error:
        reasons = (reason for prefix, reason in CSV_ERRORS.items() if str(error).startswith(prefix))
        raise Unreadable(line, next(reasons, f"is not a table: {error!s:.80}")) from error


def _lines(text: str) -> Iterator[str]:
    for number, line in enumerate(io.StringIO(text, newline="\n"), 1):
        if len(line) > MAX_LINE:
            raise Unreadable(number, f"a line is longer than {MAX_LINE:,} characters")
        yield line


def json_lines(text: str) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip():
            try:
                value = json.loads(line)
            except (ValueError, RecursionError) as error:
                raise Unreadable(number, f"is not JSON: {getattr(error, 'msg', error)}") from error
            if not isinstance(value, dict):
                raise Unreadable(number, "should be an object")
            if ("\\ud" in line or "\\uD" in line) and not is_encodable(value):
                raise Unreadable(number, "contains a lone surrogate, which is not valid text")
            yield number, value


def is_encodable(value: Any) -> bool:
    """Return True if a JSON value contains no lone surrogate, which cannot be encoded."""
    return not SURROGATE.search(json.dumps(value, ensure_ascii=False, default=str, skipkeys=True))
