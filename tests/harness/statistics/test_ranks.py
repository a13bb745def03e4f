"""Ranks beside scipy's."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from harness.statistics.ranks import lowest_ranks, ranks

VALUES = st.lists(st.lists(st.sampled_from((-0.0, 0.0, 1e-300, 1.0, 2.5, np.inf)), min_size=4, max_size=4), max_size=5)


@given(VALUES)
def test_equals_share_the_mean_of_their_ranks_or_the_lowest(rows: list[list[float]]) -> None:
    values = np.array(rows, dtype=np.float64).reshape(len(rows), 4)
    assert np.array_equal(ranks(values), [stats.rankdata(row) for row in values] or values)
    lowest = [stats.rankdata(row, method="min") for row in values]
    assert np.array_equal(lowest_ranks(values), lowest or values)
