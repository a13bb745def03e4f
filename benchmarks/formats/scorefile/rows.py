"""The rows of a score file: ids with their numbers, decimal and finite.

A file is a plain file of bounded size, CSV or TSV in UTF-8, with or without a byte order mark. The parser is Python's
own, so that there is one answer to where a quote ends.
"""

from __future__ import annotations

import csv
import io
import math
import re
import stat
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks.errors import not_utf8
from benchmarks.formats.scorefile.problems import LONGEST, Kind, Unreadable, listed, printable

FORMS = (".csv", ".tsv")
"""The endings of the files that are read."""
IDS = ("dialogue_id", "item", "id")
"""What the column of ids is called: the first, or one of the others."""
SCORE = "score"
BLANK = " \t"
"""Characters stripped around an id or number."""
RATINGS = "annotations."
"""How the columns begin that hold the ratings of people in the organisers' own tables of results."""

LIMIT = 256 << 20  # bytes of a file
LINE = 1 << 20  # characters of a line, so that no row needs more memory than a few times its size
DIGITS = 400  # characters of a number, far more than a float can tell apart
DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
CSV_ERRORS = {"unexpected end of data": "a quote opens here that never closes",
              "new-line character seen in unquoted field": "holds a carriage return that ends no line"}

Wrong = tuple[Kind, str]
"""Reason why a value is not a score."""


@dataclass(frozen=True, slots=True, eq=False)
class ScoreRows:
    """One id and one number a row (NaN where there is none, with the reason in `wrong`) and the line each stands on.

    `broken` are the rows that could not be read.
    """

    ids: Sequence[str]
    numbers: Sequence[float]
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
        state = path.lstat()
        if not stat.S_ISREG(state.st_mode):
            raise Unreadable(0, "is a link, a folder, a pipe or a device; a plain file is wanted")
        if state.st_size > LIMIT:
            raise Unreadable(0, f"has {state.st_size:,} bytes; at most {LIMIT:,} are read")
        with path.open("rb") as stream:
            return ending, stream.read(LIMIT)
    except (OSError, ValueError) as error:  # ValueError: a name with a null byte
        raise Unreadable(0, f"cannot be opened: {getattr(error, 'strerror', None) or error}") from error


def rows(content: bytes, ending: str, limit: int, column: str = "") -> ScoreRows:
    """The rows of a file, at most `limit`, the scores in a column where there is one of that name, else in `score`.

    CSV is separated by the first of comma, semicolon and tab in its first line. Unreadable with the line where it
    stops.
    """
    if (position := content.find(b"\0")) >= 0:
        raise Unreadable(content.count(b"\n", 0, position) + 1, "holds a null byte, which no text has")
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise Unreadable(error.object.count(b"\n", 0, error.start) + 1, not_utf8(error)) from error
    first = text.partition("\n")[0]
    separator = next((sign for sign in ",;\t" if sign in first), ",") if ending == ".csv" else "\t"
    reader = csv.reader(_lines(text), delimiter=separator, strict=True)
    ids, values, lines, start = [], [], [], 1
    broken: list[Unreadable] = []
    try:
        names = next(reader, [])
        at_id, at_score = header(names, column)
        start = reader.line_num + 1
        for row in reader:
            if len(row) == len(names):
                ids.append(row[at_id].strip(BLANK))
                values.append(number(row[at_score].strip(BLANK)))
                lines.append(start)
            elif row:  # not an empty line
                broken.append(Unreadable(start, f"{len(row)} values for {len(names)} columns"))
            if len(lines) + len(broken) > limit:
                raise Unreadable(start, f"the file has more than {limit:,} rows, far more than there are scores "
                                        "to give")
            start = reader.line_num + 1
    except csv.Error as error:
        reasons = (reason for begin, reason in CSV_ERRORS.items() if str(error).startswith(begin))
        raise Unreadable(start, next(reasons, f"is no table: {printable(str(error))}")) from error
    return ScoreRows(ids, [math.nan if isinstance(value, tuple) else value for value in values],
                     {row: value for row, value in enumerate(values) if isinstance(value, tuple)}, lines,
                     tuple(name for place, name in enumerate(names) if place not in (at_id, at_score)), tuple(broken))


def _lines(text: str) -> Iterator[str]:
    for place, line in enumerate(io.StringIO(text, newline="\n"), 1):
        if len(line) > LINE:
            raise Unreadable(place, f"a line is longer than {LINE:,} characters")
        yield line


def header(names: Sequence[str], column: str) -> tuple[int, int]:
    """The places of the ids and of the scores, by their names; Unreadable where one is missing or named twice."""
    plain = [name.strip(BLANK).casefold() for name in names]
    wanted = column.strip(BLANK).casefold()
    if wanted.startswith(RATINGS):
        raise Unreadable(1, f"columns {RATINGS}* hold what people said, and are never read as scores")
    known, score = [name for name in IDS if name in plain], wanted if wanted in plain else SCORE
    if not known or score not in plain:
        lacking = " and ".join([*(() if known else (IDS[0],)), *(() if score in plain else (column or SCORE,))])
        how = "; say which holds the scores: --column NAME, or column = in challenge.toml" if known else ""
        raise Unreadable(1, f"has no column {lacking}; it has: {listed(names) or 'none'}{how}")
    if known[0] != IDS[0] and len(known) > 1:
        raise Unreadable(1, f"has the columns {' and '.join(known)}; call the one with the ids {IDS[0]}")
    for name in (known[0], score):
        if plain.count(name) > 1:
            raise Unreadable(1, f"has the column {printable(name)} twice")
    return plain.index(known[0]), plain.index(score)


def number(text: str) -> float | Wrong:
    """The number that a text is; else what is wrong with it."""
    plain = float(text) if len(text) <= DIGITS and DECIMAL.fullmatch(text) else math.nan
    if math.isfinite(plain):
        return plain
    if not text:
        return "missing", "has no score: the place is empty"
    if math.isinf(plain):
        return "infinite", f"its score {printable(text)} is more than a number can hold"
    if text.casefold().lstrip("+-") in {"inf", "infinity", "∞"}:
        return "infinite", f"its score is {text!a}; a finite number is wanted"
    hint = "; a decimal point is wanted" if re.fullmatch(r"[+-]?[0-9]+,[0-9]+", text) else ""
    return "no number", f"its score {text[:LONGEST]!a} is no number{hint}"
