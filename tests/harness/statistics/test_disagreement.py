"""Correlations by the raters' spread, and the divergence of probabilities from votes."""

import math

import numpy as np
import pytest
from scipy.spatial.distance import jensenshannon

from harness.statistics.disagreement import by_third, divergences, parts, spread


def test_spread_is_that_of_the_votes_on_an_item() -> None:
    missing = math.nan
    votes = np.array([[1, 2, 5, missing], [3, 2, missing, missing], [4, missing, missing, missing]])
    assert spread(votes) == pytest.approx([np.std([1, 3, 4]), 0, math.nan, math.nan], nan_ok=True)


def test_equal_values_stay_in_one_part() -> None:
    assert parts(np.array([0.0, 0, 0, 0, 1, 2, math.nan]), 3).tolist() == [0, 0, 0, 0, 2, 2, -1]
    assert parts(np.arange(9.0), 3).tolist() == [0, 0, 0, 1, 1, 1, 2, 2, 2]
    assert parts(np.zeros(5), 3).tolist() == [0] * 5
    assert parts(np.full(2, math.nan), 3).tolist() == [-1, -1]


def test_a_metric_can_fail_only_where_raters_disagree(rng: np.random.Generator) -> None:
    quality, noise = rng.normal(size=900), np.repeat([0.1, 0.5, 2.0], 300)
    votes = quality[:, None] + noise[:, None] * rng.normal(size=(900, 4))
    scores = np.array([quality, np.where(noise > 1, rng.normal(size=900), quality), np.full(900, math.nan)])
    values = by_third(votes.mean(axis=1), scores, spread(votes.T))
    assert values[0, 0] > values[0, 1] > values[0, 2] > 0.4
    assert abs(values[1, 2]) < 0.2 < values[1, 1]
    assert np.isnan(values[2]).all()


def test_divergence_equals_scipys(rng: np.random.Generator) -> None:
    votes = rng.integers(2, size=(4, 10)).astype(float)
    share = votes.mean(axis=0)
    score = rng.uniform(size=10)
    expected = np.mean([jensenshannon([1 - s, s], [1 - q, q], base=2) ** 2 for s, q in zip(score, share, strict=True)])
    values = divergences(votes, np.array([score, share, score + 1]))
    assert values == pytest.approx([expected, 0, math.nan], nan_ok=True)
    assert np.isnan(divergences(np.arange(3.0)[None], np.array([[0.1, 0.2, 0.3]]))).all()
