"""Tables of items and ratings, as annotators keep them (rows.py reads them).

A row is an item with a column for each quality or each of its raters, or one vote with the columns `quality` and
`rating`; rows with the same `item` belong together. `context` holds the turns, `dialogue` those of a whole dialogue
with their speakers (`user: Hello`), one per line, `response` the response; `reference` and `fact` may stand in several
rows, or one per line. A field may also be a list, of texts or of objects with `text` and `speaker`. Other columns are
ignored.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.dataset import Quality
from benchmarks.errors import BadRecord, nearest, raise_if_any
from benchmarks.formats.official import SPEAKERS, Record, is_none, lines, number, other_level
from benchmarks.formats.rows import Row, head

TEXTS = ("context", "response", "dialogue", "system", "language")
LISTS = ("reference", "fact")
COLUMNS = ("item", *TEXTS, *LISTS, "quality", "rating", "annotator")
NEEDED = {"dialogue": ("item", "dialogue"), "turn": ("item", "context", "response")}
MARKS = {"user": "User", "system": "System"}
SHOWN = 5
"""Locations named in a remark."""


def records(rows: Sequence[Row], level: str, votes: Mapping[str, Sequence[str]], qualities: Sequence[Quality],
            ) -> list[Record]:
    """Return the items of a table as records of the organisers' form, each with the votes of its rows.

    `votes` names the columns of the votes on each quality, for rows that do not name their quality.
    """
    items: dict[str, dict[str, Any]] = {}
    scales = {quality.name: quality for quality in qualities}
    first_votes: dict[tuple[str, str, str], str] = {}
    problems = list(_missing_columns(rows, votes))
    for where, row in rows:
        if missing := next((name for name in NEEDED[level] if name not in row), None):
            why = other_level(row, level) or f"a {level}-level table has it, this one has {', '.join(row)}"
            raise BadRecord(head(where), None, missing, f"is missing; {why}")
        try:
            values = _add(items, where, row, level)
            for quality, column in _columns(row, votes, where):
                row_votes = _votes(row.get(column), scales[quality], where, column)
                if row_votes and row.get("annotator") not in (None, ""):
                    _check_annotator(row, quality, where, first_votes)
                values["annotations"].setdefault(quality, []).extend(row_votes)
        except BadRecord as error:
            problems.append(error)
    raise_if_any(problems)
    return [_record(values) for values in items.values()]


def _missing_columns(rows: Sequence[Row], votes: Mapping[str, Sequence[str]]) -> Iterator[BadRecord]:
    """Yield the columns that the card names for a quality, and that no row without a quality of its own has."""
    wide = [(where, row) for where, row in rows if row.get("quality") is None]
    present = {name for _, row in wide for name in row}
    for quality, columns in votes.items():
        for column in columns if wide else ():
            if column not in present and list(columns) != [quality]:  # a quality without a column has no vote
                yield BadRecord(head(wide[0][0]), None, column, f"is missing, and the card says that it holds votes "
                                                                f"on {quality!r}; {nearest(column, wide[0][1])}")


def _columns(row: Mapping[str, Any], votes: Mapping[str, Sequence[str]], where: str) -> Iterator[tuple[str, str]]:
    """Yield the qualities that a row rates, each with a column."""
    named = row.get("quality")
    if named is None:
        yield from ((quality, column) for quality, columns in votes.items() for column in columns)
        return
    if named not in votes:
        known = nearest(str(named), votes)
        raise BadRecord(where, None, "quality", f"{named!r:.60} is no quality of the card; {known}")
    if "rating" not in row:
        raise BadRecord(head(where), None, "rating", "is missing; a row with a quality has the vote on it")
    yield named, "rating"


def _votes(value: Any, quality: Quality, where: str, column: str) -> list[Any]:
    """Return the votes in a cell."""
    votes = [vote for vote in (value if isinstance(value, list) else [value]) if vote not in (None, "")]
    for vote in votes:
        if (parsed := number(vote)) is None and not is_none(vote):
            raise BadRecord(where, None, column, f"should hold a number, holds {vote!r:.60}")
        if parsed is not None and (problem := quality.off_scale(parsed)):
            raise BadRecord(where, None, column, problem)
    return votes


def _check_annotator(row: Mapping[str, Any], quality: str, where: str, first: dict[tuple[str, str, str], str]) -> None:
    """Refuse a second vote of an annotator on a quality of an item."""
    earlier = first.setdefault((str(row["item"]), quality, str(row["annotator"])), where)
    if earlier != where:
        raise BadRecord(where, None, "annotator", f"{row['annotator']!r:.60} has a vote on {quality!r} of item "
                                                  f"{row['item']!r:.60} already, in {earlier}")


def _add(items: dict[str, dict[str, Any]], where: str, row: Mapping[str, Any], level: str) -> dict[str, Any]:
    """Add a row to its item, and return the item."""
    item = row.get("item")
    if item in (None, ""):
        raise BadRecord(where, None, "item", "is missing or empty; each row names its item")
    values = items.setdefault(str(item), {"dialogue_id": str(item), "annotations": {}, "where": where})
    marked = any(isinstance(turn, dict) and {"speaker", "role"} & turn.keys() for turn in row.get("context") or ())
    for field in TEXTS:
        if row.get(field) is None:
            continue
        text = _text(row[field], field == "dialogue" or (marked and field != "response"), level)
        if marked and field == "response":  # so that official.py reads the marks of the context
            text = f"System: {text}"
        if values.setdefault(field, text) != text:
            raise BadRecord(where, None, field, f"differs from {values['where']}, which is of item {item!r:.60} too; "
                                                "two items need two ids")
    for field in LISTS:
        values[field] = list(dict.fromkeys((*values.get(field, ()), *lines(_text(row.get(field) or "")))))
    return values


def _record(values: dict[str, Any]) -> Record:
    """Return an item as a record of the organisers: facts one per line, a dialogue as utterances with speakers."""
    where = values.pop("where")
    values["fact"] = "\n".join(values["fact"])
    if "system" in values:
        values["model"] = values.pop("system")
    if "dialogue" in values:
        turns = [line.partition(":") for line in lines(values.pop("dialogue"))]
        if unmarked := next((turn for turn, colon, _ in turns if not colon), None):
            raise BadRecord(where, None, "dialogue",
                            f"the turn {unmarked!r:.60} has no speaker; write user: or system: before each")
        if not any(text.strip() for _, _, text in turns):
            raise BadRecord(where, None, "dialogue", "holds no turn with text")
        values["dialog"] = [{"speaker": speaker.strip(), "text": text.strip()} for speaker, _, text in turns]
    return Record(where, values["dialogue_id"], values)


def _text(value: Any, marked: bool = False, level: str = "") -> str:
    """Return a text, a list with one entry per line; `marked` adds the speaker of an object, in a context its side."""
    if isinstance(value, list):
        return "\n".join(_text(entry, marked, level) for entry in value)
    if not isinstance(value, dict):
        return str(value)
    text = " ".join(str(value.get("text") or value.get("content") or "").split("\n"))
    speaker = str(value.get("speaker") or value.get("role") or "")
    mark = MARKS.get(SPEAKERS.get(speaker.casefold(), ""), "User" if level == "turn" else speaker)
    return f"{mark}: {text}" if marked and speaker else text


def remarks(rows: Sequence[Row], votes: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield remarks on ignored columns, repeated rows and cells without a vote."""
    rated = [column for columns in votes.values() for column in columns]
    if unused := [name for name in dict.fromkeys(name for _, row in rows for name in row)
                  if name not in {*COLUMNS, *rated}]:
        yield f"columns that mean nothing: {', '.join(unused)}"
    first: dict[str, str] = {}
    if repeated := [where for where, row in rows
                    if first.setdefault(json.dumps(row, sort_keys=True, default=str), where) != where]:
        yield (f"{len(repeated)} rows are equal to an earlier one, and count as votes of their own"
               if len(repeated) > 1 else "1 row is equal to an earlier one, and counts as a vote of its own"
               ) + which(repeated)
    if empty := [f"{where}, {name}" for where, row in rows for name in (*rated, "rating")
                 if name in row and (row[name] == "" or is_none(row[name]))]:
        yield (f"{len(empty)} places hold no vote" if len(empty) > 1 else "1 place holds no vote") + which(empty)


def which(places: Sequence[str]) -> str:
    """Return the first locations in brackets."""
    return f" ({'; '.join(places[:SHOWN])}{'; ...' if len(places) > SHOWN else ''})"


def names(rows: Sequence[Row]) -> tuple[str, ...]:
    """Return the qualities that the rows name, else the columns."""
    qualities = dict.fromkeys(str(row["quality"]) for _, row in rows if row.get("quality"))
    return tuple(qualities or dict.fromkeys(name for _, row in rows for name in row))
