"""Rows of an untrusted score file: ids with finite decimal numbers, and problems that are safe to print or publish."""

from __future__ import annotations

import gzip
import io
import itertools
import math
import re
import stat
import zlib
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from benchmarks.formats.rows import Unreadable, decoded, delimited

Kind = Literal["unreadable", "unknown", "missing", "duplicate", "no number", "infinite", "constant", "extra column"]

MAX_SHOWN = 80  # maximum characters to show of a string from a file; a longer one ends in three dots

SUFFIXES = (".csv", ".tsv")
ID_COLUMNS = ("dialogue_id", "item", "id")  # names of the column of ids, best first
SCORE = "score"
BLANK = " \t"
GZIP = b"\x1f\x8b"
RATINGS_PREFIX = "annotations."  # prefix of the columns with human ratings in the organisers' tables of results
MAX_BYTES = 256 << 20  # maximum bytes of a file
MAX_DIGITS = 400  # maximum characters of a number, far more than a float can distinguish
DECIMAL = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")

Rejection = tuple[Kind, str]  # the reason why a value is not a score


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem of a score file, with a printable id."""

    kind: Kind
    line: int  # 0 for the whole file
    id: str
    text: str
    fatal: bool = True  # makes the file invalid
    count: int = 1  # affected scores

    @property
    def is_remark(self) -> bool:
        return self.kind == "extra column"


def counts(problems: Iterable[Problem]) -> dict[Kind, int]:
    totals: Counter[Kind] = Counter()
    for problem in problems:
        totals[problem.kind] += problem.count
    return dict(totals)


def describe(problems: Iterable[Problem], limit: int = 20) -> Iterator[str]:
    """Yield a line for each problem; of each kind, only the first `limit`, then the number and lines of the others."""
    kinds: defaultdict[Kind, list[Problem]] = defaultdict(list)
    for problem in problems:
        kinds[problem.kind].append(problem)
        if len(kinds[problem.kind]) <= limit:
            line = f"line {problem.line}: " if problem.line else ""
            yield f"{problem.kind}: {line}{problem.id + ': ' if problem.id else ''}{problem.text}"
    for kind, same_kind in kinds.items():
        if others := same_kind[limit:]:
            lines = f" (lines {listed([str(problem.line) for problem in others], 60)})" if others[-1].line else ""
            yield f"{kind}: and {len(others):,} more{lines}"


def printable(text: str) -> str:
    """Truncate a string from a file, and escape control characters and direction marks."""
    truncated = text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in truncated)


def listed(names: Sequence[str], max_characters: int = 100) -> str:
    """Join names from a file into about `max_characters` characters, with the number of names left out."""
    printable_names = list(map(printable, names))
    lengths = itertools.accumulate(len(name) + 2 for name in printable_names)
    count = max(1, sum(length <= max_characters for length in lengths))
    remainder = f" and {len(printable_names) - count:,} more" if count < len(printable_names) else ""
    return ", ".join(printable_names[:count]) + remainder


@dataclass(frozen=True, slots=True, eq=False)
class ScoreRows:
    """Scores and first lines by id, the number of readable rows, and the problems of all rows.

    A score is NaN if it is missing, invalid or repeated.
    """

    scores: Mapping[str, float]
    lines: Mapping[str, int]
    rows: int
    problems: tuple[Problem, ...]


def read_content(path: Path) -> tuple[str, bytes]:
    """Return the suffix and decompressed content; raise Unreadable unless it is a plain file of bounded size."""
    suffix = Path(path.name.casefold().removesuffix(".gz")).suffix
    if suffix not in SUFFIXES:
        raise Unreadable(0, "has an unknown extension; save it as CSV (expected "
                            f"{' or '.join(SUFFIXES)}, also with .gz)")
    try:
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode):
            raise Unreadable(0, "is a link, a folder, a pipe or a device; expected a plain file")
        if status.st_size > MAX_BYTES:
            raise Unreadable(0, f"has {status.st_size:,} bytes; at most {MAX_BYTES:,} are allowed")
        with path.open("rb") as stream:
            content = stream.read(MAX_BYTES)
    except (OSError, ValueError) as error:  # ValueError: a name with a null byte
        raise Unreadable(0, f"cannot be opened: {getattr(error, 'strerror', None) or error}") from error
    if not content.startswith(GZIP):
        return suffix, content
    try:
        with gzip.open(io.BytesIO(content)) as stream:
            content = stream.read(MAX_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise Unreadable(0, "is a damaged gzip file; compress it again") from error
    if len(content) > MAX_BYTES:
        raise Unreadable(0, f"has more than {MAX_BYTES:,} bytes when decompressed")
    return suffix, content


def rows(content: bytes, suffix: str, limit: int, column: str = "") -> ScoreRows:
    """Parse a file of at most `limit` rows; the scores are in `column` if the file has it, else in `score`."""
    table = delimited(decoded(content), suffix)
    _, names = next(table, (1, []))
    id_column, score_column = header(names, column)
    scores: dict[str, float] = {}
    lines: dict[str, int] = {}
    readable = 0
    problems = [Problem("extra column", 1, printable(name), "is ignored", fatal=False)
                for index, name in enumerate(names) if index not in (id_column, score_column)]
    for count, (line, row) in enumerate(table):
        if count == limit:
            raise Unreadable(line, f"the file has more than {limit:,} rows, far more than the expected scores")
        if len(row) != len(names):
            problems.append(Problem("unreadable", line, "", f"{len(row)} values for {len(names)} columns"))
            continue
        readable += 1
        name, value = row[id_column].strip(BLANK), number(row[score_column].strip(BLANK))
        if isinstance(value, tuple):
            kind, text = value
            problems.append(Problem(kind, line, printable(name), text, fatal=kind != "missing"))
        if name in lines:
            problems.append(Problem("duplicate", line, printable(name), f"already on line {lines[name]}"))
        scores[name] = math.nan if isinstance(value, tuple) or name in lines else value
        lines.setdefault(name, line)
    return ScoreRows(scores, lines, readable, tuple(problems))


def header(names: Sequence[str], column: str) -> tuple[int, int]:
    """Return the indices of the columns of ids and scores; raise Unreadable if one is missing or ambiguous."""
    normalised = [name.strip(BLANK).casefold() for name in names]
    score_name = column.strip(BLANK).casefold()
    if score_name.startswith(RATINGS_PREFIX):
        raise Unreadable(1, f"columns {RATINGS_PREFIX}* hold human ratings and are never read as scores")
    id_columns = [name for name in ID_COLUMNS if name in normalised]
    score = score_name if score_name in normalised else SCORE
    if not id_columns or score not in normalised:
        missing = [] if id_columns else [ID_COLUMNS[0]]
        missing += [] if score in normalised else [column or SCORE]
        remedy = "name the column of scores with --column NAME, or with column = in challenge.toml"
        raise Unreadable(1, f"has no column {' and '.join(missing)}; it has: {listed(names) or 'none'}"
                         f"{f'; {remedy}' if id_columns else ''}")
    if id_columns[0] != ID_COLUMNS[0] and len(id_columns) > 1:
        raise Unreadable(1, f"has the columns {' and '.join(id_columns)}; rename the column of ids to {ID_COLUMNS[0]}")
    for name in (id_columns[0], score):
        if normalised.count(name) > 1:
            raise Unreadable(1, f"has the column {printable(name)} twice")
    return normalised.index(id_columns[0]), normalised.index(score)


def number(text: str) -> float | Rejection:
    """Parse a score; return the reason if it is not a finite number."""
    value = float(text) if len(text) <= MAX_DIGITS and DECIMAL.fullmatch(text) else math.nan
    if math.isfinite(value):
        return value
    if not text:
        return "missing", "has no score: the cell is empty"
    if math.isinf(value):
        return "infinite", f"its score {printable(text)} is too large"
    if text.casefold().lstrip("+-") in {"inf", "infinity", "∞"}:
        return "infinite", f"its score is {text!a}; expected a finite number"
    hint = "; use a decimal point" if re.fullmatch(r"[+-]?[0-9]+,[0-9]+", text) else ""
    return "no number", f"its score {text[:MAX_SHOWN]!a} is not a number{hint}"
