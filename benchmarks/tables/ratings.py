"""Conversion of a table of ratings to a dataset, with a report on how it was read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.dataset import SYSTEM, USER, Dataset, DatasetCard, Item, Level, Quality, Rating, Reference, Utterance
from benchmarks.errors import BadRecord
from benchmarks.tables.columns import WHOLE, Recognised, Votes, recognise
from benchmarks.tables.sheet import PROBLEMS, Sheet
from benchmarks.tables.votes import elements

SPEAKERS = {"user": USER, "human": USER, "usr": USER, "customer": USER, "person": USER, "student": USER, "q": USER,
            "question": USER, "a": USER, "speaker 1": USER, "system": SYSTEM, "assistant": SYSTEM, "bot": SYSTEM,
            "model": SYSTEM, "ai": SYSTEM, "agent": SYSTEM, "chatbot": SYSTEM, "gpt": SYSTEM, "tutor": SYSTEM,
            "answer": SYSTEM, "b": SYSTEM, "speaker 2": SYSTEM}
MARK = re.compile(rf"^\s*({'|'.join(sorted(SPEAKERS, key=len, reverse=True))})\s*[:：]\s*",
                  re.IGNORECASE | re.MULTILINE)
SHOWN = 60
"""Characters of a text shown in a report line."""


@dataclass(frozen=True, slots=True)
class Table:
    """A dataset, the columns it was read from, and a report on how they were read."""

    dataset: Dataset
    columns: Recognised
    report: tuple[str, ...]


@dataclass(slots=True)
class _Items:
    """Items and votes as they come, row by row."""

    items: dict[str, Item] = field(default_factory=dict)
    by_content: dict[Hashable, str] = field(default_factory=dict)
    votes: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    raters: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)

    def rater(self, name: str) -> str:
        return self.names.setdefault(name, f"r{len(self.names) + 1}")


def of_sheet(sheet: Sheet, stated: Mapping[str, str], scales: Sequence[tuple[str, ...]] = ()) -> Table:
    """Return the dataset in a table; `stated` gives columns by role. BadRecord names line, column and remedy."""
    columns = recognise(sheet, stated, scales)
    read = _Items()
    problems: list[BadRecord] = []
    for number, row in sheet.rows():
        try:
            _add(read, sheet, columns, number, dict(zip(sheet.columns, row, strict=True)))
        except BadRecord as error:
            problems.append(error)
            if len(problems) == PROBLEMS:
                break
    if problems:
        raise BadRecord(sheet.file, None, "", "; ".join(str(problem).removeprefix(f"{sheet.file}, ")
                                                        for problem in problems))
    if not read.items:
        raise BadRecord(sheet.file, None, columns.roles.get("response", "dialogue"), "is empty in every row")
    return _table(sheet, columns, read)


def _add(read: _Items, sheet: Sheet, columns: Recognised, number: int, row: Mapping[str, Any]) -> None:
    cells = {role: row[column] for role, column in columns.roles.items()}
    item = _item(cells, columns.roles)
    if item is None:
        read.counts["without a response"] += 1
        return
    name = _name(read, cells, item, columns, number)
    rated = False
    for votes in columns.votes:
        if columns.long and str(cells["quality"]).strip() != votes.quality:
            continue
        try:
            values = [votes.scale.vote(cell) for cell in elements(row[votes.column])]
        except ValueError as error:
            raise BadRecord(sheet.where(number), None, votes.column, _bad_vote(str(error), votes)) from error
        rater = votes.rater or str(cells.get("annotator") or "").strip()
        key, given = (name, votes.quality), [vote for vote in values if vote is not None]
        read.votes.setdefault(key, []).extend(given)
        rated |= bool(given)
        if rater and given:
            read.raters.setdefault(key, []).append(read.rater(rater))
    read.counts["without a rating"] += not rated


def _bad_vote(text: str, votes: Votes) -> str:
    scale = f"is none of {votes.scale}" if votes.scale.labels else "is no number"
    return (f"{text!r:.60} {scale}; correct it, empty the cell, or leave the column out by "
            f"--columns ignore={votes.column}")


def _item(cells: Mapping[str, Any], roles: Mapping[str, str]) -> Item | None:
    """Return the item of a row, without its id; None if the response or dialogue is empty."""
    whole = roles.get("context", "").casefold().replace("_", " ") in WHOLE
    context = turns(cells.get("context"), one=whole)
    response = None
    if "response" in roles:
        text = MARK.sub("", " ".join(turn.text for turn in turns(cells["response"], one=True)), count=1)
        if not text:
            return None
        response = Utterance(SYSTEM, text)
    else:
        context = turns(cells.get("dialogue"), last=SYSTEM)
        if not context:
            return None
    return Item("", context, response, tuple(map(Reference, _texts(cells.get("reference")))),
                tuple(_texts(cells.get("fact"))), str(cells["system"]).strip() if cells.get("system") else None,
                str(cells.get("language") or "en"))


def _name(read: _Items, cells: Mapping[str, Any], item: Item, columns: Recognised, number: int) -> str:
    """Return the id of a row's item, storing the item if it is new.

    Rows with the same texts and system are one item if they share an id, or if a column names the rater or quality.
    """
    stated = str(cells["item"]).strip() if cells.get("item") not in (None, "") else ""
    joins = bool(stated) or columns.long or "annotator" in columns.roles
    content = (stated, item.context, item.response, item.system) if joins else number
    if known := read.by_content.get(content):
        return known
    name = base = stated or f"item-{len(read.items) + 1}"
    again = 1
    while name in read.items:
        again += 1
        name = f"{base}#{again}"
    read.counts["with an id of other texts"] += again > 1
    read.by_content[content] = name
    read.items[name] = Item(name, item.context, item.response, item.references, item.facts, item.system, item.language)
    return name


def turns(cell: Any, *, one: bool = False, last: str = USER) -> tuple[Utterance, ...]:
    """Return the turns of a cell: chat messages, a list of texts, or one text.

    A text has its speakers in front of the turns, or a turn on each line, alternating back from `last`; with `one` it
    is a single turn.
    """
    if cell is None:
        return ()
    if isinstance(listed := elements(cell), list):
        if all(isinstance(turn, dict) for turn in listed):
            return tuple(Utterance(_speaker(turn), text) for turn in listed if (text := _content(turn)))
        return _alternating([str(turn) for turn in listed], last)
    text = str(cell).strip().replace("\\n", "\n")
    if MARK.match(text) and not one:
        pieces = MARK.split(text)[1:]
        return tuple(Utterance(SPEAKERS[mark.casefold()], " ".join(said.split()))
                     for mark, said in zip(pieces[::2], pieces[1::2], strict=True) if said.strip())
    return _alternating([text] if one else text.splitlines(), last)


def _alternating(texts: Sequence[str], last: str) -> tuple[Utterance, ...]:
    spoken = [" ".join(text.split()) for text in texts if text.strip()]
    sides = (last, USER if last == SYSTEM else SYSTEM)
    return tuple(Utterance(sides[(len(spoken) - 1 - place) % 2], text) for place, text in enumerate(spoken))


def _speaker(turn: Mapping[str, Any]) -> str:
    speaker = str(turn.get("role") or turn.get("speaker") or turn.get("from") or "user").casefold()
    return SPEAKERS.get(speaker, speaker)


def _content(turn: Mapping[str, Any]) -> str:
    content = turn.get("content", turn.get("text", turn.get("value")))
    if isinstance(content, list):  # parts of a message
        content = " ".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return " ".join(str(content or "").split())


def _texts(cell: Any) -> Iterator[str]:
    for text in elements(cell):
        if isinstance(text, dict):
            text = text.get("text") or text.get("content")
        if text is not None and str(text).strip():
            yield str(text).strip()


def _table(sheet: Sheet, columns: Recognised, read: _Items) -> Table:
    ratings = tuple(Rating(item, quality, tuple(votes), tuple(names) if len(names) == len(votes) else ())
                    for (item, quality), votes in read.votes.items()
                    for names in [read.raters.get((item, quality), [])])
    qualities = []
    for name in columns.qualities:
        values = [vote for rating in ratings if rating.quality == name for vote in rating.votes]
        if not values:
            raise BadRecord(sheet.file, None, name, "holds no vote")
        labels = next(votes.scale.labels for votes in columns.votes if votes.quality == name)
        low, high = (0.0, len(labels) - 1.0) if labels else (min(values), max(values))
        qualities.append(Quality(name, low, high, f"{name} of {slug(sheet.file)}"))
    level: Level = "turn" if columns.level == "turn" else "dialogue"
    card = DatasetCard(slug(sheet.file), Path(sheet.file).stem, "own", level, tuple(qualities), len(read.items), (),
                       "not stated", "")
    dataset = Dataset(card, tuple(read.items.values()), ratings, "imported")
    return Table(dataset, columns, tuple(_report(sheet, columns, read, dataset)))


def slug(file: str) -> str:
    """Return a dataset's name for a file: small letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", file.partition(".")[0].casefold()).strip("-") or "table"


