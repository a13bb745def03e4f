"""Measures equal scipy's; where there is no value, the reason is said."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from harness.statistics import coefficients
from harness.statistics.panel import Codes, Panel, codes, panel

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
    found, oracle = coefficients.estimate(paired(human, metric), name), ORACLE[name](human, metric)
    assert found.value == pytest.approx(float(oracle.statistic), abs=1e-12)
    if abs(found.value) < 1 - 1e-9:  # at the edge both are rounding
        assert found.p == pytest.approx(float(oracle.pvalue), rel=1e-9, abs=1e-15)


@pytest.mark.parametrize("name", ORACLE)
@given(values)
def test_value_and_p_equal_scipy(name: str, rows: list[tuple[int, int]]) -> None:
    human, metric = (list(map(float, column)) for column in zip(*rows, strict=True))
    if len(set(human)) == 1 or len(set(metric)) == 1:
        assert np.isnan(coefficients.estimate(paired(human, metric), name).value)
        return
    equals_scipy(name, human, metric)


@pytest.mark.parametrize("name", ORACLE)
@given(distinct)
def test_without_ties_value_and_p_equal_scipy(name: str, metric: list[int]) -> None:
    """Kendall's p is exact at 12 rows and normal at 40."""
    equals_scipy(name, list(map(float, range(len(metric)))), list(map(float, metric)))


@given(st.lists(st.tuples(st.sampled_from([1, 4]), st.integers(-9, 9)), min_size=4, max_size=40))
def test_point_biserial_equals_scipy(rows: list[tuple[int, int]]) -> None:
    human, metric = (list(map(float, column)) for column in zip(*rows, strict=True))
    found = coefficients.estimate(paired(human, metric), "point-biserial")
    if len(set(human)) == 1 or len(set(metric)) == 1:
        assert np.isnan(found.value)
        return
    oracle = stats.pointbiserialr(np.array(human) == 4, metric)
    assert found.value == pytest.approx(float(oracle.statistic), abs=1e-12)
    assert found.p == pytest.approx(float(oracle.pvalue), abs=1e-9)


def test_point_biserial_is_for_two_values() -> None:
    found = coefficients.estimate(paired([1, 2, 3, 3], [1, 2, 3, 5]), "point-biserial")
    assert np.isnan([found.value, found.p]).all()
    assert found.note == "the ratings have 3 values, not two"


def test_tau_c_by_hand() -> None:
    """Of 6 pairs 4 are concordant and none discordant: 2 * 4 / (4^2 * (2 - 1) / 2) = 1, where tau-b is 4 / sqrt(24)."""
    given = paired([1, 1, 2, 2], [1, 2, 3, 4])
    assert coefficients.estimate(given, "kendall-c").value == pytest.approx(1, abs=1e-12)
    assert coefficients.estimate(given, "kendall").value == pytest.approx(4 / 24**0.5, abs=1e-12)


@pytest.mark.parametrize(("human", "metric", "note"), [
    ([1, 2], [1, 2], "2 rows"), ([3, 3, 3], [1, 2, 3], "every rating is the same"),
    ([1, 2, 3], [0, 0, 0], "every score is the same"), ([np.nan, 1, 2], [1, np.nan, 2], "1 rows"),
])
def test_where_there_is_none_the_reason_is_said(human: list[float], metric: list[float], note: str) -> None:
    table = coefficients.measures(np.random.default_rng(7))
    for name in table.keys() - {"pairwise-accuracy"}:  # which needs no spread
        found = coefficients.estimate(paired(human, metric), name, table)
        assert np.isnan([found.value, found.p, found.low, found.high]).all()
        assert note in found.note, name


def test_only_rows_with_both_values_count() -> None:
    found = paired([1, 2, np.nan, 4, 5], [1, np.nan, 3, 4, 6])
    assert (found.n, list(found.human), list(found.context)) == (3, [1, 4, 5], [0, 3, 4])


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_scale_changes_nothing(rng: np.random.Generator, scale: float) -> None:
    human, metric = rng.normal(size=(2, 40))
    for name in (*coefficients.NAMES, "kendall-c", "pairwise-accuracy"):
        plain, scaled = (coefficients.estimate(paired(human, metric * by), name).value for by in (1, scale))
        assert scaled == pytest.approx(plain, abs=1e-12)


def test_perfect_agreement_has_no_width() -> None:
    found = coefficients.estimate(paired([1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6]), "spearman")
    assert (found.value, found.low, found.high) == (1, 1, 1)


def test_the_report_keeps_its_three() -> None:
    assert coefficients.NAMES == ("spearman", "pearson", "kendall") == tuple(coefficients.STATISTICS)
    for name, (with_p, variance) in coefficients.STATISTICS.items():
        value, p = with_p(paired([1, 2, 3, 4, 5], [1, 3, 2, 5, 4]))
        assert (value, p) == (coefficients.MEASURES[name].value(paired([1, 2, 3, 4, 5], [1, 3, 2, 5, 4])), p)
        assert variance(value, 10) > 0


@pytest.mark.parametrize("name", coefficients.MEASURES)
def test_a_row_is_named_as_its_key(name: str) -> None:
    measure = coefficients.MEASURES[name]
    assert measure.name == name
    assert measure.title
    assert measure.value.__doc__
