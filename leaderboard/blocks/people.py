"""How people rated a dataset: each quality and each system, beside the scores of the best metrics."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from harness.results.rows import DatasetEntry, ItemScores
from leaderboard.blocks.cells import count_cell, lead_marks, leaders, missing, number
from leaderboard.blocks.cells import table as table_of
from leaderboard.blocks.metric_items import N, scale
from leaderboard.blocks.pictures import distribution
from leaderboard.blocks.pictures.axes import bulk
from leaderboard.blocks.tables import Block, Cell, Gallery, Heading, Picture, Prose, Row
from leaderboard.model.index import Column, Index, main_quality, origin_of, rated_targets
from leaderboard.model.items import Numbers, Vector, by_system, scores_on

TOP = 6
"""Metrics whose scores are shown on a dataset's page."""


def ratings(index: Index, entry: DatasetEntry, points: ItemScores) -> tuple[Block, ...]:
    """Draw the distribution of the mean ratings of the items, quality by quality."""
    drawn = []
    for quality in entry.qualities:
        values = _finite(points.human.get(quality.name))
        if values is None:
            continue
        mean, spread = float(values.mean(dtype=np.float64)), float(values.std(dtype=np.float64))
        caption = f"{quality.name}: mean {mean:.2f}, standard deviation {spread:.2f}, {N}{values.size}"
        text = f"Human ratings of {entry.name}. {caption}."
        drawn.append(Picture(distribution.svg(values, quality.name, scale(quality, values), "people", text),
                             text, caption))
    text = f"How many items have which mean rating; the dashed line is the mean. Data: {index.data(origin_of(entry))}."
    return (Prose(text), Gallery(tuple(drawn))) if drawn else ()


def scores(index: Index, entry: DatasetEntry, points: ItemScores) -> tuple[Block, ...]:
    """Draw the distribution of the scores of the metrics that agree best with people here."""
    quality = main_quality(entry)
    drawn = []
    for column, mean in _best(index, entry):
        values, label = _finite(scores_on(points, column, quality.dimension if quality else "")), index.labels[column]
        if values is None:
            continue
        caption = f"{label}: mean Spearman {number(mean)}, {N}{values.size}"
        text = f"Scores on {entry.name}. {caption}."
        drawn.append(Picture(distribution.svg(values, label, bulk(values), "metric", text), text, caption))
    text = (f"How many items have which score, of the {len(drawn)} metrics that agree best with people over the "
            f"qualities of this dataset. Data: {index.data(origin_of(entry))}.")
    return (Prose(text), Gallery(tuple(drawn))) if drawn else ()


def system_table(index: Index, entry: DatasetEntry, points: ItemScores) -> tuple[Block, ...]:
    """Draw the mean rating of each system, the best on the main quality first."""
    split, main = by_system(points), main_quality(entry)
    parts = {name: np.flatnonzero(split.numbers == number) for number, name in enumerate(split.names)}
    qualities = [quality for quality in entry.qualities if quality.name in points.human]
    if not parts or main is None or main not in qualities:
        return (Prose("The systems that gave the responses are not known."),)
    means = {part: [_mean(points, quality.name, items) for quality in qualities] for part, items in parts.items()}
    lead = [leaders(row[place] for row in means.values()) for place in range(len(qualities))]
    order = qualities.index(main)
    ranked = sorted(parts, key=lambda part: (-_or_lowest(means[part][order]), part))
    headings = (Heading("System", "stub"), Heading("Items", "number"), *(
        Heading(quality.name, "number", link=index.quality_paths[quality.dimension]) for quality in qualities))
    caption = f"Mean rating of the items of each system on {entry.name}"
    return (table_of(index, origin_of(entry), "system-table", caption,
                     headings, (_system(part, parts[part].size, means[part], lead) for part in ranked)),)


def _best(index: Index, entry: DatasetEntry) -> list[tuple[Column, float]]:
    """List the best column of each of the best metrics by its mean Spearman, of those with a value everywhere."""
    targets = rated_targets((entry,))
    means: dict[str, tuple[float, Column]] = {}
    for column in sorted(index.labels):
        values = [index.value(target, column) for target in targets]
        mean = math.fsum(values) / len(values) if values else math.nan
        if math.isfinite(mean) and mean > means.get(column[0], (-math.inf, column))[0]:
            means[column[0]] = (mean, column)
    return [(column, mean) for mean, column in sorted(means.values(), key=lambda pair: (-pair[0], pair[1]))[:TOP]]


def _finite(values: Vector | None) -> Vector | None:
    return None if values is None or not (finite := np.isfinite(values)).any() else values[finite]


def _system(name: str, items: int, means: Sequence[float], lead: Sequence[tuple[float, float]]) -> Row:
    return (Cell(name), count_cell(items), *(
        Cell(f"{mean:.2f}", value=mean, marks=lead_marks(mean, best_two)) if math.isfinite(mean)
        else missing("no item of this system was rated") for mean, best_two in zip(means, lead, strict=True)))


def _mean(points: ItemScores, quality: str, items: Numbers) -> float:
    values = _finite(points.human[quality][items])
    return math.nan if values is None else float(values.mean(dtype=np.float64))


def _or_lowest(value: float) -> float:
    return value if math.isfinite(value) else -math.inf
