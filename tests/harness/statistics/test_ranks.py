"""Ranks are those of scipy; influences equal the numeric derivative of a correlation by the weight of a row."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from harness.statistics.panel import Vector
from harness.statistics.ranks import INFLUENCE, lowest_ranks, ranks


@given(st.lists(st.lists(st.sampled_from((-0.0, 0.0, 1e-300, 1.0, 2.5, np.inf)), min_size=4, max_size=4), min_size=1))
def test_ranks_are_those_of_scipy(rows: list[list[float]]) -> None:
    values = np.array(rows)
    np.testing.assert_array_equal(ranks(values), stats.rankdata(values, axis=1))
    np.testing.assert_array_equal(lowest_ranks(values), stats.rankdata(values, method="min", axis=1))
    assert ranks(values[:0]).shape == lowest_ranks(values[:0]).shape == (0, 4)


def weighted_ranks(values: Vector, weight: Vector) -> Vector:
    _, run = np.unique(values, return_inverse=True)
    sizes = np.bincount(run, weight)
    return np.asarray((np.cumsum(sizes) - sizes / 2)[run])


def weighted(statistic: str, x: Vector, y: Vector, weight: Vector) -> float:
    if statistic != "pearson":
        x, y = ((ranks(side) if statistic == "ranks" else weighted_ranks(side, weight)) for side in (x, y))
    covariance = np.cov(x, y, aweights=weight)
    return float(covariance[0, 1] / np.sqrt(covariance[0, 0] * covariance[1, 1]))


@pytest.mark.parametrize("statistic", INFLUENCE)
@pytest.mark.parametrize("tied", [False, True])
def test_influence_equals_a_numeric_derivative(statistic: str, tied: bool, rng: np.random.Generator) -> None:
    quality = rng.normal(size=60)
    human, scores = quality + rng.normal(size=60), quality + rng.normal(size=(2, 60))
    if tied:  # many equal low values
        human, scores[0] = np.maximum(np.round(human), 1), scores[0] > 1
    values, influence = INFLUENCE[statistic](scores, human)
    same, step = np.ones(60), 1e-5
    for column, value, of_rows in zip(scores, values, influence, strict=True):
        assert value == pytest.approx(weighted(statistic, column, human, same))
        changes = [weighted(statistic, column, human, same + row) - weighted(statistic, column, human, same - row)
                   for row in step * np.eye(60)]
        assert of_rows == pytest.approx(np.array(changes) / (2 * step), abs=1e-8)
