"""A page per dataset: the facts, how far its raters agree, which metrics lead, its systems, items in dispute."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from harness.results.rows import DatasetEntry, ItemScores, QualityEntry, Results
from leaderboard.blocks.boards import CONTROL, dataset_board
from leaderboard.blocks.cells import count_cell, lead_marks, leaders, missing, number_cell
from leaderboard.blocks.cells import table as table_of
from leaderboard.blocks.items import example_blocks
from leaderboard.blocks.tables import Block, Cell, Facts, Group, Heading, Page, Prose, Section, Table
from leaderboard.model.index import ONE_RATER, Index, main_quality, make_index, slugs
from leaderboard.model.questions import LIMIT

TWO = "2 only: a metric that tells the two apart, and nothing else, may still correlate with people"
FIRST = 20
"""Columns that are listed; the downloads have every one."""

AGREE = ("One rater: one rater’s agreement with the mean of the others; not an upper bound. Reliability: of the mean "
         "of all votes, from halves of them. Limit: its root, about the most an errorless metric would reach.")
EXPLAINED = ("Where people and metrics disagree most. Places run from 0, the lowest of the dataset, to 1, the highest. "
             "Square: people. Dot: the median of the metrics; controls, and metrics fitted on these ratings, are left "
             "out. Strokes: the named metrics. Of longer dialogues the last utterances are shown.")


def build(results: Results) -> tuple[Page, ...]:
    """Build a page per dataset."""
    index, points = make_index(results), {entry.dataset: entry for entry in results.points}
    return tuple(_page(index, entry, points.get(entry.name)) for entry in index.datasets)


def _page(index: Index, entry: DatasetEntry, points: ItemScores | None) -> Page:
    return Page(
        path=index.dataset_paths[entry.name], title=entry.title or entry.name, label=entry.name, lead="",
        detail=", ".join(filter(None, (_split(index, entry), entry.level, f"{entry.items} items"))),
        sections=(Section("card", "The dataset",
                          (_facts(index, entry, points), _qualities(index, entry), Prose(AGREE))),
                  Section("correlation", "Which metrics lead", _leading(index, entry)),
                  *((Section("systems", "How people rated each system", blocks),)
                    if points and (blocks := _systems(index, entry, points)) else ()),
                  *_examples(index, entry)),
        group="Datasets", order=1)


def _split(index: Index, entry: DatasetEntry) -> str:
    return "development" if (name := index.split(entry.split)) == "dev" else name


def _facts(index: Index, entry: DatasetEntry, points: ItemScores | None) -> Facts:
    systems = len({name for name in points.systems if name}) if points is not None else 0
    pairs = (("Name", entry.name), ("Split", _split(index, entry)), ("Level", entry.level),
             ("Language", entry.language), ("Origin", entry.origin),
             ("Items", f"{entry.items}, {entry.contexts} contexts" if entry.contexts else str(entry.items)),
             ("Rated", f"{entry.ratings} pairs of an item and a quality"), ("Votes", str(entry.votes or "")),
             ("Systems", TWO if systems == 2 else str(systems or "")), ("Has", ", ".join(entry.has)),
             ("Licence", entry.licence), ("Citation", entry.citation), ("Notes", entry.notes))
    known = tuple((term, Cell(value)) for term, value in pairs if value)
    return Facts((*known, ("Fingerprint", Cell(entry.fingerprint, code=True))))


def _qualities(index: Index, entry: DatasetEntry) -> Table:
    """Draw each quality with its scale and how far people agree on it."""
    def scale_of(quality: QualityEntry) -> str:
        return "not known" if None in (quality.low, quality.high) else f"{quality.low:g} to {quality.high:g}"

    def agree(quality: QualityEntry) -> Iterable[Cell]:
        one, half = (index.reliability.get((entry.name, quality.name, method), math.nan)
                     for method in (ONE_RATER, LIMIT))
        for value in (one, half, math.sqrt(max(half, 0.0)) if math.isfinite(half) else math.nan):
            yield number_cell(value) if math.isfinite(value) else Cell("", title="not known")

    rows = ((Cell(quality.name), Cell(quality.dimension), Cell(scale_of(quality)), count_cell(quality.rated),
             *agree(quality)) for quality in entry.qualities)
    headings = (Heading("Quality", "stub"), Heading("Counted as"), Heading("Scale"), Heading("Items rated", "number"),
                Heading("One rater", "number", small="against the others"), Heading("Reliability", "number"),
                Heading("Limit", "number"))
    return table_of(index, "qualities", f"Qualities of {entry.name}", headings, rows)


def _leading(index: Index, entry: DatasetEntry) -> tuple[Block, ...]:
    """List the first columns of the board, and the length control wherever it stands."""
    board = dataset_board(index, entry, index.statistics[0]) if index.statistics else None
    if board is None or not board.rows:
        return (Prose("Nothing was scored here."),)
    ranked = board.groups[0].rows
    rows = [row for place, row in enumerate(ranked) if place < FIRST or row[1].text == CONTROL]
    more = len(board.rows) - len(rows)
    return (replace(board, groups=(Group(tuple(rows), board.groups[0].title),)),
            *((Prose(f"{more} more columns are among the downloads: in correlations.csv or, where there is one, in the "
                     "bundle.", link="methods.html#files"),) if more > 0 else ()))


def _systems(index: Index, entry: DatasetEntry, points: ItemScores) -> tuple[Block, ...]:
    """Draw the mean rating of each system, the best on the main quality first."""
    systems, main = np.array(points.systems), main_quality(entry)
    parts = {str(name): np.flatnonzero(systems == name) for name in sorted(set(points.systems)) if name}
    qualities = [quality for quality in entry.qualities if quality.name in points.human]
    if not parts or main is None or main not in qualities:
        return ()
    means = {part: [_mean(points.human[quality.name][items]) for quality in qualities]
             for part, items in parts.items()}
    lead = [leaders(row[place] for row in means.values()) for place in range(len(qualities))]
    first = qualities.index(main)
    ranked = sorted(parts, key=lambda part: (-np.nan_to_num(means[part][first], nan=-math.inf), part))
    headings = (Heading("System", "stub"), Heading("Items", "number"), *(
        Heading(quality.name, "number") for quality in qualities))
    rows = ((Cell(part), count_cell(parts[part].size), *(
        Cell(f"{mean:.2f}", value=mean, marks=lead_marks(mean, best)) if math.isfinite(mean)
        else missing("no item of this system was rated") for mean, best in zip(means[part], lead, strict=True)))
        for part in ranked)
    return (table_of(index, "system-table", f"Mean rating of the items of each system on {entry.name}", headings,
                     rows),)


def _mean(ratings: npt.NDArray[np.floating]) -> float:
    values = ratings[np.isfinite(ratings)]
    return float(values.mean(dtype=np.float64)) if values.size else math.nan


def _examples(index: Index, entry: DatasetEntry) -> Sequence[Section]:
    """Show where people and metrics disagree most: what people place higher than the metrics do, then the others."""
    examples = sorted((row for row in index.results.examples if row.dataset == entry.name and not row.metric),
                      key=lambda row: (-abs(row.people - row.metrics), row.item, row.quality))
    if not examples:
        return ()
    sections = [Section("examples", "Items", (Prose(EXPLAINED),))]
    for title, higher in (("High for people, low for the metrics", True),
                          ("High for the metrics, low for people", False)):
        if rows := [row for row in examples if (row.people > row.metrics) == higher]:
            sections.append(Section(next(iter(slugs((title,)).values())), title,
                                    tuple(block for row in rows for block in example_blocks(row)), level=3))
    return sections
