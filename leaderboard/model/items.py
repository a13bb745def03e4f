"""How scores and ratings of the same items correlate with their length."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from harness.results.item_scores import on_quality
from harness.results.rows import ItemScores, QualityEntry
from harness.statistics.coefficients import product_moment, with_control_held
from harness.statistics.ranks import ranks
from leaderboard.model.index import Column

LEAST = 3  # items that a correlation needs


class LengthProfile(NamedTuple):
    """Spearman correlations of scores, ratings and length; NaN for fewer than three items or constant values."""

    scores_length: float
    ratings_length: float
    scores_ratings: float
    length_held: float


def length_profile(points: ItemScores, quality: QualityEntry, column: Column) -> LengthProfile | None:
    """Correlate a column and a quality with the length of the items; None if no item has both rating and score."""
    if column not in points.scores or quality.name not in points.human:
        return None
    human, scores = points.human[quality.name], on_quality(points.scores, column, quality.dimension)
    present = np.isfinite(human) & np.isfinite(scores)
    if not present.any():
        return None
    rating_ranks, score_ranks, lengths = (ranks(values[present]) for values in (human, scores, points.words))
    ratings = _correlation(rating_ranks, score_ranks)
    of_scores, of_ratings = _correlation(score_ranks, lengths), _correlation(rating_ranks, lengths)
    return LengthProfile(of_scores, of_ratings, ratings, with_control_held(ratings, of_ratings, of_scores))


def _correlation(first: npt.NDArray[np.float64], second: npt.NDArray[np.float64]) -> float:
    if first.size < LEAST or np.ptp(first) == 0 or np.ptp(second) == 0:
        return math.nan
    return product_moment(first, second)
