"""A page per dataset: how every column agrees with people on each of its qualities, and what people said."""

from __future__ import annotations

import math
from dataclasses import replace

from harness.results.rows import DatasetEntry, ItemScores, QualityEntry, Reliability, Results
from leaderboard.blocks import examples, people
from leaderboard.blocks.cells import missing, number
from leaderboard.blocks.grid import Place, boards
from leaderboard.blocks.tables import Cell, Facts, Group, Heading, Page, Section, Table
from leaderboard.model.index import DATA, Index, Key, make_index, origin_of
from leaderboard.model.reached import Field, field

PEOPLE = {
    "leave-one-out": ("one against the others", "Spearman of one vote per item with the mean of the others"),
    "split-half": ("half against half", "Spearman of two halves of the votes, stepped up by Spearman-Brown"),
}
"""The reliability that a metric's row can be held against."""

SPLIT = {"dev": "development", "test": "test"}


def build(results: Results) -> tuple[Page, ...]:
    """Build a page per dataset."""
    index = make_index(results)
    every, points = field(index), {entry.dataset: entry for entry in results.points}
    return tuple(_page(every, entry, points.get(entry.name)) for entry in index.datasets)


def scale(quality: QualityEntry) -> str:
    """Say the scale of a quality."""
    if quality.low is None or quality.high is None:
        return "not known"
    return f"{quality.low:g} to {quality.high:g}"


def _page(every: Field, entry: DatasetEntry, points: ItemScores | None) -> Page:
    found = every.found
    split = SPLIT.get(entry.split, entry.split)
    return Page(
        path=found.dataset_paths[entry.name],
        title=entry.title or entry.name,
        label=entry.name,
        lead=f"{entry.name}: a {split} dataset, judged by the {entry.level}.",
        detail=f"{split}, {entry.level}, {entry.items} items, {entry.origin}",
        sections=(Section("agreement", "Correlation with people", tables(found, entry)),
                  *(_people(every, entry, points) if points is not None else ()), *examples.sections(found, entry),
                  Section("card", "The dataset", (_facts(entry, points), _qualities(found, entry)))),
        group="Datasets", order=1, legend=True, sample=origin_of(entry) == "sample",
    )


def _people(every: Field, entry: DatasetEntry, points: ItemScores) -> tuple[Section, ...]:
    """What people said, and what the best metrics give, item by item."""
    found = every.found
    parts = (("systems", "The systems in people's eyes", people.system_table(found, entry, points)),
             ("ratings", "How people rated", people.ratings(found, entry, points)),
             ("scores", "What the best metrics give", people.scores(every, entry, points)))
    return tuple(Section(anchor, title, blocks) for anchor, title, blocks in parts if blocks)


def tables(index: Index, entry: DatasetEntry) -> tuple[Table, ...]:
    """Every column on every quality of a dataset, a table per statistic."""
    headings = (Heading(quality.name, "number", link=index.quality_paths[quality.dimension])
                for quality in entry.qualities)
    places = [Place(entry, *pair) for pair in zip(entry.qualities, headings, strict=True)]
    drawn = boards(index, places, _keys(index, entry), entry.name, "agreement", origin_of(entry))
    among = _reliability(index, entry, len(drawn[0].headings)) if drawn else Group(())
    return (replace(drawn[0], groups=(*drawn[0].groups, among)), *drawn[1:]) if among.rows else drawn


def _reliability(index: Index, entry: DatasetEntry, width: int) -> Group:
    """How far people agree among themselves, under what the metrics reach."""
    known = {(row.method, row.quality): row for row in index.results.reliability if row.dataset == entry.name}
    blank = (Cell(""),) * (width - len(entry.qualities) - 2)
    rows = tuple((Cell(""), Cell(title, title=why), *blank,
                  *(_ceiling(known.get((method, quality.name))) for quality in entry.qualities))
                 for method, (title, why) in PEOPLE.items()
                 if any(math.isfinite(row.value) for (name, _), row in known.items() if name == method))
    return Group(rows, "People among themselves")


def _ceiling(row: Reliability | None) -> Cell:
    if row is None or not math.isfinite(row.value):
        return missing("not known" if row is None else row.note)
    return Cell(number(row.value), value=row.value, title=f"over {row.items} items")


def _keys(index: Index, entry: DatasetEntry) -> set[Key]:
    """Collect what the run has, and every promised column, so that none is silently left out."""
    promised = {(card.name, column) for card in index.results.metrics for column in card.columns}
    here = (row for row in index.results.correlations if row.dataset == entry.name)
    return promised | {(row.metric, row.column) for row in here}


def _facts(entry: DatasetEntry, points: ItemScores | None) -> Facts:
    count = len({name for name in points.systems if name}) if points is not None else 0
    pairs = (("Name", entry.name), ("Split", SPLIT.get(entry.split, entry.split)), ("Level", entry.level),
             ("Origin", f"{entry.origin}: {DATA[origin_of(entry)]}"), ("Items", str(entry.items)),
             ("Ratings", str(entry.ratings)), ("Systems", str(count or "")), ("Licence", entry.licence),
             ("Citation", entry.citation), ("Notes", entry.notes))
    known = tuple((term, Cell(text)) for term, text in pairs if text)
    return Facts((*known, ("Fingerprint", Cell(entry.fingerprint, code=True))))


def _qualities(index: Index, entry: DatasetEntry) -> Table:
    rows = tuple((Cell(quality.name), Cell(quality.dimension, link=index.quality_paths[quality.dimension]),
                  Cell(scale(quality)), Cell(str(quality.rated))) for quality in entry.qualities)
    return Table(
        anchor="qualities", caption=f"Qualities of {entry.name}",
        headings=(Heading("Quality", "stub"), Heading("Board"), Heading("Scale"),
                  Heading("Items rated", "number")),
        groups=(Group(rows),),
        data=index.data(origin_of(entry)), sample=origin_of(entry) == "sample",
    )
