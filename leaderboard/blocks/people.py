"""What people said about a dataset: how they rated each quality, and what each system reached in their eyes."""

from __future__ import annotations

import math

import numpy as np

from harness.results.rows import DatasetEntry, ItemScores
from leaderboard.blocks.cells import lead_marks, leaders, missing, number
from leaderboard.blocks.pictures import distribution
from leaderboard.blocks.pictures.axes import bulk
from leaderboard.blocks.scatters import scale
from leaderboard.blocks.tables import Block, Cell, Gallery, Group, Heading, Picture, Prose, Row, Table
from leaderboard.model.index import Index, Key, origin_of
from leaderboard.model.paired import Numbers, main_quality, scores_on, systems
from leaderboard.model.reached import Field

TOP = 6
"""Metrics whose scores are shown on a dataset's page."""


def ratings(index: Index, entry: DatasetEntry, points: ItemScores) -> tuple[Block, ...]:
    """Draw how the mean ratings of the items are spread, quality by quality."""
    drawn = []
    for quality in entry.qualities:
        given = points.human.get(quality.name)
        if given is None or not (there := np.isfinite(given)).any():
            continue
        values = given[there]
        mean, spread = float(values.mean(dtype=np.float64)), float(values.std(dtype=np.float64))
        caption = (f"{quality.name}: mean {mean:.2f}, standard deviation {spread:.2f}, "
                   f"n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{values.size}")
        told = f"Human ratings of {entry.name}. {caption}."
        drawn.append(Picture(distribution.svg(values, quality.name, scale(quality, values), "people", told),
                             told, caption))
    said = f"How many items have which mean rating; the dashed line is the mean. Data: {index.data(origin_of(entry))}."
    return (Prose(said), Gallery(tuple(drawn))) if drawn else ()


def scores(every: Field, entry: DatasetEntry, points: ItemScores) -> tuple[Block, ...]:
    """Draw how the scores of the metrics are spread that agree best with people here."""
    quality, found = main_quality(entry), every.found
    drawn = []
    for key, mean in best(every, entry):
        given = scores_on(points, key, quality.dimension if quality else "")
        if given is None or not (there := np.isfinite(given)).any():
            continue
        values, label = given[there], found.labels[key]
        caption = f"{label}: mean Spearman {number(mean)}, n\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{values.size}"
        told = f"Scores on {entry.name}. {caption}."
        drawn.append(Picture(distribution.svg(values, label, bulk(values), "metric", told), told, caption))
    said = (f"How many items have which score, of the {len(drawn)} metrics that agree best with people over the "
            f"qualities of this dataset. Data: {found.data(origin_of(entry))}.")
    return (Prose(said), Gallery(tuple(drawn[:TOP]))) if drawn else ()


def best(every: Field, entry: DatasetEntry) -> list[tuple[Key, float]]:
    """List the best column of each of the best metrics by its mean Spearman, of those with a value everywhere."""
    rated = [quality.name for quality in entry.qualities if quality.rated]
    means: dict[str, tuple[float, Key]] = {}
    for key in sorted(every.found.labels):
        values = [every.value((entry.name, name), key) for name in rated]
        mean = math.fsum(values) / len(values) if values else math.nan
        if math.isfinite(mean) and mean > means.get(key[0], (-math.inf, key))[0]:
            means[key[0]] = (mean, key)
    return [(key, mean) for mean, key in sorted(means.values(), key=lambda pair: (-pair[0], pair[1]))[:TOP]]


def system_table(index: Index, entry: DatasetEntry, points: ItemScores) -> tuple[Block, ...]:
    """Draw what each system reached on average in people's eyes, the best on the main quality first."""
    split, main = systems(points), main_quality(entry)
    parts = {name: np.flatnonzero(split.numbers == number) for number, name in enumerate(split.names)}
    names = [quality.name for quality in entry.qualities if quality.name in points.human]
    if not parts or main is None or main.name not in names:
        return (Prose("The systems that gave the responses are not known."),)
    means = {part: [_mean(points, name, items) for name in names] for part, items in parts.items()}
    lead = [leaders(row[column] for row in means.values()) for column in range(len(names))]
    order = names.index(main.name)
    rows = sorted(parts, key=lambda part: (-_known(means[part][order]), part))
    return (Table(
        anchor="system-table", caption=f"Mean rating of the items of each system on {entry.name}",
        headings=(Heading("System", "stub"), Heading("Items", "number"), *(
            Heading(name, "number", link=index.quality_paths[dimension])
            for name, dimension in ((quality.name, quality.dimension) for quality in entry.qualities)
            if name in names)),
        groups=(Group(tuple(_system(part, parts[part].size, means[part], lead) for part in rows)),),
        data=index.data(origin_of(entry)), sample=origin_of(entry) == "sample"),)


def _system(name: str, items: int, means: list[float], lead: list[tuple[float, float]]) -> Row:
    return (Cell(name), Cell(str(items), value=items), *(
        Cell(f"{mean:.2f}", value=mean, marks=lead_marks(mean, best_two)) if math.isfinite(mean)
        else missing("no item of this system was rated") for mean, best_two in zip(means, lead, strict=True)))


def _mean(points: ItemScores, quality: str, items: Numbers) -> float:
    values = points.human[quality][items]
    there = values[np.isfinite(values)]
    return float(there.mean(dtype=np.float64)) if there.size else math.nan


def _known(value: float) -> float:
    return value if math.isfinite(value) else -math.inf
