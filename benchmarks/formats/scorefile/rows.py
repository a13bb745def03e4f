"""The rows of a score file: ids with their numbers, decimal and finite.

A file is a plain file of bounded size. It is UTF-8, with or without a byte order mark: CSV or TSV. A line may hold a
megabyte, so that no file needs more memory than a few times its size. The parser is Python's own, so that there is one
answer to where a quote ends.
"""

from __future__ import annotations

import contextlib
import csv
import io
import itertools
import math
import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from benchmarks.formats.scorefile.problems import LONGEST, Kind, Unreadable, listed, printable

FORMS = (".csv", ".tsv")
"""The endings of the files that are read."""
IDS = ("dialogue_id", "item", "id")
"""What the column of ids is called: the first, or one of the others."""
SCORE = "score"
BLANK = " \t"
"""What may stand around an id or a number."""
SAMPLE = 20
"""Rows that are looked at to tell which columns hold numbers."""
RATINGS = "annotations."
"""How the columns begin that hold the ratings of people in the organisers' own tables of results."""

LIMIT = 256 << 20  # bytes of a file
LINE = 1 << 20  # characters of a line
LINES = 20  # lines to a row that may be, over the whole file: blank ones, and those within quotes

FLAGS = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
"""A link is not followed, and a pipe that nobody writes to is not waited for."""
MAGIC = {b"\x80\x02": "a pickle", b"\x80\x03": "a pickle", b"\x80\x04": "a pickle", b"\x80\x05": "a pickle",
         b"\x93NUMPY": "an array of numpy", b"PK\x03\x04": "an archive or a spreadsheet", b"\x1f\x8b": "compressed",
         b"PAR1": "Parquet", b"\xff\xfe": "text in UTF-16", b"\xfe\xff": "text in UTF-16"}
"""What a file begins with that is no UTF-8 text."""
DIGITS = 400  # characters of a number, far more than a float can tell apart
DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
SIGNS = re.compile(r"[0-9.eE+-]*")
"""What numbers are made of: of such text float() takes just what is a decimal number."""
BOM = b"\xef\xbb\xbf"
SEPARATORS = (",", ";", "\t")
CSV_ERRORS = {"unexpected end of data": "a quote opens here that never closes",
              "new-line character seen in unquoted field": "holds a carriage return that ends no line"}

