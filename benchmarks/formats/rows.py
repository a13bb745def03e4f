"""The rows of a table, each with its place: .csv, .tsv, .jsonl, a list in JSON."""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.errors import BadRecord, nearest, not_utf8, raise_if_any

Row: TypeAlias = tuple[str, dict[str, Any]]
"""Location of a row, for messages, and its values by column."""
ENDINGS = (".csv", ".tsv", ".jsonl")
SEPARATORS = re.compile("[,;\t]")
FIELD = 1 << 20
"""Characters of a field, at most."""


def read(file: Path, columns: Mapping[str, str]) -> list[Row]:
    """The rows of a file, the columns that are listed under the names that they have here."""
    return [(where, _renamed(where, _flat(row), columns)) for where, row in _of_file(file)]


def head(where: str) -> str:
    """Where the column of a row would be named: in the head of a .csv or .tsv, else in the row."""
    file, _, _ = where.rpartition(", line ")
    return f"{file}, line 1" if file.casefold().endswith(ENDINGS[:2]) else where


def _flat(row: dict[str, Any]) -> dict[str, Any]:
    """The row, an object in it as columns of its own: `ratings.overall`; one that is a turn stays."""
    return {column: value for name, whole in row.items() for column, value in (
        ((f"{name}.{part}", value) for part, value in whole.items())
        if isinstance(whole, dict) and not {"text", "content"} & whole.keys() else ((name, whole),))}


def of_objects(objects: Any, file: str, columns: Mapping[str, str]) -> list[Row] | None:
    """The rows of a list in JSON; None where its objects are records of the organisers: no `item`, nothing mapped."""
    if not isinstance(objects, list) or not (columns or any("item" in one for one in objects[:1])):
        return None
    rows = ((f"{file}, object {number}", one) for number, one in enumerate(objects, 1))
    return [(where, _renamed(where, _flat(_checked(where, one)), columns)) for where, one in rows]


def _renamed(where: str, row: dict[str, Any], columns: Mapping[str, str]) -> dict[str, Any]:
    for own, theirs in columns.items():
        if theirs not in row:
            raise BadRecord(head(where), None, theirs, f"is missing, and the card says that it is the {own}; "
                                                       f"{nearest(theirs, row)}")
    renamed = set(columns.values())
    return {name: value for name, value in row.items() if name not in renamed} | {
        own: row[theirs] for own, theirs in columns.items()}


def _of_file(path: Path) -> Iterator[Row]:
    """The rows of a text file with the lines that they end on."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadRecord(path.name, None, "", not_utf8(error)) from error
    ending = path.suffix.casefold()
    if ending == ".jsonl":
        for line, one in enumerate(text.splitlines(), 1):
            if one.strip():
                where = f"{path.name}, line {line}"
                yield where, _object(where, one)
        return
    before = csv.field_size_limit(FIELD)
    first = SEPARATORS.search(text.partition("\n")[0]) if ending == ".csv" else None
    separator = first[0] if first else "," if ending == ".csv" else "\t"
    problems = list[BadRecord]()
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        if twice := next((name for name, times in Counter(reader.fieldnames or ()).items() if name and times > 1), ""):
            raise BadRecord(f"{path.name}, line 1", None, twice, "is the name of two columns")
        for row in reader:
            where = f"{path.name}, line {reader.line_num}"
            if None in row or None in row.values():
                problems.append(BadRecord(where, None, "", "has more or fewer fields than the head"))
            else:
                yield where, dict(row)
        raise_if_any(problems)
    except csv.Error as error:
        raise BadRecord(f"{path.name}, line {reader.line_num}", None, "", str(error)) from error
    finally:
        csv.field_size_limit(before)


def _object(where: str, text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise BadRecord(where, None, "", f"is not JSON: {error}") from error
    return _checked(where, value)


def _checked(where: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise BadRecord(where, None, "", "should be an object")
    return value
