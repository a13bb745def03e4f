"""Conversion of a table of ratings to a dataset, with a report on how it was read."""

from __future__ import annotations

import hashlib
import itertools
import math
import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

from benchmarks.dataset import (
    LANGUAGE,
    SYSTEM,
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
from benchmarks.tables.cells import (
    DATE,
    MISSING,
    NAMED,
    PREFIX,
    PROMPT,
    elements,
    label,
    number,
    split_by_speaker,
    texts,
    turns,
)
from benchmarks.tables.columns import Recognised, StatedQuality, recognise
from benchmarks.tables.report import different_scales, outliers, report
from benchmarks.tables.roles import dimensions, normal_name, statement
from benchmarks.tables.sheet import Sheet, joined_choices

AUTOMATIC = re.compile(rf"\b({'|'.join(NAMED['automatic'])})")  # names of columns that may hold scores of a judge


@dataclass(frozen=True, slots=True)
class Table:
    """A dataset, its columns, the first location of each item, and a report on how the table was read."""

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
    votes: defaultdict[tuple[str, str], list[tuple[float, str]]] = field(default_factory=partial(defaultdict, list))
    """Votes with the pseudonyms of their raters, by item and quality."""
    pseudonyms: dict[str, str] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)
    ratings: list[Rating] = field(default_factory=list)
    scores: defaultdict[str, dict[str, float]] = field(default_factory=partial(defaultdict, dict))
    shared: dict[Any, Any] = field(default_factory=dict)
    """One object for equal votes of a rater, or equal tuples of raters, since a table may have millions."""

    def rater(self, name: str, votes: Sequence[float]) -> str:
        """Return the pseudonym of the rater who gave a vote; empty if unknown, or if a cell lists several votes."""
        pseudonym = self.pseudonyms.setdefault(name, f"r{len(self.pseudonyms) + 1}") if name and votes else ""
        return pseudonym if len(votes) == 1 else ""

    def finish(self, keys: Iterable[tuple[str, str]]) -> None:
        """Convert the votes of these items and qualities to ratings, with their raters if all are known."""
        for item, quality in keys:
            given = self.votes.pop((item, quality), [])
            names = tuple(name for _, name in given)
            names = self.shared.setdefault(names, names) if all(names) else ()
            self.ratings.append(Rating(item, quality, tuple(vote for vote, _ in given), names))


def of_sheet(sheet: Sheet, stated: Mapping[str, str], scales: Sequence[tuple[str, ...]] = (),
             qualities: Mapping[str, StatedQuality] | None = None, language: str = "en") -> Table:
    """Convert a table to a dataset; the arguments are those of `recognise`, and the default language of items."""
    stated_names = {*"+".join(stated.values()).split("+")}
    sheet = joined_choices(sheet, stated_names.union(*(quality.columns for quality in (qualities or {}).values())))
    columns = recognise(sheet, stated, scales, qualities)
    collected = _Items()
    problems: list[BadRecord] = []
    for line, row in sheet.rows():
        try:
            _add(collected, sheet.where(line), columns, dict(zip(sheet.columns, row, strict=True)), language)
        except BadRecord as error:
            problems.append(error)
    raise_if_any(problems)
    if not collected.items:
        raise BadRecord(sheet.file, None, columns.roles.get("response", "dialogue"), "is empty in every row")
    return _table(sheet, columns, collected)


def _add(collected: _Items, where: str, columns: Recognised, row: Mapping[str, Any], language: str) -> None:
    cells = {role: row[column] for role, column in columns.roles.items()}
    item = _item(collected, cells, columns)
    if item is None:
        collected.counts["without a response"] += 1
        return
    item = replace(item, language=str(cells.get("language") or language))
    if not is_language(item.language):
        raise BadRecord(where, None, columns.roles["language"], f"should be {LANGUAGE}, not {item.language!r:.60}")
    collected.counts["identical to an earlier row"] += (content := hash(repr(row))) in collected.rows
    collected.rows.add(content)
    name = _item_id(collected, cells, item, columns, where)
    _add_scores(collected, name, where, columns, row)
    has_votes = False
    for votes in columns.votes:
        if columns.is_long and str(cells["quality"]).strip() != votes.quality:
            continue
        try:
            cells_of_votes = map(votes.scale.vote, elements(row[votes.column]))
            values = [vote for vote in cells_of_votes if vote is not None]
        except ValueError as error:
            remedy = "" if columns.of_card else f", or leave the column out with --columns ignore={votes.column}"
            if not columns.of_card and not votes.scale.labels:
                remedy = f', or order labels with --scale "no < yes"{remedy}'
            raise BadRecord(where, None, votes.column, f"{error}; correct it or empty the cell{remedy}") from error
        given = collected.votes[name, votes.quality]
        rater = collected.rater(votes.rater or _text(cells, "annotator"), values)
        collected.counts["with a second vote by the same rater"] += any(rater == other for _, other in given if other)
        given += (collected.shared.setdefault((vote, rater), (vote, rater)) for vote in values)
        has_votes |= bool(values)
    collected.counts["without a rating"] += not has_votes
    if not _may_share_item(cells, columns):
        collected.finish((name, quality) for quality in columns.qualities)


def _add_scores(collected: _Items, item: str, where: str, columns: Recognised, row: Mapping[str, Any]) -> None:
    for metric, column in columns.metrics.items():
        cell = row[column]
        if cell is None or label(cell) in MISSING:
            continue
        score = math.nan if DATE.fullmatch(label(cell)) else number(cell)
        problem = "" if math.isfinite(score) else "is not a finite number"
        if not problem and collected.scores[metric].setdefault(item, score) != score:
            problem = "differs from the item's score in an earlier row"
        if problem:
            raise BadRecord(where, None, column, f"{cell!r:.60} {problem}; correct it or empty the cell")