Wrong = tuple[Kind, str]
"""Why a value is no score."""
EMPTY: Wrong = ("missing", "has no score: the place is empty")
Header = tuple[int, int, tuple[str, ...]]
"""The positions of the ids and the scores among the columns, and the names of the other columns."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoreRows:
    """One id and one number a row (NaN where there is none, with the reason in `wrong`) and the line each stands on.

    `broken` are the rows that could not be read.
    """

    ids: Sequence[str]
    numbers: npt.NDArray[np.float64]
    wrong: Mapping[int, Wrong]
    lines: Sequence[int]
    extra: tuple[str, ...] = ()
    broken: tuple[Unreadable, ...] = ()


def opened(path: Path) -> tuple[str, bytes]:
    """The ending of a file, which says its form, and its content; Unreadable where it is not safe to open."""
    ending = path.suffix.casefold()
    if ending not in FORMS:
        raise Unreadable(0, f"has none of the known endings; scores come as {', '.join(FORMS)}")
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            raise Unreadable(0, "is a link, a folder, a pipe or a device; a plain file is wanted")
        with os.fdopen(os.open(path, FLAGS), "rb") as stream:
            before = os.fstat(stream.fileno())
            if before.st_size > LIMIT:
                raise Unreadable(0, f"has {before.st_size:,} bytes; at most {LIMIT:,} are read")
            content = stream.read(before.st_size + 1)
            after = os.fstat(stream.fileno())
    except (OSError, ValueError) as error:  # ValueError: a name with a null byte
        raise Unreadable(0, f"cannot be opened: {getattr(error, 'strerror', None) or error}") from error
    if (before.st_size, before.st_mtime_ns) != (len(content), after.st_mtime_ns):
        raise Unreadable(0, "was changed while it was read")
    return ending, content


def rows(content: bytes, ending: str, limit: int, column: str = "") -> ScoreRows:
    """The rows of a file, at most `limit`, the scores in a column where there is one of that name, else in `score`.

    Unreadable with the line where it stops.
    """
    for start, what in MAGIC.items():
        if content.startswith(start):
            raise Unreadable(1, f"is {what} by its first bytes, whatever its name says")
    if (position := content.find(b"\0")) >= 0:
        raise Unreadable(content.count(b"\n", 0, position) + 1, "holds a null byte, which no text has")
    text, bad = _decoded(content.removeprefix(BOM))
    try:
        read = _table(text, "\t" if ending == ".tsv" else None, limit, column)
    except Unreadable as error:
        raise Unreadable(error.line, error.text, bad) from error
    return replace(read, broken=(*bad, *read.broken))


def _decoded(content: bytes) -> tuple[str, tuple[Unreadable, ...]]:
    """The text of a file, and its lines that are no UTF-8: three, and how many more."""
    try:
        return content.decode(), ()
    except UnicodeDecodeError:
        bad = tuple(_not_utf8(content))
        more = (Unreadable(bad[3].line, f"is no UTF-8, nor are {len(bad) - 4:,} lines after it"),) if bad[3:] else ()
        return content.decode(errors="replace"), (*bad[:3], *more)


def _not_utf8(content: bytes) -> Iterator[Unreadable]:
    for place, line in enumerate(io.BytesIO(content), 1):
        try:
            line.decode()
        except UnicodeDecodeError as error:
            yield Unreadable(place, f"byte {line[error.start]:#04x} at place {error.start + 1} is no UTF-8; save the "
                                    "file as UTF-8")


def _lines(text: str, limit: int) -> Iterator[str]:
    """The lines of a text, of bounded number and length."""
    for place, line in enumerate(io.StringIO(text, newline="\n"), 1):
        if place > limit * LINES:
            raise Unreadable(place, f"the file has more than {limit * LINES:,} lines")
        if len(line) > LINE:
            raise Unreadable(place, f"a line is longer than {LINE:,} characters")
        yield line


def _table(text: str, separator: str | None, limit: int, column: str) -> ScoreRows:
    """CSV or TSV; without a separator it is the first of comma, semicolon and tab that the first line holds."""
    first = text.partition("\n")[0]
    delimiter = separator or next((sign for sign in SEPARATORS if sign in first), ",")
    reader = csv.reader(_lines(text, limit), delimiter=delimiter, strict=True)
    ids, texts, starts, start = [], [], [], 1
    broken: list[Unreadable] = []
    try:
        names = next(reader, [])
        (at_id, at_score, extra), width = header(names, column, reader), len(names)
        start = reader.line_num + 1
        for row in reader:
            if row:  # not an empty line
                if len(row) == width:
                    ids.append(row[at_id].strip(BLANK))
                    texts.append(row[at_score].strip(BLANK))
                    starts.append(start)
                else:
                    broken.append(Unreadable(start, f"{len(row)} values for {width} columns"))
                if len(starts) + len(broken) > limit:
                    raise _too_many(start, limit)
            start = reader.line_num + 1
    except csv.Error as error:
        reasons = (reason for begin, reason in CSV_ERRORS.items() if str(error).startswith(begin))
        raise Unreadable(start, next(reasons, f"is no table: {printable(str(error))}")) from error
    return ScoreRows(ids, *numbers(texts), starts, extra=extra, broken=tuple(broken))


def header(names: Sequence[str], column: str = "", sample: Iterable[Sequence[str]] = ()) -> Header:
    """Find the two columns by their names; Unreadable where one is missing or named twice.

    Where none holds the scores, the message names those with numbers in the first rows of a `sample`.
    """
    plain = [name.strip(BLANK).casefold() for name in names]
    wanted = column.strip(BLANK).casefold()
    if wanted.startswith(RATINGS):
        raise Unreadable(1, f"columns {RATINGS}* hold what people said, and are never read as scores")
    known, score = [name for name in IDS if name in plain], wanted if wanted in plain else SCORE
    if not known or score not in plain:
        lacking = " and ".join([*(() if known else (IDS[0],)), *(() if score in plain else (column or SCORE,))])
        why = _numeric(names, sample) if known else f"it has: {listed(names) or 'none'}"
        raise Unreadable(1, f"has no column {lacking}; {why}")
    chosen = known[0]
    if chosen != IDS[0] and len(known) > 1:
        raise Unreadable(1, f"has the columns {' and '.join(known)}; call the one with the ids {IDS[0]}")
    for name in (chosen, score):
        if plain.count(name) > 1:
            raise Unreadable(1, f"has the column {printable(name)} twice")
    two = plain.index(chosen), plain.index(score)
    return (*two, tuple(name for position, name in enumerate(names) if position not in two))


def _numeric(names: Sequence[str], sample: Iterable[Sequence[str]]) -> str:
    """Which columns could be the scores: those with numbers and nothing else, the shortest names first."""
    rows = [row for row in itertools.islice(sample, SAMPLE) if len(row) == len(names)]
    columns = zip(names, zip(*rows, strict=True), strict=True) if rows else ()
    values = {name: [value for value in map(number, column) if value != EMPTY] for name, column in columns}
    numeric = [name for name, own in values.items() if own and all(isinstance(value, float) for value in own)]
    people = [name for name in names if name.casefold().startswith(RATINGS)]
    if choice := sorted(set(numeric) - set(people), key=lambda name: (len(name), name)):
        return f"columns with numbers: {listed(choice)}; say which: --column NAME, or column = in challenge.toml"
    never = f"; columns {RATINGS}* hold what people said, and are never read as scores" if people else ""
    return f"no other column holds numbers (it has: {listed(names)}){never}"


def _too_many(line: int, limit: int) -> Unreadable:
    return Unreadable(line, f"the file has more than {limit:,} rows, far more than there are scores to give")


def numbers(texts: Sequence[str]) -> tuple[npt.NDArray[np.float64], dict[int, Wrong]]:
    """The numbers in a column of text, and what is wrong with the texts that are none."""
    if SIGNS.fullmatch("".join(texts)) and max(map(len, texts), default=0) <= DIGITS:
        with contextlib.suppress(ValueError):  # then each is looked at below
            plain = np.array(list(map(float, texts)), dtype=np.float64)
            if np.isfinite(plain).all():
                return plain, {}
    return _columns(list(map(number, texts)))


def _columns(values: Sequence[float | Wrong]) -> tuple[npt.NDArray[np.float64], dict[int, Wrong]]:
    scores = [math.nan if isinstance(value, tuple) else value for value in values]
    return np.array(scores, np.float64), {row: value for row, value in enumerate(values) if isinstance(value, tuple)}


def number(value: str) -> float | Wrong:
    """The number that a text is; else what is wrong with it."""
    text = value.strip(BLANK)
    plain = float(text) if len(text) <= DIGITS and DECIMAL.fullmatch(text) else math.nan
    if math.isfinite(plain):
        return plain
    if not text:
        return EMPTY
    if math.isinf(plain):
        return "infinite", f"its score {printable(text)} is more than a number can hold"
    if text.casefold().lstrip("+-") in {"inf", "infinity", "∞"}:
        return "infinite", f"its score is {text!a}; a finite number is wanted"
    hint = "; a decimal point is wanted" if re.fullmatch(r"[+-]?[0-9]+,[0-9]+", text) else ""
    return "no number", f"its score {text[:LONGEST]!a} is no number{hint}"
