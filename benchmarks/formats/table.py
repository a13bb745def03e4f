"""Tables of items and ratings (rows.py reads them), as somebody keeps them who has annotated dialogues.

A row is an item with a column for each quality, or for each of its raters, or one vote with the columns `quality` and
`rating`; rows with the same `item` belong together, and each gives a vote. `context` holds the turns, `dialogue` those
of a whole dialogue with their speakers (`user: Hello`), one a line, `response` what is judged; `reference` and `fact`
may stand in several rows, or one a line. Where a field can be a list, these may be lists, of texts or of objects with
`text` and `speaker`. Columns of other names mean nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from benchmarks.dataset import Quality
from benchmarks.errors import BadRecord, nearest, raise_if_any
from benchmarks.formats.official import SPEAKERS, Record, is_whole, lines, number
from benchmarks.formats.rows import Row, head

TEXTS = ("context", "response", "dialogue", "system", "language")
LISTS = ("reference", "fact")
COLUMNS = ("item", *TEXTS, *LISTS, "quality", "rating", "annotator")
NEEDED = {"dialogue": ("item", "dialogue"), "turn": ("item", "context", "response")}
SHOWN = 5
"""Places that a remark names."""
MARKS = {"user": "User", "system": "System"}


def records(rows: Sequence[Row], level: str, votes: Mapping[str, Sequence[str]], qualities: Sequence[Quality],
            ) -> list[Record]:
    """The items of a table as records of the organisers' form, each with the votes of its rows.

    `votes` names the columns that hold the votes on each quality, unless a row names its quality.
    """
    items: dict[str, dict[str, Any]] = {}
    scales = {quality.name: quality for quality in qualities}
    voted: dict[tuple[str, str, str], str] = {}
    problems = list(_missing(rows, votes))
    for where, row in rows:
        if lacking := next((name for name in NEEDED[level] if name not in row), None):
            why = is_whole(row, level) or f"a {level}-level table has it, this one has {', '.join(row)}"
            raise BadRecord(head(where), None, lacking, f"is missing; {why}")
        try:
            values = _add(items, where, row, level)
            for quality, column, given in _votes_of(row, votes, where):
                _check_votes(given, scales[quality], where, column)
                _check_annotator(row if given else {}, quality, where, voted)
                values["annotations"].setdefault(quality, []).extend(given)
        except BadRecord as error:
            problems.append(error)
    raise_if_any(problems)
    return [_record(values) for values in items.values()]


def _missing(rows: Sequence[Row], votes: Mapping[str, Sequence[str]]) -> Iterator[BadRecord]:
    """The columns that the card names for a quality, and that no row has; a row that names its quality has none."""
    wide = [(where, row) for where, row in rows if row.get("quality") is None]
    present = {name for _, row in wide for name in row}
    for quality, own in votes.items():
        for column in own if wide else ():
            if column not in present and list(own) != [quality]:  # a quality without a column has no vote
                yield BadRecord(head(wide[0][0]), None, column, f"is missing, and the card says that it holds votes "
                                                                f"on {quality!r}; {nearest(column, wide[0][1])}")


def _check_votes(votes: Sequence[Any], quality: Quality, where: str, column: str) -> None:
    """Refuse a vote off the scale."""
    for vote in map(number, votes):
        if vote is not None and (problem := quality.off_scale(vote)):
            raise BadRecord(where, None, column, problem)


def _check_annotator(row: Mapping[str, Any], quality: str, where: str, voted: dict[tuple[str, str, str], str]) -> None:
    """Refuse a second vote of an annotator on a quality of an item."""
    if (annotator := row.get("annotator")) in (None, ""):
        return
    first = voted.setdefault((str(row["item"]), quality, str(annotator)), where)
    if first != where:
        raise BadRecord(where, None, "annotator", f"{annotator!r:.60} has a vote on {quality!r} of item "
                                                  f"{row['item']!r:.60} already, in {first}")


def _add(items: dict[str, dict[str, Any]], where: str, row: Mapping[str, Any], level: str) -> dict[str, Any]:
    """Add a row to its item, and return that."""
    item = row.get("item")
    if item in (None, ""):
        raise BadRecord(where, None, "item", "is missing or empty; each row names its item")
    values = items.setdefault(str(item), {"dialogue_id": str(item), "annotations": {}, "where": where})
    marked = any(isinstance(turn, dict) and {"speaker", "role"} & turn.keys() for turn in row.get("context") or ())
    for field in TEXTS:
        text = None if row.get(field) is None else _text(row[field], field == "dialogue" or marked, level)
        if text is not None and marked and field == "response":  # then official.py reads the marks of the context
            text = f"System: {_text(row[field])}"
        if text is not None and values.setdefault(field, text) != text:
            raise BadRecord(where, None, field, f"differs from {values['where']}, which is of item {item!r:.60} too; "
                                                "two items need two ids")
    for field in LISTS:
        values[field] = list(dict.fromkeys((*values.get(field, ()), *lines(_text(row.get(field) or "")))))
    return values


def remarks(rows: Sequence[Row], votes: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Columns that mean nothing, rows that stand twice, and places without a vote."""
    rated = [column for own in votes.values() for column in own]
    used = {*COLUMNS, *rated}
    if unused := [name for name in dict.fromkeys(name for _, row in rows for name in row) if name not in used]:
        yield f"columns that mean nothing: {', '.join(unused)}"
    first: dict[str, str] = {}
    if twice := [where for where, row in rows
                 if first.setdefault(json.dumps(row, sort_keys=True, default=str), where) != where]:
        yield (f"{len(twice)} rows are equal to an earlier one, and count as votes of their own" if len(twice) > 1 else
               "1 row is equal to an earlier one, and counts as a vote of its own") + which(twice)
    if empty := [f"{where}, {name}" for where, row in rows for name in (*rated, "rating")
                 if name in row and (row[name] in (None, "") or str(row[name]).upper().startswith("N/A"))]:
        yield (f"{len(empty)} places hold no vote" if len(empty) > 1 else "1 place holds no vote") + which(empty)


