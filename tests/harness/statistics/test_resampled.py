"""Every metric on every resample has the value that scipy gives it there."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from harness.statistics.resampled import correlator

CALL = {"spearman": stats.spearmanr, "pearson": stats.pearsonr}


def equals_scipys(human: np.ndarray, scores: np.ndarray, draws: int) -> None:
    rng, n = np.random.default_rng(2), len(human)
    counts = np.array([np.bincount(rng.integers(n, size=n), minlength=n) for _ in range(draws)])
    for name, call in CALL.items():
        values = correlator(human[None], scores, name)(counts.astype(float))[:, 0]
        for draw, weights in enumerate(counts):
            for metric, column in enumerate(scores):
                rows = np.repeat(np.arange(n), weights * (np.isfinite(human) & np.isfinite(column)))
                if len(rows) == 0 or 0 in (np.ptp(human[rows]), np.ptp(column[rows])):
                    assert np.isnan(values[draw, metric])
                else:
                    assert values[draw, metric] == pytest.approx(call(human[rows], column[rows])[0], abs=1e-12)


def test_every_metric_on_every_resample_equals_scipys() -> None:
    rng = np.random.default_rng(0)
    human = rng.integers(1, 6, 60).astype(float)
    scores = np.outer((2, .5, .5, 0), human) + rng.normal(size=(4, 60)).round(1)
    scores[0] += rng.normal(size=60) / 100
    human[3] = scores[1, 5] = np.nan
    equals_scipys(human, scores, 10)


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(1, 3), st.integers(0, 3)), min_size=3, max_size=9))
def test_ties_and_constant_resamples(rows: list[tuple[int, int]]) -> None:
    human, scores = np.array(rows, dtype=float).T
    equals_scipys(human, scores[None], 5)


def test_what_does_not_exist_is_missing_and_an_unknown_statistic_names_the_known() -> None:
    human, scores = np.array([1., 2, 3]), np.array([[1., 1, 1], [1, np.nan, 2], [1, 2, 3]])
    for name in CALL:
        correlate = correlator(human[None], scores, name)
        assert correlate(np.ones((1, 3)))[0, 0] == pytest.approx([np.nan, np.nan, 1], nan_ok=True)
        assert np.isnan(correlate(np.zeros((1, 3)))).all()
    with pytest.raises(ValueError, match="spearman, pearson"):
        correlator(human[None], scores, "kendall")
