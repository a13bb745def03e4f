"""The paired bootstrap equals a plain loop; the way by counts equals the way by rows."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from harness.statistics.coefficients import MEASURES
from harness.statistics.paired import pair, paired_bootstrap, two_sided
from harness.statistics.panel import Panel, codes


def two(seed: int = 0, n: int = 50) -> tuple[Panel, Panel]:
    rng = np.random.default_rng(seed)
    human = rng.integers(1, 6, n).astype(float)
    return pair(human, human + rng.normal(size=n), np.round(human + 2 * rng.normal(size=n)), codes("s" * n),
                codes(row // 5 for row in range(n)))


def test_interval_and_p_equal_a_loop_over_scipy() -> None:
    first, second = two()
    found = paired_bootstrap(first, second, MEASURES["spearman"].value, np.random.default_rng(1), draws=200)
    rng, d = np.random.default_rng(1), []
    for _ in range(200):
        rows = rng.integers(50, size=50)
        d.append(stats.spearmanr(first.human[rows], first.metric[rows])[0]
                 - stats.spearmanr(first.human[rows], second.metric[rows])[0])
    assert (found.low, found.high) == pytest.approx(tuple(np.quantile(d, [.025, .975])), abs=1e-12)
    tail = min(np.less_equal(d, 0).sum(), np.greater_equal(d, 0).sum())
    assert found.p == pytest.approx(min(1, 2 * (tail + 1) / 201))
    assert (found.n, found.draws) == (50, 200)
    assert found.low < found.value < found.high


@pytest.mark.parametrize("name", ["spearman", "pearson"])
@pytest.mark.parametrize("by", ["row", "context"])
def test_by_counts_equals_by_rows(name: str, by: str) -> None:
    first, second = two(2)
    slow, quick = (paired_bootstrap(first, second, way, np.random.default_rng(4), draws=150, by=by)
                   for way in (MEASURES[name].value, name))
    assert (quick.value, quick.low, quick.high, quick.p) == pytest.approx((slow.value, slow.low, slow.high, slow.p))


def test_any_statistic_and_a_metric_against_itself() -> None:
    first, second = two(3)
    found = paired_bootstrap(first, second, MEASURES["kendall"].value, np.random.default_rng(0), draws=50, method="bca")
    assert found.low < found.value < found.high
    same = paired_bootstrap(first, first, "spearman", np.random.default_rng(0), draws=50)
    assert (same.value, same.low, same.high, same.p) == (0, 0, 0, 1)


def test_rows_are_shared_and_what_does_not_exist_is_missing() -> None:
    human, scores = np.array([1., 2, 3, np.nan, 5]), np.array([1., np.nan, 3, 4, 5])
    groups = codes("abcde")
    first, second = pair(human, scores, np.ones(5), groups, groups)
    assert first.n == second.n == 3
    found = paired_bootstrap(first, second, MEASURES["spearman"].value, np.random.default_rng(0))
    assert np.isnan([found.value, found.low, found.p]).all()
    assert found.note
    with pytest.raises(ValueError, match="same rows"):
        paired_bootstrap(first, first.take(np.array([0, 1])), MEASURES["spearman"].value, np.random.default_rng(0))


def test_p_of_differences_by_hand() -> None:
    assert two_sided(np.array([1., 2, 3, -1])) == 2 * 2 / 5  # one on the far side
    assert two_sided(np.array([1., 2, 3])) == 2 * 1 / 4
    assert two_sided(np.zeros(9)) == 1
    assert np.isnan(two_sided(np.zeros(0)))
