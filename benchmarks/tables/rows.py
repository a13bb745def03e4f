"""Rows of a file: CSV, TSV, JSON, JSON lines, Parquet or a workbook (.xlsx), gzipped or not.

Text is UTF-8, UTF-16 with a byte order mark, or else Windows-1252. The chosen separator gives most rows the same number
of cells. In a workbook, a cell merged over several rows counts in each of them.
"""

from __future__ import annotations

import codecs
import csv
import io
import itertools
import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, TypeAlias

from benchmarks.errors import BadRecord
from benchmarks.formats.rows import csv_rows, decoded, is_encodable, json_lines, located
from benchmarks.storage.archive import decompressed

Row: TypeAlias = tuple[int, Sequence[Any]]  # line (or number of the object or row), and cells
OpenRows: TypeAlias = Callable[[], Iterator[Row]]

SEPARATORS = ",;\t|"
HEAD_ROWS = 200  # number of rows to search for separator and header


def json_objects(path: Path, by_line: bool) -> Iterator[Any]:
    """Yield the objects of JSON lines, a list, the only list in an object, an object by id, or an object of columns."""
    with located(path.name):
        text = decoded(decompressed(path))
        if by_line:
            yield from (row for _, row in json_lines(text))
            return
    try:
        records = json.loads(text)
    except (ValueError, RecursionError) as error:
        if "Extra data" in str(error):  # JSON lines in a .json file
            yield from json_objects(path, by_line=True)
            return
        raise BadRecord(path.name, None, "", f"is not JSON: {error}") from error
    if not is_encodable(records):
        raise BadRecord(path.name, None, "", "contains a lone surrogate, which is not valid text")
    if isinstance(records, dict):
        lists = [value for value in records.values() if isinstance(value, list)]
        if lists and len(lists) == len(records) and not any(isinstance(row, dict) for row in lists[0]):  # columns
            if len({len(column) for column in lists}) > 1:
                raise BadRecord(path.name, None, "", "is an object of lists of different lengths; expected columns")
            records = [dict(zip(records, row, strict=True)) for row in zip(*lists, strict=True)]
        elif len(lists) == 1:
            records = lists[0]
        else:
            records = [{"id": name, **row} if isinstance(row, dict) else row for name, row in records.items()]
    yield from records


def parquet(path: Path) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        for batch in pq.ParquetFile(path).iter_batches(batch_size=1000):
            yield from batch.to_pylist()
    except pa.ArrowException as error:
        raise BadRecord(path.name, None, "", f"is not a Parquet file: {error}") from error


def text_table(path: Path) -> tuple[OpenRows, list[str]]:
    content = decompressed(path)
    encoding = _encoding(path.name, content)

    def lines() -> Iterator[str]:
        return iter(io.TextIOWrapper(io.BytesIO(content), encoding=encoding, errors="replace", newline=""))

    head = list(itertools.islice(lines(), HEAD_ROWS))
    skipped, separators = 0, SEPARATORS
    if head and head[0].casefold().startswith("sep=") and len(head[0].strip()) == 5:  # as Excel writes it
        skipped, separators = 1, head[0].strip()[4]
    separator, quoting = _dialect(head[skipped:], separators)

    def rows() -> Iterator[Row]:
        with located(path.name):
            yield from csv_rows(itertools.islice(lines(), skipped, None), skipped + 1, delimiter=separator,
                                quoting=quoting)

    remark = "not UTF-8, read as Windows-1252: check accents and quotation marks"
    return rows, [remark] if encoding == "cp1252" else []


def _encoding(file: str, content: bytes) -> str:
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    if b"\0" in content:
        raise BadRecord(file, None, "", "contains null bytes, so it is not a text table; save it as .csv")
    try:
        content.decode()
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8-sig"


def _dialect(head: Sequence[str], separators: str) -> tuple[str, Literal[0, 3]]:
    """Return the separator and quoting under which most rows have the same number of cells, at least two."""
    best_score: tuple[float, int] = (0.0, 0)
    dialect: tuple[str, Literal[0, 3]] = (separators[0], csv.QUOTE_MINIMAL)
    quotings: tuple[Literal[0, 3], ...] = (csv.QUOTE_MINIMAL, csv.QUOTE_NONE)
    for separator, quoting in itertools.product(separators, quotings):
        try:
            rows = [row for row in csv.reader(head, delimiter=separator, quoting=quoting) if any(map(str.strip, row))]
        except csv.Error:
            continue
        width, count = max(Counter(map(len, rows)).items(), key=lambda entry: (entry[0] > 1, entry[1]), default=(0, 0))
        unclosed = sum(cell.count("\n") > 20 for row in rows for cell in row)  # a quotation mark that is never closed
        if width > 1 and (score := (count / len(rows) - unclosed / len(rows), width)) > best_score:
            best_score, dialect = score, (separator, quoting)
    return dialect


def workbook(path: Path) -> list[Row]:
    """Return the rows of the first sheet that has more than one row.

    The value of merged cells is repeated in each of their rows, except in otherwise blank rows.
    """
    import openpyxl

    with path.open("rb") as stream:
        try:
            book = openpyxl.load_workbook(stream, read_only=True, data_only=True)
        except Exception as error:  # from zipfile, XML or openpyxl
            raise BadRecord(path.name, None, "", f"is not a workbook: {error}") from error
        for sheet in book.worksheets:
            sheet.reset_dimensions()  # as stored, they may be wrong
            rows = [list(row) for row in sheet.iter_rows(values_only=True)]
            filled = [any(map(cell_text, row)) for row in rows]
            if sum(filled) > 1:
                for column, first, last in _merges(sheet):
                    value = rows[first][column] if first < len(rows) and column < len(rows[first]) else None
                    for number in range(first + 1, min(last + 1, len(rows))):
                        if filled[number]:
                            rows[number] += [None] * (column + 1 - len(rows[number]))
                            rows[number][column] = value
                return list(enumerate(rows, 1))
    return []


def _merges(sheet: Any) -> Iterator[tuple[int, int, int]]:
    """Yield the column, first and last row of merged cells, from 0; openpyxl streams rows without them."""
    from openpyxl.utils import range_boundaries
    from openpyxl.xml.functions import iterparse

    with sheet._get_source() as xml:
        for _, element in iterparse(xml):
            if element.tag.endswith("}mergeCell"):
                left, top, _, bottom = range_boundaries(element.get("ref"))
                yield left - 1, top - 1, bottom - 1
            element.clear()


def cell_text(cell: Any) -> str:
    return "" if cell is None else str(cell).strip()
