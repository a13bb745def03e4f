"""Conversion of a table of ratings to a dataset, with a report on how it was read."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.dataset import (
    LANGUAGE,
    SYSTEM,
    USER,
    Dataset,
    DatasetCard,
    Item,
    Quality,
    Rating,
    Reference,
    Utterance,
    is_language,
)
from benchmarks.errors import BadRecord, plural, raise_if_any
from benchmarks.formats.official import alternating
from benchmarks.tables.columns import LISTED, Recognised, StatedQuality, listed, recognise
from benchmarks.tables.sheet import Sheet
from benchmarks.tables.votes import NAMED, elements

SPEAKERS: dict[str, str] = {name: side for side, names in NAMED["speakers"].items() for name in names}
PREFIX = re.compile(rf"^\s*({'|'.join(sorted(SPEAKERS, key=len, reverse=True))})\s*[:：]\s*",
                  re.IGNORECASE | re.MULTILINE)
SPOKEN = re.compile(r"\s*([^:：]{1,30})[:：](?!//)\s*(.*)")
"""A line of a dialogue with the name of its speaker."""
TIME = re.compile(r"^\s*\[?\d{1,2}:\d\d(:\d\d)?(\s*[ap]m)?\]?\s*-?\s+(?=\D)", re.IGNORECASE | re.MULTILINE)
"""The time before a turn."""
SHOWN, FIRST = 60, 6
"""Maximum characters of a text in a report line, and maximum turns of the first item (the last ones are shown)."""
OUTLYING = 2.0
"""A single vote is reported if, without it, the range of the votes would be less than 1/OUTLYING of the full range."""


@dataclass(frozen=True, slots=True)
class Table:
    """A dataset, the columns it was read from, the first location of each item, and a report on how they were read.

    The report ends with the remarks and the first item.
    """

    dataset: Dataset
    columns: Recognised
    locations: Mapping[str, str]
    remarks: tuple[str, ...]
    report: tuple[str, ...]


@dataclass(slots=True)
class _Items:
    """Items and votes, collected row by row."""

    items: dict[str, Item] = field(default_factory=dict)
    locations: dict[str, str] = field(default_factory=dict)
    rows: set[int] = field(default_factory=set)
    by_content: dict[Hashable, str] = field(default_factory=dict)
    votes: dict[tuple[str, str], list[float]] = field(default_factory=dict)
    raters: dict[tuple[str, str], list[str]] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    ratings: list[Rating] = field(default_factory=list)
    shared: dict[Any, Any] = field(default_factory=dict)
    """Equal votes, and equal tuples of raters, as one object, since a table may have millions."""

    def rater(self, name: str) -> str:
        return self.names.setdefault(name, f"r{len(self.names) + 1}")

    def finish(self) -> None:
        """Convert the votes to ratings, with their raters if all are known."""
        for (item, quality), votes in self.votes.items():
            names = tuple(self.raters.get((item, quality), ()))
            names = self.shared.setdefault(names, names) if len(names) == len(votes) else ()
            self.ratings.append(Rating(item, quality, tuple(votes), names))
        self.votes.clear()
        self.raters.clear()


def of_sheet(sheet: Sheet, stated: Mapping[str, str], scales: Sequence[tuple[str, ...]] = (),
             qualities: Mapping[str, StatedQuality] | None = None, language: str = "en") -> Table:
    """Convert a table to a dataset; the arguments are those of `recognise`, and the default language of items.

    Raise BadRecord with line, column and remedy.
    """
    columns = recognise(sheet, stated, scales, qualities)
    read = _Items()
    problems: list[BadRecord] = []
    for number, row in sheet.rows():
        try:
            _add(read, sheet.where(number), columns, dict(zip(sheet.columns, row, strict=True)), language)
        except BadRecord as error:
            problems.append(error)
    raise_if_any(problems)
    if not read.items:
        raise BadRecord(sheet.file, None, columns.roles.get("response", "dialogue"), "is empty in every row")
    return _table(sheet, columns, read)


def _add(read: _Items, where: str, columns: Recognised, row: Mapping[str, Any], language: str) -> None:
    cells = {role: row[column] for role, column in columns.roles.items()}
    item = _item(cells, columns)
    if item is None:
        read.counts["without a response"] += 1
        return
    item = replace(item, language=str(cells.get("language") or language))
    if not is_language(item.language):
        raise BadRecord(where, None, columns.roles["language"], f"should be {LANGUAGE}, not {item.language!r:.60}")
    read.counts["identical to an earlier row"] += (content := hash(repr(row))) in read.rows
    read.rows.add(content)
    name = _name(read, cells, item, columns, where)
    rated = False
    for votes in columns.votes:
        if columns.long and str(cells["quality"]).strip() != votes.quality:
            continue
        try:
            values = [votes.scale.vote(cell) for cell in elements(row[votes.column])]
        except ValueError as error:
            remedy = "" if columns.of_card else f", or leave the column out by --columns ignore={votes.column}"
            if not columns.of_card and not votes.scale.labels:
                remedy = f', or order labels by --scale "no < yes"{remedy}'
            raise BadRecord(where, None, votes.column, f"{error}; correct it or empty the cell{remedy}") from error
        rater = votes.rater or str(cells.get("annotator") or "").strip()
        key = name, votes.quality
        given = [read.shared.setdefault(vote, vote) for vote in values if vote is not None]
        read.votes.setdefault(key, []).extend(given)
        rated |= bool(given)
        if rater and given:
            earlier = read.raters.setdefault(key, [])
            read.counts["with a second vote by the same rater"] += read.rater(rater) in earlier
            earlier.append(read.rater(rater))
    read.counts["without a rating"] += not rated
    if not _joins(cells, columns):
        read.finish()


def _item(cells: Mapping[str, Any], columns: Recognised) -> Item | None:
    """Return the item of a row, without its id; None if the response or dialogue is empty."""
    context = turns(cells.get("context"), single=columns.single)
    response = None
    if "response" in columns.roles:
        text = PREFIX.sub("", " ".join(turn.text for turn in turns(cells["response"], single=True)), count=1)
        if not text:
            return None
        response = Utterance(SYSTEM, text)
    else:
        context = turns(cells.get("dialogue"), last=SYSTEM)
        if not context:
            return None
    return Item("", context, response, tuple(map(Reference, _texts(cells.get("reference")))),
                tuple(_texts(cells.get("fact"))), str(cells["system"]).strip() if cells.get("system") else None)


def _joins(cells: Mapping[str, Any], columns: Recognised) -> bool:
    """Return True if other rows may belong to the same item."""
    return bool(_stated_id(cells)) or columns.long or "annotator" in columns.roles


def _stated_id(cells: Mapping[str, Any]) -> str:
    return "" if cells.get("item") is None else str(cells["item"]).strip()


def _name(read: _Items, cells: Mapping[str, Any], item: Item, columns: Recognised, where: str) -> str:
    """Return the id of a row's item, storing the item if it is new.

    Rows with the same texts and system are one item if they share an id, or if a column names the rater or quality.
    """
    stated, joins = _stated_id(cells), _joins(cells, columns)
    content = (stated, item.context, item.response, item.system)
    if joins and (known := read.by_content.get(content)):
        earlier = read.items[known]
        read.items[known] = replace(earlier, references=tuple(dict.fromkeys((*earlier.references, *item.references))),
                                    facts=tuple(dict.fromkeys((*earlier.facts, *item.facts))))
        return known
    name = base = stated or f"item-{len(read.items) + 1}"
    again = 1
    while name in read.items:
        again += 1
        name = f"{base}#{again}"
    read.counts["with the id of another item, to which a suffix such as #2 is added"] += again > 1
    if joins:
        read.by_content[content] = name
    read.locations[name] = where
    read.items[name] = replace(item, id=name)
    cell = cells.get("context", cells.get("dialogue"))
    if len(item.context) > 1 and isinstance(elements(cell), tuple) and not _spoken(str(cell), columns.level):
        read.counts["whose lines are read as turns of alternating speakers"
                    + (f" (--columns prompt={columns.roles['context']}: a single turn)"
                       if columns.level == "turn" else "")] += 1
    return name


def turns(cell: Any, *, single: bool = False, last: str = USER) -> tuple[Utterance, ...]:
    """Return the turns of a cell: chat messages, a list of texts, or one text.

    A text has speaker prefixes, or one turn per line with speakers alternating back from `last`; with `single` it is
    one turn.
    """
    if cell is None:
        return ()
    if isinstance(listed := elements(cell), list):
        if all(isinstance(turn, dict) for turn in listed):
            return tuple(Utterance(_speaker(turn), text) for turn in listed if (text := _content(turn)))
        return alternating((_in_line(str(turn)) for turn in listed), last)
    text = str(cell)
    if single:
        return alternating([_in_line(_unescaped(text))], last)
    return (_spoken(text, "turn" if last == USER else "dialogue")
            or alternating(map(_in_line, _unescaped(text).splitlines()), last))


def _spoken(text: str, level: str) -> tuple[Utterance, ...]:
    """Split a text at its speaker prefixes, which may be any names in a dialogue; empty if it has none."""
    text = TIME.sub("", _unescaped(text))
    if PREFIX.match(text):
        pieces = PREFIX.split(text)[1:]
        spoken = [(speaker, said) for speaker, said in zip(pieces[::2], pieces[1::2], strict=True)]
    else:
        named = [SPOKEN.fullmatch(line) for line in text.splitlines() if line.strip()]
        if level == "turn" or not all(named):
            return ()
        spoken = [(line[1], line[2]) for line in named if line]
    return tuple(Utterance(SPEAKERS.get(speaker.casefold().strip(), speaker.strip()), _in_line(said))
                 for speaker, said in spoken if said.strip())


def _unescaped(text: str) -> str:
    return text.strip().replace("\\n", "\n")


def _in_line(text: str) -> str:
    return " ".join(text.split())


def _speaker(turn: Mapping[str, Any]) -> str:
    speaker = str(turn.get("role") or turn.get("speaker") or turn.get("from") or "user").casefold()
    return SPEAKERS.get(speaker, speaker)


def _content(turn: Mapping[str, Any]) -> str:
    content = turn.get("content", turn.get("text", turn.get("value")))
    if isinstance(content, list):  # parts of a message
        content = " ".join(str(part.get("text", "")) for part in content if isinstance(part, dict))
    return _in_line(str(content or ""))


def _texts(cell: Any) -> Iterator[str]:
    for text in elements(cell):
        if isinstance(text, dict):
            text = text.get("text") or text.get("content")
        if text is not None and str(text).strip():
            yield str(text).strip()


def _table(sheet: Sheet, columns: Recognised, read: _Items) -> Table:
    read.finish()
    ratings = tuple(read.ratings)
    remarks = [*sheet.remarks, *columns.remarks]
    qualities = []
    for name in columns.qualities:
        rated = [rating for rating in ratings if rating.quality == name and rating.votes]
        if not (rated or columns.of_card):
            raise BadRecord(sheet.file, None, name, "contains no votes")
        labels = next(votes.scale.labels for votes in columns.votes if votes.quality == name)
        values = [vote for rating in rated for vote in rating.votes] or [0.0]
        low, high = (0.0, len(labels) - 1.0) if labels else (min(values), max(values))
        qualities.append(Quality(name, low, high, f"{name} of {slug(sheet.file)}"))
        remarks += [] if labels else _outliers(name, rated, read.locations)
    remarks += [f"{plural(count, 'row')} {problem}" for problem, count in read.counts.items() if count]
    card = DatasetCard(slug(sheet.file), Path(sheet.file).stem, "own", columns.level, tuple(qualities),
                       len(read.items), (), "not stated", "")
    dataset = Dataset(card, tuple(read.items.values()), ratings, "imported")
    report = tuple(_report(sheet, columns, dataset, remarks, len(read.names)))
    return Table(dataset, columns, read.locations, tuple(remarks), report)


def _outliers(quality: str, ratings: Sequence[Rating], locations: Mapping[str, str]) -> Iterator[str]:
    """Yield a remark on each single vote that widens the scale."""
    votes = sorted(vote for rating in ratings for vote in rating.votes)
    for end, rest in ((votes[:1], votes[1:]), (votes[-1:], votes[:-1])):
        if len(rest) > 2 and 0 < OUTLYING * (rest[-1] - rest[0]) < votes[-1] - votes[0]:
            item = next(rating.item for rating in ratings if end[0] in rating.votes)
            yield (f"{quality}: a single vote, {end[0]:g}, is far from all others, {rest[0]:g} to {rest[-1]:g}; see "
                   f"{locations[item].rpartition(', ')[2]}")


def slug(file: str) -> str:
    """Return a dataset name for a file: lower-case letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", file.partition(".")[0].casefold()).strip("-") or "table"


