"""A page per dataset: facts, agreement of its raters, leading metrics, systems, and items in dispute."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from harness.results.pooled import Pool
from harness.results.power import Power, shown
from harness.results.rows import DatasetEntry, ItemScores, QualityEntry, Results
from leaderboard.blocks.boards import CONTROL, dataset_board
from leaderboard.blocks.cells import column_cell, known_cell, lead_marks, leaders, missing
from leaderboard.blocks.decisions import EXPLAINED as DECISIONS
from leaderboard.blocks.decisions import best, by_target, decision_table, limits
from leaderboard.blocks.pictures import (
    INTERVALS,
    RATERS,
    example_blocks,
    power_picture,
    vote_picture,
)
from leaderboard.blocks.tables import Block, Cell, Dot, Dots, Facts, Heading, Page, Prose, Row, Section, Table, numeric
from leaderboard.model.index import ONE_RATER, Column, Index, main_quality, make_index
from leaderboard.model.questions import LIMIT, equals, rater_limit

TWO = "2 only: a metric that merely tells the two apart may still correlate with people"
BEST, ROWS = 12, 20
"""Drawn and listed columns; the downloads have all of them."""

AGREE = ("One rater: one rater’s correlation with the mean of the others; not an upper bound. Reliability: of the mean "
         "of all votes, from split halves. Limit: its square root, roughly the highest correlation that an errorless "
         "metric would reach.")
DISPUTED = 8
"""Columns listed by the raters' agreement."""
SPREAD = ("Agreed: the third of the items with the smallest standard deviation of the votes; disputed: the third with "
          "the largest; items with equal deviations stay together, so the thirds differ in size. Divergence: mean "
          "Jensen-Shannon divergence of a score from 0 to 1, read as a probability, and the votes on a quality of two "
          "values, in bits.")
EXPLAINED = ("Where people and metrics disagree most. Positions run from 0, the lowest of the dataset, to 1, the "
             "highest. Square: people. Dot: the median of the metrics, without controls and metrics fitted on these "
             "ratings. Strokes: the named metrics. Only the last utterances of longer dialogues are shown.")


def build(results: Results) -> tuple[Page, ...]:
    index, points, pool = make_index(results), {entry.dataset: entry for entry in results.points}, Pool.of(results)
    return tuple(_page(index, entry, points.get(entry.name), pool) for entry in index.datasets)


def _page(index: Index, entry: DatasetEntry, points: ItemScores | None, pool: Pool) -> Page:
    split = "development" if (name := index.split(entry.split)) == "dev" else name
    systems, main = _systems(index, entry, points) if points else (), main_quality(entry)
    powers = shown(index.results, (entry.name, main.name), pool) if main and points else []
    return Page(
        path=index.dataset_paths[entry.name], title=entry.title or entry.name, label=entry.name,
        detail=", ".join(filter(None, (split, entry.level, f"{entry.items} items"))),
        sections=(*_best(index, entry), Section("card", "The dataset",
                          (_facts(entry, split, points, powers), _qualities(index, entry), Prose(AGREE),
                           *((power_picture(powers),) if powers else ()))),
                  Section("correlation", "Leading metrics", _leading(index, entry)), *_decisions(index, entry),
                  *((Section("systems", "Mean rating of each system", systems),) if systems else ()),
                  *_disagreement(index, entry), *_examples(index, entry)),
        group="Datasets", order=1)