def _report(sheet: Sheet, columns: Recognised, read: _Items, dataset: Dataset) -> Iterator[str]:
    """Report the roles of the columns, the ignored columns, and the first item as it was read."""
    votes = sum(len(rating.votes) for rating in dataset.ratings)
    raters = f"{len(read.names)} raters" if read.names else (
        "one vote per item" if votes <= len(dataset.ratings) else "raters not named")
    yield f"{sheet.file}: {len(dataset.items)} items, {votes} votes, {raters}"
    yield from (f"  {remark}" for remark in (*sheet.remarks, *columns.remarks))
    for role, column in columns.roles.items():
        yield f"  {role:<10} {column}"
    for quality in dataset.card.qualities:
        own = [vote for vote in columns.votes if vote.quality == quality.name]
        from_columns = ", ".join(dict.fromkeys(vote.column for vote in own))
        scale = str(own[0].scale) if own[0].scale.labels else quality.scale
        source = "" if from_columns == quality.name else f" (columns {from_columns})"
        yield f"  rating     {quality.name}: {scale}{source}"
    for column, why in columns.left_out.items():
        yield f"  left out   {column}: {why}"
    for what, count in read.counts.items():
        if count:
            yield f"  {count} {'row' if count == 1 else 'rows'} {what}"
    if votes <= sum(bool(rating.votes) for rating in dataset.ratings):
        yield "  one vote per item: reliability cannot be estimated"
    first = dataset.items[0]
    spoken = " | ".join(f"{turn.speaker}: {turn.text[:SHOWN]}{'...' if len(turn.text) > SHOWN else ''}"
                        for turn in first.utterances[-3:])
    yield f"  first item {'... | ' if len(first.utterances) > 3 else ''}{spoken}"
