"""The rows of a workbook (.xlsx), with merged cells repeated in each of their rows."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.errors import BadRecord

Row: TypeAlias = tuple[int, Sequence[Any]]
"""Line (or number of the object or row), and cells."""


def rows(path: Path) -> Iterator[Row]:
    """Yield the rows of the first sheet with more than one."""
    import openpyxl

    with path.open("rb") as stream:
        try:
            book = openpyxl.load_workbook(stream, read_only=True, data_only=True)
        except Exception as error:  # from zipfile, XML or openpyxl
            raise BadRecord(path.name, None, "", f"is not a workbook: {error}") from error
        for sheet in book.worksheets:
            sheet.reset_dimensions()  # as stored, they may be wrong
            filled = (row for row in sheet.iter_rows(values_only=True) if any(map(shown, row)))
            if len(list(itertools.islice(filled, 2))) > 1:
                yield from _unmerged(sheet.iter_rows(values_only=True), _merges(sheet))
                return


def _merges(sheet: Any) -> Mapping[int, Sequence[tuple[int, int]]]:
    """Return the merged cells by their first row: column (from 0) and last row; openpyxl streams rows without them."""
    from openpyxl.utils import range_boundaries
    from openpyxl.xml.functions import iterparse

    merges: dict[int, list[tuple[int, int]]] = defaultdict(list)
    with sheet._get_source() as xml:
        for _, element in iterparse(xml):
            if element.tag.endswith("}mergeCell"):
                left, top, _, bottom = range_boundaries(element.get("ref"))
                merges[top].append((left - 1, bottom))
            element.clear()
    return merges


def _unmerged(stored: Iterable[Sequence[Any]], merges: Mapping[int, Sequence[tuple[int, int]]]) -> Iterator[Row]:
    """Repeat the value of merged cells in each of their rows, except those that are otherwise blank."""
    above: dict[int, tuple[Any, int]] = {}
    for number, row in enumerate(stored, 1):
        cells = list(row)
        for column, (value, last) in above.items() if any(map(shown, row)) else ():
            if number <= last:
                cells += [None] * (column + 1 - len(cells))
                cells[column] = value
        above |= {column: (cells[column], last) for column, last in merges.get(number, ()) if column < len(cells)}
        yield number, cells


def shown(cell: Any) -> str:
    return "" if cell is None else str(cell).strip()
