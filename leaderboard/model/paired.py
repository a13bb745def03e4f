"""Scores and ratings of the same items: places among all, agreement within a part, and the parts themselves.

A place is the rank of an item from 0, the lowest of its dataset, to 1, the highest; equals share their mean. So the
scores of a metric and the ratings of people can be held against each other, whatever their scales.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from harness.results.rows import DatasetEntry, ItemScores, QualityEntry
from leaderboard.model.index import Key

Vector: TypeAlias = npt.NDArray[np.floating]
Mask: TypeAlias = npt.NDArray[np.bool_]
Numbers: TypeAlias = npt.NDArray[np.int64]

LEAST = 3
"""Items that a correlation needs."""


@dataclass(frozen=True, slots=True)
class Parts:
    """A dataset in parts, its systems or ranges of lengths: their names, and the number of each item's; -1: of none."""

    names: tuple[str, ...]
    numbers: Numbers


@dataclass(frozen=True, slots=True)
class Difference:
    """How people and a column place the items of a part on average, and how far they agree within it."""

    part: str
    items: int
    people: float
    metric: float
    within: float

    @property
    def value(self) -> float:
        """How much higher the column places them than people do."""
        return self.metric - self.people


def scores_on(points: ItemScores, key: Key, dimension: str) -> Vector | None:
    """Find the scores of a column as they count for a quality: those of its own for it, where it has some."""
    metric, column = key
    own = points.scores.get((metric, f"{column}@{dimension}"))
    return points.scores.get(key) if own is None else own


def main_quality(entry: DatasetEntry) -> QualityEntry | None:
    """Choose the quality that stands for a dataset: the overall one, else the first that was rated."""
    rated = [quality for quality in entry.qualities if quality.rated]
    return next((quality for quality in rated if quality.dimension == "overall"), rated[0] if rated else None)


def both(ratings: Vector, scores: Vector) -> Mask:
    """Find the items that have a rating and a score."""
    return np.isfinite(ratings) & np.isfinite(scores)


def ranks(values: Vector | Numbers) -> Vector:
    """Rank from 1, equals by their mean."""
    order = np.argsort(values)
    ordered = values[order]
    first = np.ones(ordered.size + 1, dtype=np.bool_)  # of its equals; one more where all end
    first[1:-1] = ordered[1:] != ordered[:-1]
    starts = np.flatnonzero(first)
    means = (starts[:-1] + 1 + starts[1:]) / 2
    found = np.empty(ordered.size)
    found[order] = means[np.cumsum(first[:-1]) - 1]
    return found


def places(values: Vector) -> Vector:
    """Place each value from 0, the lowest, to 1, the highest; a half where there is but one."""
    return (ranks(values) - 1) / (values.size - 1) if values.size > 1 else np.full(values.size, 0.5)


def correlation(one: Vector, other: Vector) -> float:
    """Correlate ranks, -1 to 1; NaN for fewer than three items or where all are equal."""
    if one.size < LEAST:
        return math.nan
    first, second = one - one.mean(), other - other.mean()
    spread = math.sqrt(float(first @ first) * float(second @ second))
    return float(first @ second) / spread if spread > 0 else math.nan


def partial(scores_people: float, scores_words: float, people_words: float) -> float:
    """Correlate scores with ratings while length is held: the first-order partial correlation, -1 to 1."""
    room = (1 - scores_words**2) * (1 - people_words**2)
    return (scores_people - scores_words * people_words) / math.sqrt(room) if room > 1e-12 else math.nan


def systems(points: ItemScores) -> Parts:
    """Split a dataset by system; items whose system is not known are left out."""
    names = sorted({name for name in points.systems if name})
    place = {name: number for number, name in enumerate(names)}
    return Parts(tuple(names), np.array([place.get(name, -1) for name in points.systems], dtype=np.int64))


def quarters(points: ItemScores) -> Parts:
    """Split a dataset into four by the number of words; equal lengths stay together, so that parts may differ."""
    if not points.words.size:
        return Parts((), np.zeros(0, dtype=np.int64))
    edges = np.quantile(points.words, (0.25, 0.5, 0.75))
    found, numbers = np.unique(np.searchsorted(edges, points.words, side="left"), return_inverse=True)
    return Parts(tuple(_words(points.words[numbers == number]) for number in range(found.size)), numbers)


def placed(ratings: Vector, scores: Vector) -> tuple[Vector, Vector]:
    """Place the items by people and by the scores, among those that have both; NaN for the others."""
    there = both(ratings, scores)
    people, metric = np.full(ratings.size, np.nan), np.full(ratings.size, np.nan)
    people[there], metric[there] = places(ratings[there]), places(scores[there])
    return people, metric


def differences(people: Vector, metric: Vector, parts: Parts) -> tuple[Difference, ...]:
    """Hold the mean places of each part against each other; a part without a placed item is left out."""
    there = np.isfinite(people) & (parts.numbers >= 0)
    part, one, other = parts.numbers[there], people[there], metric[there]
    counts = np.bincount(part, minlength=len(parts.names))
    within = _within(ranks(one + 2 * part), ranks(other + 2 * part), part, counts)  # part after part
    means = (np.bincount(part, places_, minlength=counts.size) / np.maximum(counts, 1) for places_ in (one, other))
    rows = zip(parts.names, counts.tolist(), *(mean.tolist() for mean in means), within.tolist(), strict=True)
    return tuple(Difference(*row) for row in rows if row[1])


def _within(one: Vector, other: Vector, part: Numbers, counts: Numbers) -> Vector:
    """Correlate ranks within each part (parts,)."""
    def total(values: Vector) -> Vector:
        return np.bincount(part, values, minlength=counts.size).astype(np.float64, copy=False)

    many = np.maximum(counts, 1)
    first, second = one - (total(one) / many)[part], other - (total(other) / many)[part]
    spread = np.sqrt(total(first * first) * total(second * second))
    known = (counts >= LEAST) & (spread > 0)
    return np.where(known, total(first * second) / np.where(known, spread, 1.0), np.nan)


def _words(words: Numbers) -> str:
    low, high = int(words.min()), int(words.max())
    return f"{low} word{'s' if low != 1 else ''}" if low == high else f"{low} to {high} words"
