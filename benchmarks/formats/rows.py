"""The rows of a table, each with its place: .csv, .tsv, .jsonl, a list in JSON, a folder that `datasets` wrote, a
dataset of the hub.

A folder is read as Arrow, without the library; a dataset of the hub needs it.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.errors import BadRecord, BenchmarkError, nearest, not_utf8, raise_if_any
from benchmarks.storage import store

Row: TypeAlias = tuple[str, dict[str, Any]]
"""Where a row stands, for messages, and its values by column."""
ENDINGS = (".csv", ".tsv", ".jsonl")
PARTS = ("items", "votes")
"""The parts of a dataset that this project wrote for `datasets`, and what columns of the first are called here."""
NAMES = {"id": "item", "references": "reference", "facts": "fact"}
SEPARATORS = re.compile("[,;\t]")
FIELD = 1 << 20
"""Characters of a field, at most."""


@dataclass(frozen=True, slots=True)
class TableSource:
    """A file, a folder or the name of a dataset on the hub; `part` is that of a dataset in several parts."""

    place: Path | str
    part: str = ""

    @property
    def is_table(self) -> bool:
        """Whether it has rows of columns; else it is JSON."""
        return isinstance(self.place, str) or self.place.suffix.casefold() in ENDINGS or self.place.is_dir()

    @property
    def shown(self) -> str:
        """What messages call it."""
        return self.place if isinstance(self.place, str) else self.place.name


def read(source: TableSource, columns: Mapping[str, str]) -> list[Row]:
    """The rows, the columns that are listed under the names that they have here."""
    if isinstance(source.place, str):
        rows = _numbered(source.shown, _of_hub(source.place, source.part))
    elif source.place.is_dir():
        rows = _numbered(source.shown, _of_folder(source.place, source.part))
    else:
        rows = _of_file(source.place)
    return [(where, _renamed(where, _flat(row), columns)) for where, row in rows]


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


def _numbered(shown: str, rows: Iterator[dict[str, Any]]) -> Iterator[Row]:
    return ((f"{shown}, row {number}", row) for number, row in enumerate(rows, 1))


def _of_folder(folder: Path, part: str) -> Iterator[dict[str, Any]]:
    """The rows of what `save_to_disk` or `harness export` wrote."""
    if (folder / "items.parquet").is_file():
        import pyarrow.parquet as pq

        yield from _joined(*(pq.read_table(folder / f"{name}.parquet").to_pylist() for name in PARTS))
        return
    if (listed := folder / "dataset_dict.json").is_file():
        parts = json.loads(listed.read_bytes())["splits"]
        if set(parts) == set(PARTS):
            yield from _joined(*(store.rows(folder / name) for name in PARTS))
            return
        folder = folder / _part(folder.name, part, parts)
    try:
        yield from store.rows(folder)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise BenchmarkError(f"{folder}: is no dataset that `save_to_disk` wrote ({error})") from error


def _of_hub(name: str, part: str) -> Iterator[dict[str, Any]]:
    try:
        import datasets
    except ImportError as error:
        raise BenchmarkError(f"{name}: a dataset of the hub is read by the package datasets, which is not installed; "
                             "pip install 'dialogue-harness[all]' brings it") from error
    try:
        exported = {*PARTS} <= {*datasets.get_dataset_config_names(name)}
        parts = [datasets.load_dataset(name, own) for own in (PARTS if exported else (None,))]
    except Exception as error:  # the library raises what it meets
        raise BenchmarkError(f"{name}: `datasets` cannot load it: {' '.join(str(error).split()):.300}") from error
    rows = [each[_part(name, part, list(each))] for each in parts]
    yield from _joined(*rows) if exported else rows[0]


def _joined(items: Iterable[dict[str, Any]], votes: Iterable[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Items with a column of votes for each quality, from the two parts that this project writes."""
    rated: dict[str, dict[str, list[float]]] = {}
    for vote in votes:
        rated.setdefault(vote["item"], {}).setdefault(vote["quality"], []).append(vote["vote"])
    for row in items:
        own = {NAMES.get(name, name): value for name, value in row.items()}
        yield own | rated.get(row["id"], {})


def _part(name: str, part: str, parts: list[str]) -> str:
    """The part that was asked for, or the only one."""
    if part not in parts and (part or len(parts) > 1):
        raise BenchmarkError(f"{name}: has the parts {', '.join(parts)}; say in the card which: part = \"{parts[0]}\"")
    return part or parts[0]


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
