"""Partial correlations equal those of residuals; their p is that of the metric's slope beside the control."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from harness.statistics import coefficients, levels
from harness.statistics.panel import Panel, Vector, panel
from harness.statistics.partial import Controlled, controlled, partial_pearson, partial_spearman


def paired(human: Vector, metric: Vector) -> Panel:
    rows = np.arange(len(human))
    return panel(np.asarray(metric, float), np.asarray(human, float), rows % 3, rows // 3)


def residual(values: Vector, control: Vector) -> Vector:
    design = np.stack([np.ones_like(control), control], axis=1)
    left: Vector = values - design @ np.linalg.lstsq(design, values, rcond=None)[0]
    return left


def slope_p(human: Vector, metric: Vector, control: Vector) -> float:
    """Two-sided p of the metric's coefficient in a regression of the ratings on metric and control."""
    design = np.stack([np.ones_like(control), metric, control], axis=1)
    slopes, rest = np.linalg.lstsq(design, human, rcond=None)[:2]
    error = np.sqrt(rest[0] / (len(human) - 3) * np.linalg.inv(design.T @ design)[1, 1])
    return float(2 * stats.t.sf(abs(slopes[1]) / error, len(human) - 3))


@settings(max_examples=25)
@given(st.integers(0, 10**6))
def test_equals_the_correlation_of_residuals(seed: int) -> None:
    human, metric, control = np.random.default_rng(seed).normal(size=(3, 25)) @ np.tri(25) ** 0.5
    found = coefficients.estimate(controlled(paired(human, metric), control), "partial-pearson")
    assert found.value == pytest.approx(
        stats.pearsonr(residual(human, control), residual(metric, control))[0], abs=1e-9)
    assert found.p == pytest.approx(slope_p(human, metric, control), rel=1e-6)
    ranked = [stats.rankdata(side) for side in (human, metric, control)]
    found = coefficients.estimate(controlled(paired(human, metric), control), "partial-spearman")
    assert found.value == pytest.approx(
        stats.pearsonr(residual(ranked[0], ranked[2]), residual(ranked[1], ranked[2]))[0], abs=1e-9)


def test_by_hand() -> None:
    """Ratings c + a and scores c - a, a and c uncorrelated: r is 0, and given c it is -1."""
    c, a = np.array([-1.0, -1, 1, 1]), np.array([-1.0, 1, -1, 1])
    given = controlled(paired(c + a, c - a), c)
    assert coefficients.estimate(given, "pearson").value == pytest.approx(0, abs=1e-12)
    assert partial_pearson(given) == pytest.approx(-1, abs=1e-12)


@pytest.mark.parametrize(("control", "note"), [
    ([1, 1, 1, 1, 1], "the control is the same everywhere"), ([1, 2, 3, np.nan, np.nan], "3 rows are too few"),
    ([3, 1, 4, 1, 5], "there is no value"),  # the metric itself
])
def test_where_there_is_none_the_reason_is_said(control: list[float], note: str) -> None:
    plain = paired(np.array([1.0, 2, 3, 2, 1]), np.array([3.0, 1, 4, 1, 5]))
    for name in ("partial-pearson", "partial-spearman"):
        found = coefficients.estimate(controlled(plain, np.array(control)), name)
        assert np.isnan(found.value)
        assert note in found.note
        assert coefficients.estimate(plain, name).note == "no control is given"


def test_the_control_goes_with_its_row(rng: np.random.Generator) -> None:
    human, metric, control = rng.normal(size=(3, 30))
    given, rows = controlled(paired(human, metric), control), rng.integers(30, size=20)
    again = controlled(paired(human[rows], metric[rows]), control[rows])
    assert partial_spearman(given.take(rows)) == partial_spearman(again)


def test_system_means_have_a_mean_control(rng: np.random.Generator) -> None:
    human, metric, control = rng.normal(size=(3, 30))
    means = levels.system_means(controlled(paired(human, metric), control))
    assert isinstance(means, Controlled)
    assert means.control == pytest.approx([control[system::3].mean() for system in range(3)])
