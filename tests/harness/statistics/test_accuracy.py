"""Tests of two accuracies against tables worked by hand, and scipy."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from harness.statistics.accuracy import chi_squared, mcnemar


def judged(both: int, first: int, second: int, none: int) -> tuple[list[float], list[float]]:
    return [1.] * (both + first) + [0.] * (second + none), [1.] * both + [0.] * first + [1.] * second + [0.] * none


def test_mcnemar_by_hand() -> None:
    few = mcnemar(*judged(10, 1, 8, 1))  # 2 (C(9,0) + C(9,1)) / 2⁹ = 20/512
    assert (few.p, few.first, few.second, few.method) == (
        pytest.approx(20 / 512), 11 / 20, 18 / 20, "McNemar, exact binomial")
    assert mcnemar(*judged(5, 0, 0, 5)).p == mcnemar(*judged(0, 20, 20, 0)).p == 1
    many = mcnemar(*judged(794, 150, 86, 570))  # Agresti's table of two ratings: (|150 - 86| - 1)² / 236
    assert (many.statistic, many.p) == pytest.approx((3969 / 236, stats.chi2.sf(3969 / 236, 1)))
    assert "continuity correction" in many.method


def test_items_that_were_not_judged_are_left_out_and_other_values_refused() -> None:
    first, second = judged(10, 1, 8, 1)
    assert mcnemar([*first, np.nan, 1], [*second, 1, np.nan]) == mcnemar(first, second)
    assert np.isnan(mcnemar([np.nan], [1]).p)
    with pytest.raises(ValueError, match="right"):
        mcnemar([.5], [1])


@settings(max_examples=50)
@given(*[st.integers(1, 300)] * 4)
def test_both_tests_equal_scipys(a: int, b: int, c: int, d: int) -> None:
    squared, oracle = chi_squared(a, a + b, c, c + d), stats.chi2_contingency([[a, b], [c, d]], correction=False)
    assert squared.statistic == pytest.approx(oracle.statistic, abs=1e-9)
    assert squared.p == pytest.approx(oracle.pvalue, rel=1e-6, abs=1e-12)
    few, others = a % 12 + 1, b % 12
    assert mcnemar(*judged(1, few, others, 1)).p == pytest.approx(stats.binomtest(few, few + others).pvalue)


def test_chi_squared_of_equal_shares_of_nothing_and_of_too_many() -> None:
    assert chi_squared(5, 5, 7, 7).p == 1
    assert np.isnan(chi_squared(0, 0, 3, 7).p)
    with pytest.raises(ValueError, match="8 of 5"):
        chi_squared(8, 5, 3, 7)
