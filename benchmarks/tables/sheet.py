"""A table in a file: CSV, TSV, JSON, JSON lines, Parquet or a workbook (.xlsx), gzipped or not.

Text is UTF-8, UTF-16 with a byte order mark, or else Windows-1252. The separator is the one that gives most rows the
same number of cells. Title rows above the header and blank lines are skipped; a header of two lines, from merged cells,
becomes names such as `fluency (Anna)`. In a workbook, a cell merged over several rows counts in each of them. Rows can
be read repeatedly without being held in memory.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import itertools
import json
import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, Literal, TypeAlias, cast

from benchmarks.errors import BadRecord
from benchmarks.formats import official
from benchmarks.formats.rows import decoded, is_encodable, json_lines, located
from benchmarks.storage.archive import decompressed
from benchmarks.tables import workbook
from benchmarks.tables.workbook import Row, shown

Open: TypeAlias = Callable[[], Iterator[Row]]

ENDINGS = (".csv", ".tsv", ".tab", ".txt", ".json", ".jsonl", ".ndjson", ".parquet", ".xlsx")
SEPARATORS = ",;\t|"
HEAD = 200
"""Number of rows to search for separator and header."""
FIELD = 1 << 24
"""Maximum characters of a cell."""
LABEL = 40
"""Maximum characters of a name in a second header line."""
CODES = '{"ImportId"'
"""Beginning of the line of codes that Qualtrics writes below the header."""
PROBLEMS = 10
"""Maximum number of problems in a message."""


@dataclass(frozen=True, slots=True)
class Sheet:
    """Column names, and a function that reads the rows; `lines` is True if rows are numbered by lines of the file."""

    file: str
    columns: tuple[str, ...]
    rows: Open
    remarks: tuple[str, ...] = ()
    lines: bool = True

    def where(self, number: int) -> str:
        return f"{self.file}, {'line' if self.lines else 'row'} {number}"


def read(path: Path) -> Sheet:
    """Open a table; raise BadRecord if the file does not contain one."""
    kind = next((suffix for suffix in reversed(path.suffixes) if suffix.casefold() != ".gz"), "").casefold()
    with path.open("rb") as stream:
        magic = stream.read(4)
    if magic == b"PK\3\4":
        kind = ".xlsx"
    elif magic == b"PAR1":
        kind = ".parquet"
    elif magic[:2] == b"\xd0\xcf":
        raise BadRecord(path.name, None, "", "is an old Excel workbook (.xls); save it as .xlsx or .csv")
    if kind in (".json", ".jsonl", ".ndjson"):
        return of_objects(path.name, lambda: _objects(path, kind != ".json"))
    if kind == ".parquet":
        return of_objects(path.name, lambda: _parquet(path))
    if kind == ".xlsx":
        return _with_header(path.name, lambda: workbook.rows(path), (), lines=False)
    return _text_table(path)


def of_objects(file: str, objects: Callable[[], Iterable[Any]]) -> Sheet:
    """Return a table for a list of objects; nested objects become columns such as `ratings.overall`."""
    columns = tuple(dict.fromkeys(name for row in _flat(file, objects()) for name in row))
    if not columns:
        raise BadRecord(file, None, "", "holds no rows")
    return Sheet(file, columns, lambda: (
        (number, [row.get(name) for name in columns]) for number, row in enumerate(_flat(file, objects()), 1)),
        lines=False)


def _flat(file: str, objects: Iterable[Any]) -> Iterator[dict[str, Any]]:
    for number, row in enumerate(objects, 1):
        if not isinstance(row, dict):
            raise BadRecord(f"{file}, row {number}", None, "", f"should be an object, not {type(row).__name__}")
        flat: dict[str, Any] = {}
        for name, value in row.items():
            nested = isinstance(value, dict) and not {"text", "content"} & value.keys()
            missing = isinstance(value, float) and math.isnan(value)  # as written by pandas
            flat |= ({f"{name}.{part}": inner for part, inner in value.items()} if nested else
                     {str(name): None if missing else value})
        yield flat


def _objects(path: Path, by_line: bool) -> Iterator[Any]:
    """Yield the objects of JSON lines, of a list, of the only list in an object, or of an object by id."""
    with located(path.name):
        text = decoded(decompressed(path))
        if by_line:
            yield from (row for _, row in json_lines(text))
            return
    try:
        records = json.loads(text)
    except (ValueError, RecursionError) as error:
        if "Extra data" in str(error):  # JSON lines in a .json file
            yield from _objects(path, by_line=True)
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


def _parquet(path: Path) -> Iterator[Any]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        for batch in pq.ParquetFile(path).iter_batches(batch_size=1000):
            yield from batch.to_pylist()
    except pa.ArrowException as error:
        raise BadRecord(path.name, None, "", f"is not a Parquet file: {error}") from error


def _bytes(path: Path) -> IO[bytes]:
    if path.suffix.casefold() == ".gz":
        return cast("IO[bytes]", gzip.open(path))
    return path.open("rb")


def _encoding(path: Path) -> str:
    with _bytes(path) as stream:
        if stream.read(2) in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            return "utf-16"
    try:
        with io.TextIOWrapper(_bytes(path), encoding="utf-8") as text:
            while block := text.read(1 << 20):
                if "\0" in block:
                    raise BadRecord(path.name, None, "", "contains null bytes, so it is not a text table; "
                                                         "save it as .csv")
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8-sig"


def _text_table(path: Path) -> Sheet:
    encoding = _encoding(path)
    with io.TextIOWrapper(_bytes(path), encoding=encoding, errors="replace", newline="") as stream:
        head = list(itertools.islice(stream, HEAD))
    skipped, separators = 0, SEPARATORS
    if head and head[0].casefold().startswith("sep=") and len(head[0].strip()) == 5:  # as Excel writes it
        skipped, separators = 1, head[0].strip()[4]
    separator, quoting = _dialect(head[skipped:], separators)

    def rows() -> Iterator[Row]:
        before = csv.field_size_limit(FIELD)
        try:
            with io.TextIOWrapper(_bytes(path), encoding=encoding, errors="replace", newline="") as stream:
                reader = csv.reader(itertools.islice(stream, skipped, None), delimiter=separator, quoting=quoting)
                line = skipped + 1
                for row in reader:
                    yield line, row
                    line = skipped + reader.line_num + 1
        except csv.Error as error:
            raise BadRecord(f"{path.name}, line {line}", None, "", str(error)) from error
        finally:
            csv.field_size_limit(before)

    remarks = ["not UTF-8, read as Windows-1252: check accents and quotation marks"] if encoding == "cp1252" else []
    return _with_header(path.name, rows, remarks, lines=True)


def _dialect(head: Sequence[str], separators: str) -> tuple[str, Literal[0, 3]]:
    """Return the separator and quoting under which most rows have the same number of cells, at least two."""
    best: tuple[float, int] = (0.0, 0)
    dialect: tuple[str, Literal[0, 3]] = (separators[0], csv.QUOTE_MINIMAL)
    quotings: tuple[Literal[0, 3], ...] = (csv.QUOTE_MINIMAL, csv.QUOTE_NONE)
    for separator, quoting in itertools.product(separators, quotings):
        try:
            rows = [row for row in csv.reader(head, delimiter=separator, quoting=quoting) if any(map(str.strip, row))]
        except csv.Error:
            continue
        width, count = max(Counter(map(len, rows)).items(), key=lambda entry: (entry[0] > 1, entry[1]), default=(0, 0))
        torn = sum(cell.count("\n") > 20 for row in rows for cell in row)  # a quotation mark that is never closed
        if width > 1 and (score := (count / len(rows) - torn / len(rows), width)) > best:
            best, dialect = score, (separator, quoting)
    return dialect


def _with_header(file: str, rows: Open, remarks: Sequence[str], *, lines: bool) -> Sheet:
    """Find the header among the first rows, and check the number of cells of every row below it."""
    first, columns, titles = _header(file, list(itertools.islice(rows(), HEAD)))
    if len(columns) < 2:
        raise BadRecord(file, None, "", f"has only one column, {columns[0] if columns else ''!r}; expected a column of "
                                        "responses and a column of ratings")

    def body() -> Iterator[Row]:
        problems: list[str] = []
        for number, row in rows():
            if number > first and any(map(shown, row)):
                if any(map(shown, row[len(columns):])):
                    problems.append(f"line {number} has {len(row)} cells")
                    if len(problems) == PROBLEMS:
                        break
                    continue
                yield number, [*row[:len(columns)], *[None] * (len(columns) - len(row))]
        if problems:
            raise BadRecord(file, None, "", f"{'; '.join(problems)}; the header has {len(columns)}. A cell with the "
                                            "separator or a line break must be quoted")

    return Sheet(file, columns, body, (*remarks, *titles), lines)


def _header(file: str, head: Sequence[Row]) -> tuple[int, tuple[str, ...], list[str]]:
    """Return the last line of the header, the column names, and remarks."""
    filled = [(number, [shown(cell) for cell in row]) for number, row in head if any(map(shown, row))]
    if not filled:
        raise BadRecord(file, None, "", "holds no rows")
    width = Counter(sum(map(bool, row)) for _, row in filled).most_common(1)[0][0]
    start = next((index for index, (_, row) in enumerate(filled) if sum(map(bool, row)) >= max(2, width / 2)), 0)
    coded = next((index for index, (_, row) in enumerate(filled) if row[0].startswith(CODES)), 0)
    start = coded - 1 if coded else start
    line, names = filled[start]
    remarks = [f"line {number} is above the header and was skipped" for number, _ in filled[:start]]
    line = filled[coded][0] if coded else line
    below = [row for _, row in filled[max(start, coded) + 1:]]
    if _is_second_header(names, below):
        line, names = filled[start + 1][0], _merged(names, below[0])
        remarks.append("the header has two lines")
    while names and not names[-1] and all(len(row) < len(names) or not row[len(names) - 1] for row in below):
        names = names[:-1]
    remarks += [f"{name!r} is the name of {count} columns, which are numbered from the left"
                for name, count in Counter(filter(None, names)).items() if count > 1]
    return line, _distinct(names), remarks


def _is_second_header(names: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Return True if the header has gaps or repeated names, the next row has names, and numbers follow."""
    if len(below) < 2 or (all(names) and len(set(names)) == len(names)):
        return False
    labels = [cell for cell in below[0] if cell]
    labelled = [cell for label, cell in zip(below[0], below[1], strict=False) if label]
    return (len(labels) >= 2 and any(map(_is_number, labelled))
            and all(len(cell) <= LABEL and not _is_number(cell) for cell in labels))


def _merged(above: Sequence[str], below: Sequence[str]) -> list[str]:
    """Join two header lines; an empty cell of the first takes the name to its left."""
    names, left = [], ""
    for index in range(max(len(above), len(below))):
        top, label = (row[index] if index < len(row) else "" for row in (above, below))
        left = top or (left if label else "")
        names.append(f"{left} ({label})" if left and label not in ("", left) else left or label)
    return names


def _distinct(names: Sequence[str]) -> tuple[str, ...]:
    """Number repeated names, and name empty ones by their position."""
    named = [" ".join(name.split()) or f"column {number}" for number, name in enumerate(names, 1)]
    repeated = {name for name, count in Counter(named).items() if count > 1}
    return tuple(f"{name} {named[:index + 1].count(name)}" if name in repeated else name
                 for index, name in enumerate(named))


def _is_number(text: str) -> bool:
    return official.number(text.replace(",", ".")) is not None
