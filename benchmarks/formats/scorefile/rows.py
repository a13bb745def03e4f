"""The rows of a score file: ids with their numbers.

A file is a plain file of bounded size. It is UTF-8, with or without a byte order mark: CSV, TSV, JSON Lines, or JSON
as one list of records or one object of ids. A row, and a line, may hold a megabyte, so that no file needs more memory
than a few times its size. The parsers are Python's own, so that there is one answer to where a quote ends.
"""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import os
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.formats.scorefile.numbers import BLANK, Wrong, number, numbers
from benchmarks.formats.scorefile.problems import Unreadable, printable

FORMS = (".csv", ".tsv", ".jsonl", ".ndjson", ".json")
"""The endings of the files that are read."""
IDS = ("dialogue_id", "item", "id")
"""What the column of ids is called: the first, or one of the others."""
SCORE = "score"
RATINGS = "annotations."
"""How the columns begin that hold the ratings of people in the organisers' own tables of results."""

LIMIT = 256 << 20  # bytes of a file
JSON = 32 << 20  # bytes of a JSON file: read at once, it takes up to seventy times as many
LINE = 1 << 20  # bytes of a line, and of a row that goes over several
LINES = 20  # lines to a row that may be, over the whole file: blank ones, and those within quotes

FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""A link is not followed, and a pipe that nobody writes to is not waited for."""
MAGIC = {b"\x80\x02": "a pickle", b"\x80\x03": "a pickle", b"\x80\x04": "a pickle", b"\x80\x05": "a pickle",
         b"\x93NUMPY": "an array of numpy", b"PK\x03\x04": "an archive or a spreadsheet", b"\x1f\x8b": "compressed",
         b"PAR1": "Parquet", b"\xff\xfe": "text in UTF-16", b"\xfe\xff": "text in UTF-16"}
"""What a file begins with that is no UTF-8 text."""
BOM = b"\xef\xbb\xbf"
SEPARATORS = (",", ";", "\t")
CSV_ERRORS = {"unexpected end of data": "a quote opens here that never closes",
              "new-line character seen in unquoted field": "holds a carriage return that ends no line"}


@dataclass(frozen=True, slots=True, eq=False)
class ScoreRows:
    """One id and one number a row (NaN where there is none, with the reason in `wrong`) and the line each stands on.

    `unit` is what `lines` counts: lines, or the records of a list. `broken` are the rows that could not be read.
    """

    ids: Sequence[str]
    numbers: npt.NDArray[np.float64]
    lines: Sequence[int]
    unit: str = "line"
    wrong: Mapping[int, Wrong] = field(default_factory=dict)
    extra: tuple[str, ...] = ()
    broken: tuple[Unreadable, ...] = ()


@dataclass(frozen=True, slots=True)
class Header:
    """The positions of the ids and the scores among the columns, and the names of the other columns."""

    id: int
    score: int
    extra: tuple[str, ...]


def opened(path: Path) -> tuple[str, bytes]:
    """The ending of a file, which says its form, and its content; Unreadable where it is not safe to open."""
    ending = path.suffix.casefold()
    if ending not in FORMS:
        raise Unreadable(0, f"has none of the known endings; scores come as {', '.join(FORMS)}")
    try:
        return ending, _content(path)
    except (OSError, ValueError) as error:  # ValueError: a name with a null byte
        raise Unreadable(0, f"cannot be opened: {getattr(error, 'strerror', None) or error}") from error


def _content(path: Path) -> bytes:
    if not stat.S_ISREG(path.lstat().st_mode):
        raise Unreadable(0, "is a link, a folder, a pipe or a device; a plain file is wanted")
    with os.fdopen(os.open(path, FLAGS), "rb") as stream:
        before = os.fstat(stream.fileno())
        if before.st_size > LIMIT:
            raise Unreadable(0, f"has {before.st_size:,} bytes; at most {LIMIT:,} are read")
        content = stream.read(before.st_size + 1)
        after = os.fstat(stream.fileno())
    if (before.st_size, before.st_mtime_ns) != (len(content), after.st_mtime_ns):
        raise Unreadable(0, "was changed while it was read")
    return content


def rows(content: bytes, ending: str, limit: int) -> ScoreRows:
    """The rows of a file, at most `limit`; Unreadable with the line where it stops."""
    for start, what in MAGIC.items():
        if content.startswith(start):
            raise Unreadable(1, f"is {what} by its first bytes, whatever its name says")
    if (position := content.find(b"\0")) >= 0:
        raise Unreadable(content.count(b"\n", 0, position) + 1, "holds a null byte, which no text has")
    if ending == ".json":
        return _json(content, limit)
    if ending in {".jsonl", ".ndjson"}:
        return _json_lines(content, limit)
    return _table(content, "\t" if ending == ".tsv" else None, limit)


class _Lines:
    """The lines of a file, decoded one by one; `spent` counts the bytes of the current row."""

    def __init__(self, content: bytes, limit: int) -> None:
        self._lines = enumerate(io.BytesIO(content.removeprefix(BOM)), 1)
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


def _table(content: bytes, separator: str | None, limit: int) -> ScoreRows:
    """CSV or TSV; without a separator it is the first of comma, semicolon and tab that the first line holds."""
    lines = _Lines(content, limit)
    stream = iter(lines)
    first = next(stream, "")
    delimiter = separator or next((sign for sign in SEPARATORS if sign in first), ",")
    reader = csv.reader(itertools.chain([first], stream), delimiter=delimiter, strict=True)
    ids, texts, starts, start = [], [], [], 1
    broken: list[Unreadable] = []
    try:
        names = next(reader, [])
        head, width = header(names), len(names)
        start, lines.spent = lines.last + 1, 0
        for row in reader:
            if row:  # not an empty line
                if len(row) == width:
                    ids.append(row[head.id].strip(BLANK))
                    texts.append(row[head.score].strip(BLANK))
                    starts.append(start)
                else:
                    broken.append(Unreadable(start, f"{len(row)} values for {width} columns"))
                if len(starts) + len(broken) > limit:
                    raise _too_many(start, limit)
            start, lines.spent = lines.last + 1, 0
    except csv.Error as error:
        reasons = (reason for begin, reason in CSV_ERRORS.items() if str(error).startswith(begin))
        raise Unreadable(start, next(reasons, f"is no table: {printable(str(error))}")) from error
    values, wrong = numbers(texts)
    return ScoreRows(ids, values, starts, wrong=wrong, extra=head.extra, broken=tuple(broken))


def _json_lines(content: bytes, limit: int) -> ScoreRows:
    """One object a line, with dialogue_id and score."""
    lines, records = _Lines(content, limit), _Records("line", limit)
    for line in lines:
        lines.spent = 0
        if not line.isspace():
            records.add(line, lines.last)
    return records.rows()


def _json(content: bytes, limit: int) -> ScoreRows:
    """A list of such objects, or one object with an id and its score in each field."""
    if len(content) > JSON:
        raise Unreadable(0, f"has {len(content):,} bytes; as JSON at most {JSON:,} are read, as JSON Lines more")
    try:
        text = content.removeprefix(BOM).decode()
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise Unreadable(line, f"byte {content[error.start]:#04x} is no UTF-8") from error
    whole = _parsed(text, 0)
    if not isinstance(whole, list | tuple):
        raise Unreadable(1, "is neither a list of records nor an object of ids and scores")
    records = _Records("record", limit)
    for place, record in enumerate(whole, 1):
        records.add((("id", record[0]), (SCORE, record[1])) if isinstance(whole, tuple) else record, place)
    return records.rows()


_DECODER = json.JSONDecoder(object_pairs_hook=tuple)
"""An object becomes the tuple of its fields in their order, so that a field that is named twice is noticed."""


def _parsed(text: str, line: int) -> Any:
    try:
        return _DECODER.decode(text)
    except json.JSONDecodeError as error:
        raise Unreadable(line or error.lineno, f"is no JSON: {error.msg} at column {error.colno}") from error
    except (ValueError, RecursionError) as error:  # a number of thousands of digits, or depth
        raise Unreadable(line, f"is no JSON that can be read: {printable(str(error))}") from error


class _Records:
    """The ids and scores of records, taken one by one so that no record outlives its line.

    A record is an object, as the tuple of its fields, or a line that is not parsed yet.
    """

    def __init__(self, unit: str, limit: int) -> None:
        self.unit, self.limit = unit, limit
        self.ids: list[str] = []
        self.values: list[float | Wrong] = []
        self.lines: list[int] = []
        self.broken: list[Unreadable] = []
        self.headers: dict[tuple[str, ...], Header] = {}

    def add(self, record: Any, line: int) -> None:
        """Take one record; a broken one is noted."""
        if len(self.lines) + len(self.broken) == self.limit:
            raise _too_many(line, self.limit)
        try:
            name, value = self._fields(_parsed(record, line) if self.unit == "line" else record, line)
        except Unreadable as error:
            self.broken.append(error)
        else:
            self.ids.append(name.strip(BLANK))
            self.values.append(number(value))
            self.lines.append(line)

    def rows(self) -> ScoreRows:
        """All records that were added."""
        wrong = {row: value for row, value in enumerate(self.values) if isinstance(value, tuple)}
        scores = [math.nan if isinstance(value, tuple) else value for value in self.values]
        extra = dict.fromkeys(name for head in self.headers.values() for name in head.extra)
        return ScoreRows(self.ids, np.array(scores, dtype=np.float64), self.lines, self.unit, wrong, tuple(extra),
                         tuple(self.broken))

    def _fields(self, record: Any, line: int) -> tuple[str, Any]:
        if not isinstance(record, tuple):
            raise Unreadable(line, "is no object with dialogue_id and score")
        names, values = zip(*record, strict=True) if record else ((), ())
        if names not in self.headers:
            self.headers[names] = header(names, "field", line)
        head = self.headers[names]
        if not isinstance(values[head.id], str):
            raise Unreadable(line, "its id is no text")
        return values[head.id], values[head.score]


def header(names: Sequence[str], unit: str = "column", line: int = 1) -> Header:
    """Find the two columns by their names; Unreadable where one is missing or named twice."""
    plain = [name.strip(BLANK).casefold() for name in names]
    known = [name for name in IDS if name in plain]
    if not known or SCORE not in plain:
        lacking = " and ".join([*(() if known else (IDS[0],)), *(() if SCORE in plain else (SCORE,))])
        people = (f"; {unit}s {RATINGS}* hold what people said, and are never read as scores"
                  if any(name.startswith(RATINGS) for name in plain) else "")
        listed = ", ".join(map(printable, names[:12])) or "none"
        raise Unreadable(line, f"has no {unit} {lacking} (it has: {listed}){people}")
    chosen = known[0]
    if chosen != IDS[0] and len(known) > 1:
        raise Unreadable(line, f"has the {unit}s {' and '.join(known)}; call the one with the ids {IDS[0]}")
    for name in (chosen, SCORE):
        if plain.count(name) > 1:
            raise Unreadable(line, f"has the {unit} {name} twice")
    two = plain.index(chosen), plain.index(SCORE)
    return Header(*two, tuple(name for position, name in enumerate(names) if position not in two))


def _too_many(line: int, limit: int) -> Unreadable:
    return Unreadable(line, f"the file has more than {limit:,} rows, far more than there are scores to give")