def _best(index: Index, entry: DatasetEntry) -> Iterator[Section]:
    """Draw the best column of each metric on the main quality, between raters and the length of the reply."""
    quality = main_quality(entry)
    target = (entry.name, quality.name if quality else "")
    columns: dict[str, Column] = {}
    for column in sorted(index.columns[entry.name], key=lambda column: -np.nan_to_num(
            index.value(target, column), nan=-math.inf)):
        alike = equals(index.results).get(column, frozenset())
        if math.isfinite(index.value(target, column)) and not alike & set(columns.values()):
            columns.setdefault(column[0], column)
    rows = [(column, row) for column in list(columns.values())[:BEST] if (row := index.correlation(target, column))]
    one_rater, limit = (index.rater_agreement(target, method) for method in (ONE_RATER, LIMIT))
    length = index.correlation(target, columns[CONTROL]) if CONTROL in columns else None
    if rows:
        yield Section("best", f"The best metrics: {target[1]}", (Dots(
            [Dot(column_cell(index, column), row.value, row.low, row.high) for column, row in rows],
            INTERVALS, {**RATERS, "length": "length of the reply"}, {
                "rater": (one_rater, one_rater), "limit": (rater_limit(limit), rater_limit(limit)),
                "length": (length.low, length.high) if length else (math.nan, math.nan)}),))


def _facts(entry: DatasetEntry, split: str, points: ItemScores | None, powers: Sequence[Power]) -> Facts:
    systems = len({name for name in points.systems if name}) if points is not None else 0
    return Facts.of(
        ("Name", entry.name),
        *(("Warning", f"{quality.name}: {quality.warning}") for quality in entry.qualities if quality.warning),
        ("Split", split), ("Level", entry.level), ("Language", entry.language),
        ("Origin", entry.origin),
        ("Items", f"{entry.items}, {entry.contexts} contexts" if entry.contexts else str(entry.items)),
        ("Power", f"{powers[0]} ({powers[0].quality})" if powers else ""),
        ("Rated", f"{entry.ratings} pairs of an item and a quality"), ("Votes", str(entry.votes or "")),
        ("Systems", TWO if systems == 2 else str(systems or "")), ("Has", ", ".join(entry.has)),
        ("Licence", entry.licence), ("Citation", entry.citation), ("Notes", entry.notes),
        ("Fingerprint", Cell(entry.fingerprint, code=True)))


def _qualities(index: Index, entry: DatasetEntry) -> Table:
    def row(quality: QualityEntry) -> Row:
        one_rater, reliability = (index.rater_agreement((entry.name, quality.name), method)
                                  for method in (ONE_RATER, LIMIT))
        scale = "unknown" if None in (quality.low, quality.high) else f"{quality.low:g} to {quality.high:g}"
        return (Cell(quality.name), Cell(quality.dimension), Cell(scale), Cell(str(quality.rated)),
                *map(known_cell, (one_rater, reliability, rater_limit(reliability))))

    headings = (Heading("Quality", "stub"), Heading("Counted as"), Heading("Scale"), Heading("Items rated", "number"),
                Heading("One rater", "number", small="against the others"), *numeric("Reliability", "Limit"))
    return Table.of("qualities", f"Qualities of {entry.name}", headings, map(row, entry.qualities), index.data())


def _leading(index: Index, entry: DatasetEntry) -> tuple[Block, ...]:
    """List the first columns of the board, and the length control wherever it stands."""
    board = dataset_board(index, entry, index.statistics[0]) if index.statistics else None
    if board is None or not board.rows:
        return (Prose("Nothing was scored here."),)
    title, ranked = next(iter(board.groups.items()))
    rows = tuple(row for position, row in enumerate(ranked) if position < ROWS or row[1].text == CONTROL)
    more = len(board.rows) - len(rows)
    return (replace(board, groups={title: rows}),
            *((Prose(f"{more} more columns are in the downloads: correlations.csv or the bundle.",
                     link="methods.html#files"),) if more > 0 else ()))


def _decisions(index: Index, entry: DatasetEntry) -> Iterator[Section]:
    """Show for the best columns of each quality if they may replace a rater, and how many ratings they are worth."""
    if decisions := by_target(index, (row for row in index.results.decisions if row.dataset == entry.name)):
        shown = best(decisions)
        yield Section("decisions", "Replacing raters, saving ratings", (
            decision_table(index, shown, index.data()), *map(Prose, limits(shown)), Prose(DECISIONS)))