def _report(sheet: Sheet, columns: Recognised, dataset: Dataset, remarks: Sequence[str], raters: int) -> Iterator[str]:
    """Yield the lines of the report: roles of columns, ignored columns, remarks, and the first item."""
    votes, rated = sum(len(rating.votes) for rating in dataset.ratings), dataset.rated
    names = [quality.name for quality in dataset.card.qualities]
    single = f"one vote per item{' and quality' if names[1:] else ''}" if votes <= rated else ""
    by = plural(raters, "rater") if raters else single or "raters not named"
    yield f"{sheet.file}: {plural(len(dataset.items), 'item')}, {plural(votes, 'vote')}, {by}"
    for role, column in columns.roles.items():
        yield f"  {role:<10} {column}"
    for quality in dataset.card.qualities[:LISTED]:
        of_quality = [vote for vote in columns.votes if vote.quality == quality.name]
        from_columns = listed([*dict.fromkeys(vote.column for vote in of_quality)])
        scale = str(of_quality[0].scale) if of_quality[0].scale.labels else quality.scale
        source = "" if from_columns == quality.name else f" (columns {from_columns})"
        yield f"  rating     {quality.name}: {scale}{source}"
    if names[LISTED:]:
        yield f"  rating     {listed(names[LISTED:])}"
    reasons: dict[str, list[str]] = {}
    for column, why in columns.left_out.items():
        reasons.setdefault(why, []).append(column)
    for why, left_out in reasons.items():
        yield f"  left out   {listed(left_out)}: {why}"
    yield from (f"  {remark}" for remark in remarks)
    if single:
        yield f"  {single}: reliability cannot be estimated"
        if len(names) > 1:
            few = ", ".join((*names[:3], *(["..."] if len(names) > 3 else [])))
            yield f"  if {few} are raters of one quality, name the columns {_as_raters(names)}, ..."
    first = dataset.items[0]
    spoken = " | ".join(f"{turn.speaker}: {turn.text[:SHOWN]}{'...' if len(turn.text) > SHOWN else ''}"
                        for turn in first.utterances[-FIRST:])
    yield f"  first item {'... | ' if len(first.utterances) > FIRST else ''}{spoken}"


def _as_raters(names: Sequence[str]) -> str:
    """Return a name for the first column that marks it as a rater's: `helpful (anna)` for helpful_anna."""
    quality, _, rater = names[0].partition("_")
    shared = rater and sum(name.startswith(f"{quality}_") for name in names) > 1
    return f"{quality} ({rater})" if shared else f"rater_{names[0]}"
