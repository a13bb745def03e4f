"""Estimates equal scipy's; where there is no value, the reason is said."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from harness.statistics import estimates
from harness.statistics.coefficients import partial
from harness.statistics.estimates import DEFAULT, STATISTICS, estimate
from harness.statistics.panel import Codes, Panel, Vector, codes, panel

ORACLE = {
    "pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau,
    "kendall-c": lambda human, metric: stats.kendalltau(human, metric, variant="c"),
}


def codes_of(rows: int) -> tuple[Codes, Codes]:
    return codes("s" * rows), codes(range(rows))


def paired(human: list[float], metric: list[float]) -> Panel:
    return panel(np.array(metric, float), np.array(human, float), *codes_of(len(human)))


values = st.lists(st.tuples(st.integers(1, 5), st.integers(-40, 40)), min_size=3, max_size=60)
distinct = st.permutations(range(12)) | st.permutations(range(40))


def equals_scipy(name: str, human: list[float], metric: list[float]) -> None:
    found, oracle = estimate(paired(human, metric), name), ORACLE[name](human, metric)
    assert found.value == pytest.approx(float(oracle.statistic), abs=1e-12)
    if abs(found.value) < 1 - 1e-9:  # at the edge both are rounding
        assert found.p == pytest.approx(float(oracle.pvalue), rel=1e-9, abs=1e-15)


@given(values)
def test_value_and_p_equal_scipy(rows: list[tuple[int, int]]) -> None:
    human, metric = (list(map(float, column)) for column in zip(*rows, strict=True))
    for name in ORACLE:
        if len(set(human)) == 1 or len(set(metric)) == 1:
            assert np.isnan(estimate(paired(human, metric), name).value)
        else:
            equals_scipy(name, human, metric)


@given(distinct)
def test_without_ties_value_and_p_equal_scipy(metric: list[int]) -> None:
    """Kendall's p is exact at 12 rows and normal at 40."""
    for name in ORACLE:
        equals_scipy(name, list(map(float, range(len(metric)))), list(map(float, metric)))


@given(st.lists(st.tuples(st.sampled_from([1, 4]), st.integers(-9, 9)), min_size=4, max_size=40))
def test_point_biserial_equals_scipy(rows: list[tuple[int, int]]) -> None:
    human, metric = (list(map(float, column)) for column in zip(*rows, strict=True))
    found = estimate(paired(human, metric), "point-biserial")
    if len(set(human)) == 1 or len(set(metric)) == 1:
        assert np.isnan(found.value)
        return
    oracle = stats.pointbiserialr(np.array(human) == 4, metric)
    assert found.value == pytest.approx(float(oracle.statistic), abs=1e-12)
    assert found.p == pytest.approx(float(oracle.pvalue), abs=1e-9)


def test_point_biserial_is_for_two_values() -> None:
    found = estimate(paired([1, 2, 3, 3], [1, 2, 3, 5]), "point-biserial")
    assert np.isnan([found.value, found.p]).all()
    assert found.note == "the ratings have 3 values, not two"


def test_tau_c_by_hand() -> None:
    """Of 6 pairs 4 are concordant and none discordant: 2 * 4 / (4^2 * (2 - 1) / 2) = 1, where tau-b is 4 / sqrt(24)."""
    given = paired([1, 1, 2, 2], [1, 2, 3, 4])
    assert estimate(given, "kendall-c").value == pytest.approx(1, abs=1e-12)
    assert estimate(given, "kendall").value == pytest.approx(4 / 24**0.5, abs=1e-12)


@pytest.mark.parametrize(("human", "metric", "note"), [
    ([1, 2], [1, 2], "2 rows"), ([3, 3, 3], [1, 2, 3], "every rating is the same"),
    ([1, 2, 3], [0, 0, 0], "every score is the same"), ([np.nan, 1, 2], [1, np.nan, 2], "1 rows"),
])
def test_where_there_is_none_the_reason_is_said(human: list[float], metric: list[float], note: str) -> None:
    for name in STATISTICS.keys() - {"pairwise-accuracy"}:  # which needs no spread
        found = estimate(paired(human, metric), name)
        assert np.isnan([found.value, found.p, found.low, found.high]).all()
        assert note in found.note, name


def test_only_rows_with_both_values_count() -> None:
    found = paired([1, 2, np.nan, 4, 5], [1, np.nan, 3, 4, 6])
    assert (found.n, list(found.human), list(found.context)) == (3, [1, 4, 5], [0, 3, 4])


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_scale_changes_nothing(rng: np.random.Generator, scale: float) -> None:
    human, metric = rng.normal(size=(2, 40))
    for name in (*DEFAULT, "kendall-c", "pairwise-accuracy"):
        plain, scaled = (estimate(paired(human, metric * by), name).value for by in (1, scale))
        assert scaled == pytest.approx(plain, abs=1e-12)


def test_perfect_agreement_has_no_width() -> None:
    found = estimate(paired([1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6]), "spearman")
    assert (found.value, found.low, found.high) == (1, 1, 1)


def test_a_report_has_three_and_each_row_is_named_as_its_key() -> None:
    assert DEFAULT == ("spearman", "pearson", "kendall")
    assert all(row.name == name and row.title and row.value.__doc__ for name, row in STATISTICS.items())
    assert estimates.full_name("kendall-c", "items") == "kendall-c"
    assert estimates.full_name("kendall-c", "within-contexts") == "kendall-c within-contexts"


def controlled(human: Vector, metric: Vector, control: Vector) -> Panel:
    return panel(np.asarray(metric, float), np.asarray(human, float), *codes_of(len(human)), np.asarray(control, float))


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
def test_a_partial_correlation_equals_that_of_residuals(seed: int) -> None:
    human, metric, control = np.random.default_rng(seed).normal(size=(3, 25)) @ np.tri(25) ** 0.5
    found = estimate(controlled(human, metric, control), "partial")
    ranked = [stats.rankdata(side) for side in (human, metric, control)]
    assert found.value == pytest.approx(
        stats.pearsonr(residual(ranked[0], ranked[2]), residual(ranked[1], ranked[2]))[0], abs=1e-9)
    assert found.p == pytest.approx(slope_p(*ranked), rel=1e-6)


@pytest.mark.parametrize(("control", "note"), [
    ([1, 1, 1, 1, 1], "the control is the same everywhere"), ([3, 1, 4, 1, 5], "there is no value"),  # the metric
])
def test_where_there_is_no_partial_correlation_the_reason_is_said(control: list[float], note: str) -> None:
    human, metric = np.array([1.0, 2, 3, 2, 1]), np.array([3.0, 1, 4, 1, 5])
    found = estimate(controlled(human, metric, np.array(control)), "partial")
    assert np.isnan(found.value)
    assert note in found.note
    assert estimate(controlled(human[:3], metric[:3], metric[:3]), "partial").note == "3 rows are too few for a control"
    assert estimate(paired(list(human), list(metric)), "partial").note == "no control is given"


def test_the_control_goes_with_its_row(rng: np.random.Generator) -> None:
    human, metric, control = rng.normal(size=(3, 30))
    rows = rng.integers(30, size=20)
    assert partial(controlled(human, metric, control).take(rows)) == partial(
        controlled(human[rows], metric[rows], control[rows]))