def _systems(index: Index, entry: DatasetEntry, points: ItemScores) -> tuple[Block, ...]:
    """Show the mean ratings of each system, the best on the main quality first."""
    systems, main = np.array(points.systems), main_quality(entry)
    items = {str(name): np.flatnonzero(systems == name) for name in sorted(set(points.systems)) if name}
    qualities = [quality for quality in entry.qualities if quality.name in points.human]
    if not items or main is None or main not in qualities:
        return ()
    means = {system: [_mean(points.human[quality.name][rows]) for quality in qualities]
             for system, rows in items.items()}
    best = [leaders(column, -math.inf) for column in zip(*means.values(), strict=True)]
    first = qualities.index(main)
    ranked = sorted(items, key=lambda system: (-np.nan_to_num(means[system][first], nan=-math.inf), system))
    headings = (Heading("System", "stub"), *numeric("Items", *(quality.name for quality in qualities)))
    rows = ((Cell(system), Cell(str(items[system].size)), *(
        Cell(f"{mean:.2f}", marks=lead_marks(mean, lead)) if math.isfinite(mean)
        else missing("no item of this system was rated") for mean, lead in zip(means[system], best, strict=True)))
        for system in ranked)
    return (Table.of("system-table", f"Mean rating of the items of each system on {entry.name}", headings, rows,
                     index.data()),)


def _disagreement(index: Index, entry: DatasetEntry) -> Iterator[Section]:
    """Show the main quality's best columns by the spread of the votes, and the votes by score of the best of all."""
    main = main_quality(entry)
    target = (entry.name, main.name if main else "")
    rows = [row for row in index.results.disagreement if (row.dataset, row.quality) == target]
    best = sorted((row for row in rows if not index.is_fitted((row.metric, row.column), entry.name)), key=lambda row:
                  -np.nan_to_num(index.value(target, (row.metric, row.column)), nan=-math.inf))[:DISPUTED]
    counts = [row for row in index.results.vote_counts if (row.dataset, row.quality) == target]
    blocks: list[Block] = [vote_picture(counts, index.labels[counts[0].metric, counts[0].column])] if counts else []
    if best:
        names = tuple(name for name in ("agreed", "mixed", "disputed", "divergence")
                      if any(math.isfinite(getattr(row, name)) for row in best))
        sizes = f"{best[0].agreed_items}, {best[0].mixed_items} and {best[0].disputed_items} items"
        blocks += [Table.of("disagreement-table", f"Spearman by agreement of the raters: {target[1]}, {sizes}",
                            (Heading("Metric", "stub"), *numeric(*(name.capitalize() for name in names))),
                            ((column_cell(index, (row.metric, row.column)), *(
                                known_cell(getattr(row, name)) for name in names)) for row in best), index.data()),
                   Prose(SPREAD)]
    if blocks:
        yield Section("disagreement", "Where raters disagree", tuple(blocks))


def _mean(ratings: npt.NDArray[np.floating]) -> float:
    values = ratings[np.isfinite(ratings)]
    return float(values.mean(dtype=np.float64)) if values.size else math.nan


def _examples(index: Index, entry: DatasetEntry) -> Iterator[Section]:
    """Show where people and metrics disagree most."""
    examples = sorted((row for row in index.results.examples if row.dataset == entry.name and not row.metric),
                      key=lambda row: (-abs(row.people - row.metrics), row.item, row.quality))
    if examples:
        yield Section("examples", "Items in dispute", (Prose(EXPLAINED),))
    for anchor, title, higher in (("underrated", "Rated high by people, low by the metrics", True),
                                  ("overrated", "Rated high by the metrics, low by people", False)):
        blocks = tuple(block for row in examples if (row.people > row.metrics) == higher
                       for block in example_blocks(row))
        if blocks:
            yield Section(anchor, title, blocks, level=3)
