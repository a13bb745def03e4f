"""Where a metric and people part company: by system, by length, and whether the scores follow length."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from harness.results.rows import DatasetEntry, ItemScores, QualityEntry
from leaderboard.blocks.cells import missing, number, shade
from leaderboard.blocks.pictures import profile
from leaderboard.blocks.pictures.profile import Line
from leaderboard.blocks.tables import Block, Cell, Group, Heading, Picture, Prose, Row, Table
from leaderboard.model.index import Index, Key
from leaderboard.model.paired import (
    Difference,
    Parts,
    Vector,
    correlation,
    differences,
    main_quality,
    partial,
    placed,
    quarters,
    ranks,
    scores_on,
    systems,
)

SHOWN = 12
"""Systems of a dataset on a metric's page: those that people and the metric place most differently."""

PLACES = ("A place is the rank of an item among all of its dataset, from 0, the lowest, to 1, the highest. Positive "
          "differences (blue): the metric places the items higher than people do; negative ones (orange): lower. "
          "The largest of each dataset is marked.")
FOLLOWS = ("Spearman with the number of words: of the scores, and of people's ratings. Words are those of "
           "the response, or of the whole dialogue where that is judged. Length held: partial correlation of ranks.")


@dataclass(frozen=True, slots=True)
class Judged:
    """A dataset with the ratings of the quality that stands for it, and the parts that it is split into."""

    entry: DatasetEntry
    points: ItemScores
    quality: QualityEntry
    ratings: Vector
    systems: Parts
    quarters: Parts

    @property
    def title(self) -> str:
        """The dataset with the quality, as above its rows."""
        return f"{self.entry.name}: {self.quality.name}"


@dataclass(frozen=True, slots=True)
class Finding:
    """What a column does on a dataset, part by part, and its Spearman with people and with length."""

    judged: Judged
    systems: tuple[Difference, ...]
    quarters: tuple[Difference, ...]
    people: float
    length: float
    people_length: float

    @property
    def held(self) -> float:
        """The agreement with people with length held."""
        return partial(self.people, self.length, self.people_length)


def judged(index: Index) -> dict[str, Judged]:
    """Prepare every dataset whose items the report holds as points."""
    points = {entry.dataset: entry for entry in index.results.points}
    ready = {}
    for entry in index.datasets:
        given, quality = points.get(entry.name), main_quality(entry)
        if given is not None and quality is not None and quality.name in given.human:
            ready[entry.name] = Judged(entry, given, quality, given.human[quality.name],
                                       systems(given), quarters(given))
    return ready


def findings(index: Index, ready: Mapping[str, Judged], key: Key, origin: str) -> tuple[Finding, ...]:
    """Hold a column against people on every dataset of an origin."""
    given = ((one, scores_on(one.points, key, one.quality.dimension))
             for entry in index.on(origin) if (one := ready.get(entry.name)) is not None)
    return tuple(finding for one, scores in given if scores is not None for finding in _finding(one, scores))


def tables(index: Index, given: Sequence[Finding], origin: str) -> tuple[Block, ...]:
    """Draw the parts of every dataset: its systems, and quarters by length."""
    by_system = [Group(_rows(one.systems), one.judged.title) for one in given if len(one.systems) > 1]
    by_length = [Group(_rows(one.quarters), one.judged.title) for one in given if one.quarters]
    drawn = (_table(index, f"systems-{origin}", "By system", "System", by_system, origin),
             _table(index, f"lengths-{origin}", "By length", "Length", by_length, origin))
    return (Prose(PLACES), *(table for table in drawn if table.groups)) if any(table.groups for table in drawn) else ()


def length(index: Index, given: Sequence[Finding], label: str, origin: str) -> tuple[Block, ...]:
    """Draw whether scores follow length, dataset by dataset, beside whether people do."""
    known = [one for one in given if math.isfinite(one.length)]
    if not known:
        return ()
    rows = [Line(one.judged.entry.name, f"{label} {number(one.length)}, people {number(one.people_length)}",
                 {"own": one.length, "people": one.people_length}) for one in known]
    told = (f"Spearman of length with the scores of {label} and with the ratings of people. "
            + "; ".join(f"{row.name}: {row.note}" for row in rows) + ".")
    drawn = profile.svg(rows, [("own", label), ("people", "people")], told)
    return (Prose(FOLLOWS), Picture(drawn, told, f"Spearman with length. Data: {index.data(origin)}."),
            _length_table(index, known, origin))


def _finding(one: Judged, scores: Vector) -> tuple[Finding, ...]:
    people, metric = placed(one.ratings, scores)
    there = np.isfinite(people)
    if not there.any():
        return ()
    human, given, words = people[there], metric[there], ranks(one.points.words[there])
    return (Finding(
        one, differences(people, metric, one.systems), differences(people, metric, one.quarters),
        correlation(human, given), correlation(given, words), correlation(human, words)),)


def _table(index: Index, anchor: str, caption: str, part: str, groups: Iterable[Group], origin: str) -> Table:
    return Table(
        anchor, f"{caption}: how people and the metric place the items",
        (Heading(part, "stub"), Heading("Items", "number"), Heading("People", "number", small="mean place"),
         Heading("Metric", "number", small="mean place"), Heading("Difference", "number"),
         Heading("Spearman within", "number")),
        tuple(groups), data=index.data(origin), sample=origin == "sample")


def _rows(parts: Sequence[Difference]) -> tuple[Row, ...]:
    largest = max(abs(part.value) for part in parts)
    shown = sorted(parts, key=lambda part: -abs(part.value))[:SHOWN]
    return tuple(_row(part, abs(part.value) == largest > 0) for part in parts if part in shown)


def _row(part: Difference, largest: bool) -> Row:
    sign = "+" if round(part.value, 3) > 0 else ""
    within = (Cell(number(part.within), value=part.within, shade=shade(part.within)) if math.isfinite(part.within)
              else missing("fewer than three items, or all are equal"))
    return (Cell(part.part), Cell(str(part.items), value=part.items),
            Cell(number(part.people), value=part.people), Cell(number(part.metric), value=part.metric),
            Cell(sign + number(part.value), value=part.value, shade=shade(part.value),
                 small="largest" if largest else "", marks=("best",) if largest else ()), within)


def _length_table(index: Index, given: Sequence[Finding], origin: str) -> Table:
    rows = tuple((Cell(one.judged.entry.name, link=index.dataset_paths[one.judged.entry.name]),
                  Cell(one.judged.quality.name), *map(_value, (one.length, one.people_length, one.people, one.held)))
                 for one in given)
    return Table(
        f"following-{origin}", "Scores, ratings and length",
        (Heading("Dataset", "stub"), Heading("Quality"), Heading("Scores with length", "number"),
         Heading("Ratings with length", "number"), Heading("Scores with ratings", "number"),
         Heading("Scores with ratings", "number", small="length held")),
        (Group(rows),), data=index.data(origin), sample=origin == "sample")


def _value(value: float) -> Cell:
    if not math.isfinite(value):
        return missing("all values are equal, or fewer than three items")
    return Cell(number(value), value=value, shade=shade(value))
