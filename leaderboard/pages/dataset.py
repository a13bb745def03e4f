"""A page per dataset: facts, agreement of its raters, leading metrics, systems, and disputed items."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from harness.results.entries import DatasetEntry, QualityEntry
from harness.results.pooled import Pool
from harness.results.power import Power, power_or_empty
from harness.results.rows import ItemScores, Results
from harness.statistics.panel import Vector
from leaderboard.blocks.boards import CONTROL, dataset_board
from leaderboard.blocks.cells import column_cell, lead_marks, leaders, missing
from leaderboard.blocks.decisions import EXPLAINED as DECISIONS
from leaderboard.blocks.decisions import best_decisions, decision_table, limitations
from leaderboard.blocks.pictures import INTERVALS, RATERS, example_blocks, power_picture, vote_picture
from leaderboard.blocks.tables import Block, Cell, Dot, Dots, Facts, Heading, Page, Prose, Section, Table, numeric
from leaderboard.model.index import ONE_RATER, Index, Target, descending, main_quality, make_index, plural
from leaderboard.model.questions import LIMIT, first_of_each, rater_limit
from leaderboard.texts import TEXTS

TEXT = TEXTS["dataset"]
TWO_SYSTEMS = "only 2: a metric that merely distinguishes the two may still correlate with people"
MAX_DOTS, MAX_ROWS, MAX_DISPUTED = 12, 20, 8
"""Maximum number of columns in the plot, the board and the table of disputed items; the downloads have all of them."""


def build(results: Results) -> tuple[Page, ...]:
    index, points, pool = make_index(results), {entry.dataset: entry for entry in results.points}, Pool.of(results)
    return tuple(_page(index, entry, points.get(entry.name), pool) for entry in index.datasets)


def _page(index: Index, entry: DatasetEntry, points: ItemScores | None, pool: Pool) -> Page:
    split = "development" if (name := index.split(entry.split)) == "dev" else name
    main = main_quality(entry)
    target = (entry.name, main.name if main else "")
    powers = power_or_empty(index.results, target, pool) if main and points else []
    examples = sorted((row for row in index.results.examples if row.dataset == entry.name and not row.metric),
                      key=lambda row: (-abs(row.people - row.metrics), row.item, row.quality))
    underrated, overrated = ([block for row in examples if (row.people > row.metrics) == higher
                              for block in example_blocks(row)] for higher in (True, False))
    return Page(
        path=index.dataset_paths[entry.name], title=entry.title or entry.name, label=entry.name,
        detail=", ".join(filter(None, (split, entry.level, plural(entry.items, "item")))),
        sections=(
            Section("best", f"The best metrics: {target[1]}", _best(index, target)),
            Section("card", "The dataset", (
                _facts(entry, split, points, powers), _qualities(index, entry), Prose(TEXT["agree"]),
                *((power_picture(powers),) if powers else ()))),
            Section("correlation", "Leading metrics", _leading(index, entry)),
            Section("decisions", "Replacing raters, saving ratings", _decisions(index, entry)),
            Section("systems", "Mean rating of each system", _systems(index, entry, main, points) if points else ()),
            Section("disagreement", "Where raters disagree", _disagreement(index, target)),
            Section("examples", "Disputed items", (Prose(TEXT["explained"]),) if examples else ()),
            Section("underrated", "Rated high by people, low by the metrics", underrated, level=3),
            Section("overrated", "Rated high by the metrics, low by people", overrated, level=3)),
        group="Datasets", order=1)


def _best(index: Index, target: Target) -> tuple[Block, ...]:
    """Draw the best column of each metric on the main quality, with bands for raters and the length of the reply."""
    columns = first_of_each(index, index.best_first(target, (
        column for column in index.columns[target[0]] if math.isfinite(index.value(target, column)))))
    rows = {column: row for column in columns if (row := index.correlation(target, column))}
    one_rater, reliability = (index.rater_agreement(target, method) for method in (ONE_RATER, LIMIT))
    length = next((row for (metric, _), row in rows.items() if metric == CONTROL), None)
    return (Dots([Dot(column_cell(index, column), row.value, row.low, row.high)
                  for column, row in list(rows.items())[:MAX_DOTS]],
                 INTERVALS, {**RATERS, "length": "length of the reply"}, {
                     "rater": (one_rater, one_rater), "limit": (rater_limit(reliability), rater_limit(reliability)),
                     "length": (length.low, length.high) if length else (math.nan, math.nan)}),) if rows else ()


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
        ("Systems", TWO_SYSTEMS if systems == 2 else str(systems or "")), ("Has", ", ".join(entry.has)),
        ("Licence", entry.licence), ("Citation", entry.citation), ("Notes", entry.notes),
        ("Fingerprint", Cell(entry.fingerprint, code=True)))


def _qualities(index: Index, entry: DatasetEntry) -> Table:
    def row(quality: QualityEntry) -> tuple[object, ...]:
        one_rater, reliability = (index.rater_agreement((entry.name, quality.name), method)
                                  for method in (ONE_RATER, LIMIT))
        scale = "unknown" if None in (quality.low, quality.high) else f"{quality.low:g} to {quality.high:g}"
        return quality.name, quality.dimension, scale, quality.rated, one_rater, reliability, rater_limit(reliability)

    headings = ("Quality", "Counted as", "Scale", "Items rated", Heading("One rater", "number", "against the others"),
                "Reliability", "Limit")
    return Table.of("qualities", f"Qualities of {entry.name}", headings, map(row, entry.qualities),
                    index.describe_data())


def _leading(index: Index, entry: DatasetEntry) -> tuple[Block, ...]:
    """Show the first rows of the board, and always the length control."""
    board = dataset_board(index, entry, index.statistics[0]) if index.statistics else None
    if board is None or not board.rows:
        return (Prose("Nothing was scored here."),)
    title, ranked = next(iter(board.groups.items()))
    rows = tuple(row for position, row in enumerate(ranked) if position < MAX_ROWS or row[1].text == CONTROL)
    omitted = len(board.rows) - len(rows)
    return (replace(board, groups={title: rows}),
            *((Prose(f"{omitted} more columns are in the downloads: correlations.csv or the bundle.",
                     link="methods.html#files"),) if omitted > 0 else ()))


def _decisions(index: Index, entry: DatasetEntry) -> tuple[Block, ...]:
    decisions = best_decisions(index, (row for row in index.results.decisions if row.dataset == entry.name))
    if not decisions:
        return ()
    return (decision_table(index, decisions, index.describe_data()), *map(Prose, limitations(decisions)),
            Prose(DECISIONS))


def _systems(index: Index, entry: DatasetEntry, main: QualityEntry | None, points: ItemScores) -> tuple[Block, ...]:
    systems = np.array(points.systems)
    items = {str(name): np.flatnonzero(systems == name) for name in sorted(set(points.systems)) if name}
    qualities = [quality for quality in entry.qualities if quality.name in points.human]
    if not items or main not in qualities:
        return ()
    means = {system: [_mean(points.human[quality.name][rows]) for quality in qualities]
             for system, rows in items.items()}
    best_means = [leaders(column, -math.inf) for column in zip(*means.values(), strict=True)]
    main_index = qualities.index(main)
    headings = ("System", *numeric("Items", *(quality.name for quality in qualities)))
    rows = ((system, items[system].size, *(
        Cell(f"{mean:.2f}", marks=lead_marks(mean, lead)) if math.isfinite(mean)
        else missing("no item of this system was rated") for mean, lead in zip(means[system], best_means, strict=True)))
            for system in sorted(items, key=lambda system: (descending(means[system][main_index]), system)))
    return (Table.of("system-table", f"Mean rating of the items of each system on {entry.name}", headings, rows,
                     index.describe_data()),)


def _mean(ratings: Vector) -> float:
    values = ratings[np.isfinite(ratings)]
    return float(values.mean()) if values.size else math.nan


def _disagreement(index: Index, target: Target) -> tuple[Block, ...]:
    """Show the best columns' correlations by agreement of the raters, and the votes in each fifth of the scores."""
    rows = {(row.metric, row.column): row for row in index.results.disagreement if (row.dataset, row.quality) == target}
    unfitted = [column for column in rows if not index.is_fitted(column, target[0])]
    ranked = index.best_first(target, unfitted)[:MAX_DISPUTED]
    counts = [row for row in index.results.vote_counts if (row.dataset, row.quality) == target]
    votes = (vote_picture(counts, index.labels[counts[0].metric, counts[0].column]),) if counts else ()
    if not ranked:
        return votes
    names = tuple(name for name in ("agreed", "mixed", "disputed", "divergence")
                  if any(math.isfinite(getattr(rows[column], name)) for column in ranked))
    best_row = rows[ranked[0]]
    sizes = f"{best_row.agreed_items}, {best_row.mixed_items} and {best_row.disputed_items} items"
    table = Table.of("disagreement-table", f"Spearman by agreement of the raters: {target[1]}, {sizes}",
                     ("Metric", *map(str.capitalize, names)),
                     ((column_cell(index, column), *(getattr(rows[column], name) for name in names))
                      for column in ranked), index.describe_data())
    texts = (TEXT["spread"], *(TEXT["divergence"] for name in names if name == "divergence"))
    return (*votes, table, Prose(" ".join(texts)))
