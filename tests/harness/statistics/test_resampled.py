"""Every metric on every resample has the value that scipy gives it there."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from harness.statistics.resampled import correlator

CALL = {"spearman": stats.spearmanr, "pearson": stats.pearsonr}


def drawn(n: int, draws: int) -> np.ndarray:
    rng = np.random.default_rng(2)
    return np.array([np.bincount(rng.integers(n, size=n), minlength=n) for _ in range(draws)])


@pytest.mark.parametrize("name", CALL)
def test_every_metric_on_every_resample_equals_scipys(name: str) -> None:
    rng = np.random.default_rng(0)
    human = rng.integers(1, 6, 60).astype(float)
    scores = np.outer((2, .5, .5, 0), human) + rng.normal(size=(4, 60)).round(1)
    scores[0] += rng.normal(size=60) / 100
    human[3] = scores[1, 5] = np.nan
    counts = drawn(60, 20)
    found = correlator(human, scores, name)(counts.astype(float))
    for draw, row in enumerate(counts):
        for metric, column in enumerate(scores):
            rows = np.repeat(np.arange(60), row * (np.isfinite(human) & np.isfinite(column)))
            assert found[draw, metric] == pytest.approx(CALL[name](human[rows], column[rows])[0], abs=1e-12)


@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 3)), min_size=3, max_size=9))
def test_ties_and_constant_resamples(rows: list[tuple[int, int]]) -> None:
    human, scores = np.array(rows, dtype=float).T
    counts = drawn(len(rows), 5)
    for name, call in CALL.items():
        for row, (value,) in zip(counts, correlator(human, scores[None], name)(counts.astype(float)), strict=True):
            x, y = np.repeat(human, row), np.repeat(scores, row)
            if np.ptp(x) == 0 or np.ptp(y) == 0:
                assert np.isnan(value)
            else:
                assert value == pytest.approx(call(x, y)[0], abs=1e-12)


def test_what_does_not_exist_is_missing_and_an_unknown_statistic_names_the_known() -> None:
    human, scores = np.array([1., 2, 3]), np.array([[1., 1, 1], [1, np.nan, 2], [1, 2, 3]])
    for name in CALL:
        assert correlator(human, scores, name)(np.ones((1, 3)))[0] == pytest.approx([np.nan, np.nan, 1], nan_ok=True)
        assert np.isnan(correlator(human, scores, name)(np.zeros((1, 3)))).all()
    with pytest.raises(ValueError, match="spearman, pearson"):
        correlator(human, scores, "kendall")