def which(places: Sequence[str]) -> str:
    """The first of some places."""
    return f" ({'; '.join(places[:SHOWN])}{'; ...' if len(places) > SHOWN else ''})"


def names(rows: Sequence[Row]) -> tuple[str, ...]:
    """The columns of a table, or the qualities that its rows name."""
    named = dict.fromkeys(str(row["quality"]) for _, row in rows if row.get("quality"))
    return tuple(named or dict.fromkeys(name for _, row in rows for name in row))


def _votes_of(row: Mapping[str, Any], columns: Mapping[str, Sequence[str]], where: str,
              ) -> Iterator[tuple[str, str, list[Any]]]:
    """The votes of a row, with their quality and column."""
    named = row.get("quality")
    if named is None:
        for quality, own in columns.items():
            for column in own:
                yield quality, column, _votes(row.get(column), where, column)
        return
    if named not in columns:
        raise BadRecord(where, None, "quality",
                        f"{named!r:.60} is no quality of the card; {nearest(str(named), columns)}")
    if "rating" not in row:
        raise BadRecord(head(where), None, "rating", "is missing; a row with a quality has the vote on it")
    yield named, "rating", _votes(row["rating"], where, "rating")


def _votes(value: Any, where: str, column: str) -> list[Any]:
    votes = value if isinstance(value, list) else [value]
    for one in votes:
        if one not in (None, "") and number(one) is None and not str(one).strip().upper().startswith("N/A"):
            raise BadRecord(where, None, column, f"should hold a number, holds {one!r:.60}")
    return [one for one in votes if one not in (None, "")]


def _record(values: dict[str, Any]) -> Record:
    """A record as the organisers have it: facts one a line, a dialogue as utterances with speakers."""
    where = values.pop("where")
    values["fact"] = "\n".join(values["fact"])
    if "system" in values:
        values["model"] = values.pop("system")
    if "dialogue" in values:
        turns = [line.partition(":") for line in lines(values.pop("dialogue"))]
        if unmarked := next((turn for turn in turns if not turn[1]), None):
            raise BadRecord(where, None, "dialogue",
                            f"the turn {unmarked[0]!r:.60} has no speaker; write user: or system: before each")
        if not any(text.strip() for _, _, text in turns):
            raise BadRecord(where, None, "dialogue", "holds no turn with text")
        values["dialog"] = [{"speaker": speaker.strip(), "text": text.strip()} for speaker, _, text in turns]
    return Record(where, values["dialogue_id"], values)


def _text(value: Any, marked: bool = False, level: str = "") -> str:
    """A text; of a list one a line, of an object its text, `marked` with the speaker: in a context one of two sides."""
    if isinstance(value, list):
        return "\n".join(_text(one, marked, level) for one in value)
    if not isinstance(value, dict):
        return str(value)
    text = " ".join(str(value.get("text") or value.get("content") or "").split("\n"))
    speaker = str(value.get("speaker") or value.get("role") or "")
    mark = MARKS.get(SPEAKERS.get(speaker.casefold(), ""), "User" if level == "turn" else speaker)
    return f"{mark}: {text}" if marked and speaker else text
