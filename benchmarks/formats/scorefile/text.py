"""Score files of text: CSV, TSV, JSON Lines, and JSON as one list of records or one object of ids.

UTF-8, with or without a byte order mark. A row, and a line, may hold a megabyte, so that no file needs more memory than
a few times its size. The parsers are Python's own, so that there is one answer to where a quote ends.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from benchmarks.formats.scorefile.content import refuse_binary
from benchmarks.formats.scorefile.problems import Unreadable, shown
from benchmarks.formats.scorefile.rows import BLANK, SCORE, Header, Rows, header, number, numbers, too_many

LINE = 1 << 20
"""Bytes of a line, and of a row that goes over several."""
LINES = 20
"""Lines to a row that may be, over the whole file: blank ones, and those within quotes."""
JSON = 32 << 20
"""Bytes of a JSON file: read at once, it takes up to seventy times as many."""
BOM = b"\xef\xbb\xbf"
SEPARATORS = (",", ";", "\t")


class _Lines:
    """The lines of a file, decoded one by one; `spent` counts the bytes that the row at hand has taken."""

    def __init__(self, found: bytes, limit: int) -> None:
        self._lines = enumerate(io.BytesIO(found.removeprefix(BOM)), 1)
        self._most = limit * LINES
        self.spent = 0
        self.last = 0

    def __iter__(self) -> Iterator[str]:
        for place, line in self._lines:
            self.last = place
            self.spent += len(line)
            if place > self._most:
                raise Unreadable(place, f"the file has more than {self._most:,} lines")
            if self.spent > LINE:
                raise Unreadable(place, f"a row is longer than {LINE:,} bytes; is a quote never closed?")
            try:
                yield line.decode()
            except UnicodeDecodeError as error:
                byte = line[error.start]
                raise Unreadable(place, f"byte {byte:#04x} at place {error.start + 1} is no UTF-8") from error


def table(found: bytes, separator: str | None, limit: int) -> Rows:
    """Read CSV or TSV; without a separator it is the first of comma, semicolon and tab that the first line holds."""
    refuse_binary(found)
    lines = _Lines(found, limit)
    stream = iter(lines)
    first = next(stream, "")
    chosen = separator or next((sign for sign in SEPARATORS if sign in first), ",")
    reader = csv.reader(itertools.chain([first], stream), delimiter=chosen, strict=True)
    ids, cells, places, start = [], [], [], 1
    broken: list[Unreadable] = []
    try:
        names = next(reader, [])
        head, columns = header(names), len(names)
        start, lines.spent = lines.last + 1, 0
        for row in reader:
            if row:  # an empty line is none
                if len(row) == columns:
                    ids.append(row[head.id].strip(BLANK))
                    cells.append(row[head.score].strip(BLANK))
                    places.append(start)
                else:
                    broken.append(Unreadable(start, f"{len(row)} values for {columns} columns"))
                if len(places) + len(broken) > limit:
                    raise Unreadable(start, too_many(limit))
            start, lines.spent = lines.last + 1, 0
    except csv.Error as error:
        raise Unreadable(start, _told(error)) from error
    found_numbers, wrong = numbers(cells)
    return Rows(ids, found_numbers, places, wrong=wrong, extra=head.extra, broken=tuple(broken))


def json_lines(found: bytes, limit: int) -> Rows:
    """Read one object a line, with dialogue_id and score."""
    refuse_binary(found)
    lines, records = _Lines(found, limit), _Records("line", limit)
    for line in lines:
        lines.spent = 0
        if not line.isspace():
            records.add(line, lines.last)
    return records.rows()


def json_whole(found: bytes, limit: int) -> Rows:
    """Read a list of such objects, or one object with an id and its score in each field."""
    refuse_binary(found)
    if len(found) > JSON:
        raise Unreadable(0, f"has {len(found):,} bytes; as JSON at most {JSON:,} are read, as JSON Lines more")
    try:
        text = found.removeprefix(BOM).decode()
    except UnicodeDecodeError as error:
        line = found.count(b"\n", 0, error.start) + 1
        raise Unreadable(line, f"byte {found[error.start]:#04x} is no UTF-8") from error
    given = _parsed(text, 0)
    if not isinstance(given, list | tuple):
        raise Unreadable(1, "is neither a list of records nor an object of ids and scores")
    records = _Records("record", limit)
    for place, record in enumerate(given, 1):
        records.add((("id", record[0]), (SCORE, record[1])) if isinstance(given, tuple) else record, place)
    return records.rows()


_DECODER = json.JSONDecoder(object_pairs_hook=tuple)
"""An object becomes the tuple of its fields in their order, so that one that is named twice is seen."""


def _parsed(text: str, line: int) -> Any:
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise Unreadable(line or error.lineno, f"is no JSON: {error.msg} at column {error.colno}") from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, or depth
        raise Unreadable(line, f"is no JSON that can be read: {shown(str(error))}") from error


class _Records:
    """The ids and scores of records, taken one by one so that no record outlives its line.

    A record is what was parsed, or a line that is yet to be; an object is the tuple of its fields.
    """

    def __init__(self, unit: str, limit: int) -> None:
        self.unit, self.limit = unit, limit
        self.ids: list[str] = []
        self.values: list[Any] = []
        self.places: list[int] = []
        self.broken: list[Unreadable] = []
        self.known: dict[tuple[str, ...], Header] = {}

    def add(self, record: Any, place: int) -> None:
        """Take one record; one that is broken is noted."""
        if len(self.places) + len(self.broken) == self.limit:
            raise Unreadable(place, too_many(self.limit))
        try:
            name, value = self._fields(_parsed(record, place) if self.unit == "line" else record, place)
        except Unreadable as error:
            self.broken.append(error)
        else:
            self.ids.append(name.strip(BLANK))
            self.values.append(number(value))
            self.places.append(place)

    def rows(self) -> Rows:
        """What was taken."""
        wrong = {row: given for row, given in enumerate(self.values) if isinstance(given, tuple)}
        column = np.array([math.nan if isinstance(given, tuple) else given for given in self.values], dtype=np.float64)
        extra = dict.fromkeys(name for head in self.known.values() for name in head.extra)
        return Rows(self.ids, column, self.places, self.unit, wrong, tuple(extra), tuple(self.broken))

    def _fields(self, record: Any, place: int) -> tuple[str, Any]:
        if not isinstance(record, tuple):
            raise Unreadable(place, "is no object with dialogue_id and score")
        names, given = zip(*record, strict=True) if record else ((), ())
        head = self.known.get(names) or self._header(names, place)
        if not isinstance(given[head.id], str):
            raise Unreadable(place, "its id is no text")
        return given[head.id], given[head.score]

    def _header(self, names: tuple[str, ...], place: int) -> Header:
        try:
            self.known[names] = header(names, "field")
        except Unreadable as error:
            raise Unreadable(place, error.text) from error
        return self.known[names]


def _told(error: csv.Error) -> str:
    reasons = {"unexpected end of data": "a quote opens here that never closes",
               "new-line character seen in unquoted field": "holds a carriage return that ends no line"}
    said = str(error)
    return next((reason for start, reason in reasons.items() if said.startswith(start)), f"is no table: {shown(said)}")