def _item(collected: _Items, cells: Mapping[str, Any], columns: Recognised) -> Item | None:
    all_turns = (turns(cells.get("context"), single=columns.single) if "response" in columns.roles
                 else turns(cells.get("dialogue"), last=SYSTEM))
    context = tuple(turn for turn in all_turns if turn.speaker != PROMPT)
    response = None
    if "response" in columns.roles:
        reply = (turn.text for turn in turns(cells["response"], single=True) if turn.speaker != PROMPT)
        text = " ".join(reply)
        if prefix := PREFIX.match(text):
            text = text[prefix.end():]
        if not text:
            return None
        response = Utterance(SYSTEM, text)
    elif not context:
        return None
    collected.counts["with a system prompt, which is left out"] += context != all_turns
    return Item("", context, response, tuple(map(Reference, texts(cells.get("reference")))),
                tuple(texts(cells.get("fact"))), _text(cells, "system") or None)


def _may_share_item(cells: Mapping[str, Any], columns: Recognised) -> bool:  # other rows may belong to the same item
    return bool(_text(cells, "item")) or columns.is_long or "annotator" in columns.roles


def _text(cells: Mapping[str, Any], role: str) -> str:
    return "" if cells.get(role) is None else str(cells[role]).strip()


def _item_id(collected: _Items, cells: Mapping[str, Any], item: Item, columns: Recognised, where: str) -> str:
    """Return a row's item id: an earlier row's if the texts are the same and rows may share items, else a new id.

    An id that is not stated is a digest of the texts, so that score files fit the table after its rows are sorted.
    """
    stated, may_share = _text(cells, "item"), _may_share_item(cells, columns)
    content = (stated, item.context, item.response, item.system)
    if may_share and (known_id := collected.by_content.get(content)):
        earlier_item = collected.items[known_id]
        collected.items[known_id] = replace(
            earlier_item, references=tuple(dict.fromkeys((*earlier_item.references, *item.references))),
            facts=tuple(dict.fromkeys((*earlier_item.facts, *item.facts))))
        return known_id
    base = stated or f"item-{hashlib.sha256(ascii(content).encode()).hexdigest()[:16]}"
    suffixed = (f"{base}#{count}" for count in itertools.count(2))
    name = next(name for name in itertools.chain([base], suffixed) if name not in collected.items)
    collected.counts["with the id of another item, to which a suffix such as #2 is added" if stated else
                     "whose texts repeat those of an earlier row, counted as separate items; a column `id` or `rater` "
                     "would make them votes on one item"] += name != base
    if may_share:
        collected.by_content[content] = name
    collected.locations[name] = where
    collected.items[name] = replace(item, id=name)
    cell = cells.get("context", cells.get("dialogue"))
    if len(item.context) > 1 and isinstance(elements(cell), tuple) and not split_by_speaker(str(cell), columns.level):
        collected.counts["whose lines are read as turns of alternating speakers"
                         + (f" (--columns prompt={columns.roles['context']} reads them as a single turn)"
                            if columns.level == "turn" else "")] += 1
    return name


def _table(sheet: Sheet, columns: Recognised, collected: _Items) -> Table:
    collected.finish(tuple(collected.votes))
    ratings = tuple(collected.ratings)
    remarks = [*sheet.remarks, *columns.remarks]
    qualities = []
    for name, dimension in zip(columns.qualities, dimensions(columns.qualities, slug(sheet.file)), strict=True):
        quality_ratings = [rating for rating in ratings if rating.quality == name and rating.votes]
        if not (quality_ratings or columns.of_card):
            raise BadRecord(sheet.file, None, name, "contains no votes")
        labels = next(votes.scale.labels for votes in columns.votes if votes.quality == name)
        values = [vote for rating in quality_ratings for vote in rating.votes] or [0.0]
        low, high = (0.0, len(labels) - 1.0) if labels else (min(values), max(values))
        qualities.append(Quality(name, low, high, dimension))
        remarks += [f"{votes.column}: if these are scores of a metric or judge, add "
                    + statement("metric", votes.column, of_card=columns.of_card)
                    for votes in columns.votes if votes.quality == name and AUTOMATIC.search(normal_name(votes.column))]
        remarks += [] if labels else (*different_scales(name, quality_ratings, collected.pseudonyms),
                                      *outliers(name, quality_ratings, collected.locations))
    remarks += [f"{plural(count, 'row')} {problem}" for problem, count in collected.counts.items() if count]
    card = DatasetCard(slug(sheet.file), Path(sheet.file).stem, "own", columns.level, tuple(qualities),
                       len(collected.items), (), "not stated", "")
    if empty := [column for metric, column in columns.metrics.items() if metric not in collected.scores]:
        raise BadRecord(sheet.file, None, empty[0], "contains no scores")
    dataset = Dataset(card, tuple(collected.items.values()), ratings, "imported", scores=collected.scores)
    lines = tuple(report(sheet, columns, dataset, remarks, len(collected.pseudonyms)))
    return Table(dataset, columns, collected.locations, tuple(remarks), lines)


def slug(file: str) -> str:
    """Return a dataset name for a file: lower-case letters, digits and hyphens."""
    return re.sub(r"[^a-z0-9]+", "-", file.partition(".")[0].casefold()).strip("-") or "table"
