"""Scores and ratings of the same items: their correlations with length."""

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

LEAST = 3  # items that a correlation needs


@dataclass(frozen=True, slots=True)
class DatasetItems:
    """A dataset with its items and its main quality."""

    entry: DatasetEntry
    points: ItemScores
    quality: QualityEntry

    @property
    def ratings(self) -> Vector:
        """Return the mean ratings of the main quality."""
        return self.points.human[self.quality.name]


def dataset_items(index: Index) -> dict[str, DatasetItems]:
    """Return every dataset with item scores by name."""
    points = {entry.dataset: entry for entry in index.results.points}
    return {entry.name: DatasetItems(entry, points[entry.name], quality)
            for entry in index.datasets if entry.name in points
            and (quality := main_quality(entry)) is not None and quality.name in points[entry.name].human}


def length_profile(items: DatasetItems, column: Column) -> tuple[float, float, float, float] | None:
    """Correlate scores with length, ratings with length, scores with ratings, and the last with length held constant.

    Return None if no item has both a rating and a score.
    """
    if column not in items.points.scores:
        return None
    scores = on_quality(items.points.scores, column, items.quality.dimension)
    present = np.isfinite(items.ratings) & np.isfinite(scores)
    if not present.any():
        return None
    rating_ranks, score_ranks, lengths = (ranks(values[present])
                                          for values in (items.ratings, scores, items.points.words))
    ratings = _correlation(rating_ranks, score_ranks)
    of_scores, of_ratings = _correlation(score_ranks, lengths), _correlation(rating_ranks, lengths)
    return of_scores, of_ratings, ratings, with_control_held(ratings, of_ratings, of_scores)


def _correlation(first: Exact, second: Exact) -> float:
    """Correlate ranks; NaN for fewer than three items or constant ranks."""
    if first.size < LEAST or np.ptp(first) == 0 or np.ptp(second) == 0:
        return math.nan
    return product_moment(first, second)
