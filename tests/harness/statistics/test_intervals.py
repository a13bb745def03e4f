"""Fisher's intervals by hand, and scipy's for Pearson."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from harness.statistics import intervals


def test_intervals_by_hand() -> None:
    for variance, n, ends in (
        (intervals.pearson_variance, 100, (0.336643, 0.634140)),  # artanh(0.5) = 0.549306; 1.959964 / sqrt(97) = 0.199
        (intervals.spearman_variance, 100, (0.325897, 0.641302)),  # sqrt((1 + 0.5**2 / 2) / 97) for the standard error
        (intervals.kendall_variance, 100, (0.394458, 0.592522)),  # sqrt(0.437 / 96) = 0.067469; 0.549306 -+ 0.132237
        (intervals.with_control(intervals.pearson_variance), 101, (0.336643, 0.634140)),  # one control costs a row
    ):
        assert intervals.fisher(0.5, n, variance) == pytest.approx(ends, abs=2e-6)
    assert intervals.fisher(-1.0, 10, intervals.pearson_variance) == (-1, -1)
    assert np.isnan(intervals.fisher(0.5, 4, intervals.kendall_variance)).all()
    assert np.isnan(intervals.fisher(np.nan, 40, intervals.kendall_variance)).all()


def test_pearsons_equals_scipys(rng: np.random.Generator) -> None:
    oracle = stats.pearsonr(*rng.normal(size=(2, 40)))
    for level in (0.5, 0.95, 0.99):
        interval = intervals.fisher(float(oracle.statistic), 40, intervals.pearson_variance, level)
        assert interval == pytest.approx(tuple(oracle.confidence_interval(level)), abs=1e-12)
