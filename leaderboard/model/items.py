"""Scores and ratings of the same items: how a column and people go with length, and the mean ratings of systems."""

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
from leaderboard.model.index import Column, Index, main_quality

Vector: TypeAlias = npt.NDArray[np.floating]
Exact: TypeAlias = npt.NDArray[np.float64]

LEAST = 3
"""Items that a correlation needs."""


@dataclass(frozen=True, slots=True)
class DatasetItems:
    """A dataset with its items and the quality that stands for it."""

    entry: DatasetEntry
    points: ItemScores
    quality: QualityEntry

    @property
    def ratings(self) -> Vector:
        """The mean ratings of that quality."""
        return self.points.human[self.quality.name]


def dataset_items(index: Index) -> dict[str, DatasetItems]:
    """Prepare every dataset whose item scores the results hold."""
    points = {entry.dataset: entry for entry in index.results.points}
    return {entry.name: DatasetItems(entry, points[entry.name], quality)
            for entry in index.datasets if entry.name in points
            and (quality := main_quality(entry)) is not None and quality.name in points[entry.name].human}


def length_profile(items: DatasetItems, column: Column) -> tuple[float, float, float, float] | None:
    """Spearman of scores with length, ratings with length, scores with ratings, and that with length held constant.

    None where no item has both a rating and a score.
    """
    if column not in items.points.scores:
        return None
    scores = on_quality(items.points.scores, column, items.quality.dimension)
    present = np.isfinite(items.ratings) & np.isfinite(scores)
    if not present.any():
        return None
    human, own, lengths = (ranks(values[present]) for values in (items.ratings, scores, items.points.words))
    ratings, length, both = _correlation(human, own), _correlation(own, lengths), _correlation(human, lengths)
    return length, both, ratings, with_control_held(ratings, both, length)


def _correlation(first: Exact, second: Exact) -> float:
    """Correlate ranks; NaN for fewer than three items or where all are equal."""
    if first.size < LEAST or np.ptp(first) == 0 or np.ptp(second) == 0:
        return math.nan
    return product_moment(first, second)
