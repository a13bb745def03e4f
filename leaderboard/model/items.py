"""Scores and ratings of the same items: where people and a column place each item, by system, by length, and overall.

A place is the rank of an item among all of its dataset, from 0, the lowest, to 1, the highest; equals share their mean.
So scores and ratings can be compared whatever their scales.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from harness.results.item_scores import on_quality
from harness.results.rows import DatasetEntry, ItemScores, QualityEntry
from harness.statistics.coefficients import product_moment, with_control_held
from harness.statistics.ranks import ranks
from leaderboard.model.index import Column, Index, main_quality, plural

Vector: TypeAlias = npt.NDArray[np.floating]
Exact: TypeAlias = npt.NDArray[np.float64]
Numbers: TypeAlias = npt.NDArray[np.int64]

LEAST = 3
"""Items that a correlation needs."""


@dataclass(frozen=True, slots=True)
class Parts:
    """A dataset in parts, its systems or ranges of length: their names, and the part of each item; -1: in none."""

    names: tuple[str, ...]
    numbers: Numbers


@dataclass(frozen=True, slots=True)
class PartDifference:
    """How people and a column place the items of a part on average, and their Spearman correlation within it."""

    part: str
    items: int
    people: float
    metric: float
    within: float

    @property
    def value(self) -> float:
        """How much higher the column places the items than people do."""
        return self.metric - self.people


@dataclass(frozen=True, slots=True)
class DatasetItems:
    """A dataset with the ratings of its main quality, and the parts that it is split into."""

    entry: DatasetEntry
    points: ItemScores
    quality: QualityEntry
    systems: Parts
    quarters: Parts

    @property
    def title(self) -> str:
        """The dataset with the quality, as above its rows."""
        return f"{self.entry.name}: {self.quality.name}"

    @property
    def ratings(self) -> Vector:
        """The mean ratings of the main quality."""
        return self.points.human[self.quality.name]


@dataclass(frozen=True, slots=True)
class Profile:
    """A column on the items of a dataset: its differences from people by part, and Spearman with ratings and length."""

    items: DatasetItems
    systems: tuple[PartDifference, ...]
    quarters: tuple[PartDifference, ...]
    ratings: float
    length: float
    ratings_length: float
    partial: float
    """Spearman with the ratings, length held constant."""


def dataset_items(index: Index) -> dict[str, DatasetItems]:
    """Prepare every dataset whose item scores the results hold."""
    points = {entry.dataset: entry for entry in index.results.points}
    return {entry.name: DatasetItems(entry, points[entry.name], quality, by_system(points[entry.name]),
                                     by_length(points[entry.name]))
            for entry in index.datasets if entry.name in points
            and (quality := main_quality(entry)) is not None and quality.name in points[entry.name].human}


def profile(items: DatasetItems, column: Column) -> Profile | None:
    """Compare a column with people on a dataset; None where no item has both a rating and a score."""
    scores = scores_on(items.points, column, items.quality.dimension)
    if scores is None or not (present := paired(items.ratings, scores)).any():
        return None
    human, own = places(items.ratings[present]), places(scores[present])
    lengths = places(items.points.words[present])
    ratings, length, both = _correlation(human, own), _correlation(own, lengths), _correlation(human, lengths)
    systems, quarters = (differences(human, own, Parts(parts.names, parts.numbers[present]))
                         for parts in (items.systems, items.quarters))
    return Profile(items, systems, quarters, ratings, length, both, with_control_held(ratings, both, length))


def scores_on(points: ItemScores, column: Column, dimension: str) -> Vector | None:
    """Return the scores of a column for a quality, if it has some: those made for that quality come first."""
    return on_quality(points.scores, column, dimension) if column in points.scores else None


def paired(ratings: Vector, scores: Vector) -> npt.NDArray[np.bool_]:
    """Mark the items that have a rating and a score."""
    return np.isfinite(ratings) & np.isfinite(scores)


def places(values: Vector | Numbers) -> Exact:
    """Place each value from 0, the lowest, to 1, the highest; a half where there is only one value."""
    return (ranks(values) - 1) / (values.size - 1) if values.size > 1 else np.full(values.size, 0.5)


def by_system(points: ItemScores) -> Parts:
    """Split a dataset by system; items whose system is not known are in no part."""
    names = sorted({name for name in points.systems if name})
    numbers = {name: number for number, name in enumerate(names)}
    return Parts(tuple(names), np.array([numbers.get(name, -1) for name in points.systems], dtype=np.int64))


def by_length(points: ItemScores) -> Parts:
    """Split a dataset into quarters by the number of words; equal lengths stay together, so sizes may differ."""
    if not points.words.size:
        return Parts((), np.zeros(0, dtype=np.int64))
    edges = np.quantile(points.words, (0.25, 0.5, 0.75))
    quarters, numbers = np.unique(np.searchsorted(edges, points.words, side="left"), return_inverse=True)
    ends = [(own.min(), own.max()) for number in range(quarters.size) if (own := points.words[numbers == number]).size]
    return Parts(tuple(plural(int(low), "word") if low == high else f"{low} to {high} words" for low, high in ends),
                 numbers)


def differences(people: Vector, metric: Vector, parts: Parts) -> tuple[PartDifference, ...]:
    """Compare the mean places within each part; a part without items is left out."""
    inside = parts.numbers >= 0
    part, human, own = parts.numbers[inside], people[inside], metric[inside]
    counts = np.bincount(part, minlength=len(parts.names))
    within = _within(ranks(human + 2 * part), ranks(own + 2 * part), part, counts)
    means = (np.bincount(part, side, minlength=counts.size) / np.maximum(counts, 1) for side in (human, own))
    rows = zip(parts.names, counts.tolist(), *(mean.tolist() for mean in means), within.tolist(), strict=True)
    return tuple(PartDifference(*row) for row in rows if row[1])


def _correlation(first: Exact, second: Exact) -> float:
    """Correlate places; NaN for fewer than three items or where all are equal."""
    if first.size < LEAST or np.ptp(first) == 0 or np.ptp(second) == 0:
        return math.nan
    return product_moment(first, second)


def _within(first: Vector, second: Vector, part: Numbers, counts: Numbers) -> Vector:
    """Correlate ranks within each part (parts,): all parts at once, since a page has some hundred."""
    def total(values: Vector) -> Vector:
        return np.bincount(part, values, minlength=counts.size).astype(np.float64, copy=False)

    sizes = np.maximum(counts, 1)
    x, y = first - (total(first) / sizes)[part], second - (total(second) / sizes)[part]
    spread = np.sqrt(total(x * x) * total(y * y))
    known = (counts >= LEAST) & (spread > 0)
    return np.where(known, total(x * y) / np.where(known, spread, 1.0), np.nan)
