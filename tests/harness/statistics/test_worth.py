"""The worth of a rating with a metric: its limit, its interval, and its use within systems."""

import numpy as np
import pytest

from harness.statistics.panel import folds
from harness.statistics.worth import worth


def test_worth_approaches_one_over_one_minus_r_squared(rng: np.random.Generator) -> None:
    human, units = rng.normal(size=20_000), np.arange(20_000)
    r = np.array([-0.5, 0, 0.4, 0.5**0.5])
    scores = r[:, None] * human + np.sqrt(1 - r[:, None] ** 2) * rng.normal(size=(4, 20_000))
    made = worth(human, scores, np.zeros_like(units), units, folds(units, rng))
    assert made.value == pytest.approx([1, 1, 1.19, 2], rel=0.03)
    assert (made.low <= made.value).all()
    assert (made.value <= made.high).all()
    fold = folds(units, np.random.default_rng(1))
    scaled = worth(human * 7 + 2, scores * 0.01 - 5, np.zeros_like(units), units, fold)
    assert scaled.value == pytest.approx(made.value, rel=0.001)


def test_scores_may_be_very_small_or_large(rng: np.random.Generator) -> None:
    human, units = rng.normal(size=300), np.arange(300)
    scores = human + rng.normal(size=300)
    small, plain, large = (worth(human, scores[None] * by, units % 3, units, units % 5) for by in (1e-200, 1, 1e200))
    for made in (small, large):
        assert [*made.value, *made.low, *made.high] == pytest.approx([*plain.value, *plain.low, *plain.high])


def test_differences_between_systems_save_no_ratings(rng: np.random.Generator) -> None:
    system, units = np.repeat([0, 1, 2], 100), np.arange(300)
    human = system + rng.normal(size=300)
    made = worth(human, np.array([system * 2.0, human]), system, units, folds(units, rng))
    assert np.isnan(made.value[0]), "constant within each system"
    assert made.value[1] > 1e6


def test_the_remaining_variance_agrees_with_the_worth(rng: np.random.Generator) -> None:
    """Many scores and 100 ratings estimate a mean as precisely as 100 x worth ratings alone."""
    human = rng.normal(size=50_000)
    scores = human + rng.normal(size=50_000)
    value = worth(human, scores[None], np.zeros(50_000, int), np.arange(50_000), np.arange(50_000) % 5).value[0]
    weight = np.cov(human, scores)[0, 1] / scores.var()
    rows = rng.integers(50_000, size=(4000, 100))
    together = weight * scores.mean() + (human[rows] - weight * scores[rows]).mean(axis=1)
    assert human[rows].mean(axis=1).var() / together.var() == pytest.approx(value, rel=0.1)


@pytest.mark.parametrize("r", [0, 0.2, 0.6])
def test_intervals_cover_the_limit_in_95_percent(rng: np.random.Generator, r: float) -> None:
    """Contexts of three equal items count once."""
    hits = []
    for _ in range(300):
        human = rng.normal(size=80)
        scores = r * human + np.sqrt(1 - r**2) * rng.normal(size=80)
        human, scores, units = np.tile(human, 3), np.tile(scores, 3), np.tile(np.arange(80), 3)
        made = worth(human, scores[None], np.zeros(240, int), units, folds(units, rng))
        hits.append(made.low[0] <= 1 / (1 - r**2) <= made.high[0])
    assert 0.92 <= np.mean(hits) <= 0.99
