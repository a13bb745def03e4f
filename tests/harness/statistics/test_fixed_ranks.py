"""The kernel of challenges has the numbers of the boards' methods, up to rounding, with scores missing too."""

from __future__ import annotations

import numpy as np
import pytest

from harness.statistics import fixed_ranks
from harness.statistics.coefficients import spearman
from harness.statistics.panel import Array, Vector, codes, panel
from harness.statistics.williams import all_pairs_williams

TARGET = ("dataset", "quality")


@pytest.fixture
def judged(rng: np.random.Generator) -> tuple[Vector, Array]:
    """Ratings and the scores of five submissions, some missing."""
    human = rng.integers(1, 6, size=30).astype(float)
    scores = human + rng.normal(size=(5, 30))
    human[2], scores[1, 4], scores[3, 4], scores[3, 5] = np.nan, np.nan, np.nan, np.nan
    return human, scores


def test_values_and_pairs_are_those_of_single_panels_and_of_williams(judged: tuple[Vector, Array]) -> None:
    human, scores = judged
    expected = all_pairs_williams(human, scores, "spearman")
    groups = fixed_ranks.grouped({TARGET: human}, {TARGET: scores})
    tests = fixed_ranks.every_pair(groups[TARGET], scores)
    off = ~np.eye(5, dtype=bool)
    for name in ("delta", "value", "p", "r"):
        np.testing.assert_allclose(getattr(tests, name)[off], getattr(expected, name)[off], atol=1e-10)
    assert (tests.n[off] == expected.n[off]).all()
    none = codes([None] * 30)
    np.testing.assert_allclose(fixed_ranks.values(groups)[:, 0],
                               [spearman(panel(row, human, none, none)) for row in scores], atol=1e-12)


def test_a_draw_of_everything_once_has_the_values_themselves(judged: tuple[Vector, Array]) -> None:
    human, scores = judged
    groups = fixed_ranks.grouped({TARGET: human}, {TARGET: scores})
    for group in groups[TARGET]:
        squares = {id(group.ranks): fixed_ranks._small(group.ranks) ** 2}
        (row,) = fixed_ranks._values(group, np.ones((1, len(group.people))), squares, {})
        np.testing.assert_allclose(row, fixed_ranks.values(groups)[group.members, 0], atol=1e-12)


def test_draws_are_the_same_for_the_same_seed_and_lie_around_the_value(judged: tuple[Vector, Array]) -> None:
    human, scores = judged
    groups = fixed_ranks.grouped({TARGET: human}, {TARGET: scores})
    first, again = (fixed_ranks.drawn(groups, 100, np.random.default_rng(3)) for _ in range(2))
    values = first.values(lambda datasets: datasets[0][0])
    assert values.shape == (100, 5)
    np.testing.assert_array_equal(values, again.values(lambda datasets: datasets[0][0]))
    np.testing.assert_allclose(values.mean(axis=0), fixed_ranks.values(groups)[:, 0], atol=0.1)
