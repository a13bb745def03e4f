"""A page per dataset: how every column agrees with people on each of its qualities, and what people said."""

from __future__ import annotations

import math
from dataclasses import replace

from harness.results.rows import DatasetEntry, ItemScores, QualityEntry, Reliability, Results
from leaderboard.blocks import examples, people
from leaderboard.blocks.cells import count_cell, missing, number_cell
from leaderboard.blocks.cells import table as table_of
from leaderboard.blocks.tables import Cell, Facts, Group, Heading, Page, Section, Table
from leaderboard.blocks.target_boards import TargetColumn, target_boards
from leaderboard.model.index import DATA, ONE_RATER, Column, Index, make_index, origin_of

RELIABILITY = {
    ONE_RATER: ("one against the others", "Spearman of one vote per item with the mean of the others"),
    "split-half": ("half against half", "Spearman of two halves of the votes, stepped up by Spearman-Brown"),
}
"""The kinds of reliability that a metric's row can be compared with."""

SPLIT = {"dev": "development", "test": "test"}


def build(results: Results) -> tuple[Page, ...]:
    """Build a page per dataset."""
    index, points = make_index(results), {entry.dataset: entry for entry in results.points}
    return tuple(_page(index, entry, points.get(entry.name)) for entry in index.datasets)


def tables(index: Index, entry: DatasetEntry) -> tuple[Table, ...]:
    """Every column on every quality of a dataset, a table per statistic."""
    headings = (Heading(quality.name, "number", link=index.quality_paths[quality.dimension])
                for quality in entry.qualities)
    targets = [TargetColumn(entry, *pair) for pair in zip(entry.qualities, headings, strict=True)]
    drawn = target_boards(index, targets, _columns(index, entry), entry.name, "correlation", origin_of(entry))
    raters = _reliability(index, entry, len(drawn[0].headings)) if drawn else Group(())
    return (replace(drawn[0], groups=(*drawn[0].groups, raters)), *drawn[1:]) if raters.rows else drawn


def _page(index: Index, entry: DatasetEntry, points: ItemScores | None) -> Page:
    split = SPLIT.get(entry.split, entry.split)
    return Page(
        path=index.dataset_paths[entry.name], title=entry.title or entry.name, label=entry.name,
        lead=f"{entry.name}: a {split} dataset, judged by the {entry.level}.",
        detail=f"{split}, {entry.level}, {entry.items} items, {entry.origin}",
        sections=(Section("correlation", "Correlation with people", tables(index, entry)),
                  *(_people(index, entry, points) if points is not None else ()), *examples.sections(index, entry),
                  Section("card", "The dataset", (_facts(entry, points), _qualities(index, entry)))),
        group="Datasets", order=1, legend=True, sample=origin_of(entry) == "sample")


def _people(index: Index, entry: DatasetEntry, points: ItemScores) -> tuple[Section, ...]:
    """What people said, and the scores of the best metrics, item by item."""
    parts = (("systems", "How people rated each system", people.system_table(index, entry, points)),
             ("ratings", "How people rated", people.ratings(index, entry, points)),
             ("scores", "Scores of the best metrics", people.scores(index, entry, points)))
    return tuple(Section(anchor, title, blocks) for anchor, title, blocks in parts if blocks)


def _reliability(index: Index, entry: DatasetEntry, width: int) -> Group:
    """How far people agree among themselves, under the correlations of the metrics."""
    known = {(row.method, row.quality): row for row in index.results.reliability if row.dataset == entry.name}
    blank = (Cell(""),) * (width - len(entry.qualities) - 2)
    rows = tuple((Cell(""), Cell(title, title=why), *blank,
                  *(_reliability_cell(known.get((method, quality.name))) for quality in entry.qualities))
                 for method, (title, why) in RELIABILITY.items()
                 if any(math.isfinite(row.value) for (name, _), row in known.items() if name == method))
    return Group(rows, "People among themselves")


def _reliability_cell(row: Reliability | None) -> Cell:
    if row is None or not math.isfinite(row.value):
        return missing("not known" if row is None else row.note)
    return replace(number_cell(row.value), title=f"over {row.items} items")


def _columns(index: Index, entry: DatasetEntry) -> set[Column]:
    """Collect what the run has, and every promised column, so that none is silently left out."""
    promised = {(metric.name, column) for metric in index.results.metrics for column in metric.columns}
    return promised | {(row.metric, row.column) for row in index.results.correlations if row.dataset == entry.name}


def _facts(entry: DatasetEntry, points: ItemScores | None) -> Facts:
    systems = len({name for name in points.systems if name}) if points is not None else 0
    pairs = (("Name", entry.name), ("Split", SPLIT.get(entry.split, entry.split)), ("Level", entry.level),
             ("Origin", f"{entry.origin}: {DATA[origin_of(entry)]}"), ("Items", str(entry.items)),
             ("Ratings", str(entry.ratings)), ("Systems", str(systems or "")), ("Licence", entry.licence),
             ("Citation", entry.citation), ("Notes", entry.notes))
    known = tuple((term, Cell(text)) for term, text in pairs if text)
    return Facts((*known, ("Fingerprint", Cell(entry.fingerprint, code=True))))


def _qualities(index: Index, entry: DatasetEntry) -> Table:
    rows = ((Cell(quality.name), Cell(quality.dimension, link=index.quality_paths[quality.dimension]),
             Cell(_scale(quality)), count_cell(quality.rated)) for quality in entry.qualities)
    headings = (Heading("Quality", "stub"), Heading("Board"), Heading("Scale"), Heading("Items rated", "number"))
    return table_of(index, origin_of(entry), "qualities", f"Qualities of {entry.name}", headings, rows)


def _scale(quality: QualityEntry) -> str:
    if quality.low is None or quality.high is None:
        return "not known"
    return f"{quality.low:g} to {quality.high:g}"
