"""Tables of items and ratings: .csv, .tsv or .jsonl, as somebody keeps them who has annotated dialogues.

A row is an item with a column for each quality, or one vote with the columns `quality` and `rating`; rows with the
same `item` belong together, and each gives a vote. `context` holds the turns, `dialogue` those of a whole dialogue with
their speakers (`user: Hello`), one a line, `response` what is judged; `reference` and `fact` may stand in several rows,
or one a line. In .jsonl these may be lists. Columns of other names mean nothing.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.errors import BadRecord
from benchmarks.formats.official import Record, lines, number

ENDINGS = (".csv", ".tsv", ".jsonl")
SEPARATORS = re.compile("[,;\t]")
TEXTS = ("context", "response", "dialogue", "system")
LISTS = ("reference", "fact")
FIELD = 1 << 20
"""Characters of a field, at most."""


def records(path: Path, level: str, qualities: Sequence[str]) -> list[Record]:
    """The items of a table as records of the organisers' form, each with the votes of its rows."""
    found: dict[str, dict[str, Any]] = {}
    needed = ("item", "dialogue") if level == "dialogue" else ("item", "context", "response")
    for line, row in _rows(path):
        if lacking := next((name for name in needed if name not in row), None):
            there = ", ".join(row)
            raise _bad(path.name, line, lacking, f"is missing; a {level}-level table has it, this one has {there}")
        item = row.get("item")
        if not item:
            raise _bad(path.name, line, "item", "is missing or empty; each row names its item")
        values = found.setdefault(str(item), {"dialogue_id": str(item), "annotations": {}})
        for field in TEXTS:
            if row.get(field) is not None and values.setdefault(field, _text(row[field])) != _text(row[field]):
                raise _bad(path.name, line, field, f"differs from an earlier row of item {item!r:.60}")
        for field in LISTS:
            values[field] = list(dict.fromkeys((*values.get(field, ()), *lines(_text(row.get(field) or "")))))
        _add_votes(values["annotations"], row, qualities, path.name, line)
    return [_record(path.name, values) for values in found.values()]


def remarks(path: Path, qualities: Sequence[str]) -> Iterator[str]:
    """Columns that mean nothing, rows that stand twice, and places without a vote."""
    rows = [row for _, row in _rows(path)]
    used = {"item", "quality", "rating", "annotator", *TEXTS, *LISTS, *qualities}
    if unused := [name for name in dict.fromkeys(name for row in rows for name in row) if name not in used]:
        yield f"columns that mean nothing: {', '.join(unused)}"
    if twice := len(rows) - len({json.dumps(row, sort_keys=True) for row in rows}):
        yield f"{twice} rows are equal to an earlier one, and count as votes of their own"
    if empty := sum(row[name] in (None, "") or str(row[name]).upper().startswith("N/A") for row in rows
                    for name in (*qualities, "rating") if name in row):
        yield f"{empty} places hold no vote"


def columns(path: Path) -> tuple[str, ...]:
    """The columns of a table, or the qualities that its rows name."""
    rows = list(_rows(path))
    named = dict.fromkeys(str(row["quality"]) for _, row in rows if row.get("quality"))
    return tuple(named or dict.fromkeys(name for _, row in rows for name in row))


def _add_votes(votes: dict[str, list[Any]], row: Mapping[str, Any], qualities: Sequence[str], file: str,
               line: int) -> None:
    named = row.get("quality")
    if named is None:
        for quality in qualities:
            own = row.get(quality)
            _check_vote(own, file, line, quality)
            votes.setdefault(quality, []).extend(own if isinstance(own, list) else [] if own in (None, "") else [own])
        return
    if named not in qualities:
        raise _bad(file, line, "quality", f"{named!r:.60} is no quality of the card: {', '.join(qualities)}")
    if "rating" not in row:
        raise _bad(file, line, "rating", "is missing; a row with a quality has the vote on it")
    _check_vote(row["rating"], file, line, "rating")
    votes.setdefault(named, []).extend([row["rating"]] if row["rating"] not in (None, "") else [])


def _check_vote(value: Any, file: str, line: int, column: str) -> None:
    for one in value if isinstance(value, list) else [value]:
        if one not in (None, "") and number(one) is None and not str(one).strip().upper().startswith("N/A"):
            raise _bad(file, line, column, f"should hold a number, holds {one!r:.60}")


def _record(file: str, values: dict[str, Any]) -> Record:
    """A record as the organisers have it: facts one a line, a dialogue as utterances with speakers."""
    values["fact"] = "\n".join(values["fact"])
    if "system" in values:
        values["model"] = values.pop("system")
    if "dialogue" in values:
        turns = [line.partition(":") for line in lines(values.pop("dialogue"))]
        if unmarked := next((turn for turn in turns if not turn[1]), None):
            raise BadRecord(file, values["dialogue_id"], "dialogue",
                            f"the turn {unmarked[0]!r:.60} has no speaker; write user: or system: before each")
        values["dialog"] = [{"speaker": speaker.strip(), "text": text.strip()} for speaker, _, text in turns]
    return Record(file, values["dialogue_id"], values)


def _bad(file: str, line: int, field: str, problem: str) -> BadRecord:
    return BadRecord(f"{file}, line {line}", None, field, problem)


def _text(value: Any) -> str:
    return "\n".join(map(str, value)) if isinstance(value, list) else str(value)


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """The rows with the lines that they end on."""
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise BadRecord(path.name, None, "", f"is not UTF-8: {error}") from error
    if path.suffix == ".jsonl":
        for line, one in enumerate(text.splitlines(), 1):
            if one.strip():
                yield line, _object(path.name, line, one)
        return
    csv.field_size_limit(FIELD)
    first = SEPARATORS.search(text.partition("\n")[0]) if path.suffix == ".csv" else None
    separator = first[0] if first else "," if path.suffix == ".csv" else "\t"
    reader = csv.DictReader(io.StringIO(text, newline=""), delimiter=separator, strict=True)
    try:
        for row in reader:
            if None in row or None in row.values():
                raise _bad(path.name, reader.line_num, "", "has more or fewer fields than the head")
            yield reader.line_num, dict(row)
    except csv.Error as error:
        raise _bad(path.name, reader.line_num, "", str(error)) from error


def _object(file: str, line: int, text: str) -> dict[str, Any]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise _bad(file, line, "", f"is not JSON: {error}") from error
    if not isinstance(value, dict):
        raise _bad(file, line, "", "should be an object")
    return value
