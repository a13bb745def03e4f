"""A statistic at a level is the mean of the statistic over the parts of the panel."""

from __future__ import annotations

import numpy as np
import pytest

from harness.statistics import pairwise
from harness.statistics import panel as levels
from harness.statistics.bootstrap import bootstrap
from harness.statistics.coefficients import pearson
from harness.statistics.estimates import STATISTICS, at_level, estimate
from harness.statistics.panel import LEVELS, Panel, panel


def grouped(human: list[float], metric: list[float], system: list[int], context: list[int]) -> Panel:
    return panel(np.array(metric, float), np.array(human, float), np.array(system), np.array(context))


SIMPSON = grouped([1, 2, 3, 4, 5, 6, 9, 8, 9], [3, 2, 1, 6, 5, 4, 7, 8, 7], [0, 0, 0, 1, 1, 1, 2, 2, 2], [0, 1, 2] * 3)
"""Within every system the metric runs against people (r = -1), over the systems with them."""


def test_by_hand_and_in_any_order(rng: np.random.Generator) -> None:
    assert at_level("pearson", "within-systems")(SIMPSON) == pytest.approx(-1)
    assert at_level("pearson", "items")(SIMPSON) == pearson(SIMPSON) > 0.7
    # means 2, 5, 26/3 against 2, 5, 22/3: centred -29/9, -2/9, 31/9 and -25/9, 2/9, 23/9
    assert at_level("pearson", "over-systems")(SIMPSON) == pytest.approx((725 - 4 + 713) / (1806 * 1158) ** 0.5)
    shuffled = SIMPSON.take(rng.permutation(9))
    for level in LEVELS:
        assert at_level("pearson", level)(shuffled) == pytest.approx(at_level("pearson", level)(SIMPSON), abs=1e-12)


def test_the_numbers_of_mt_metrics_eval() -> None:
    """Its stats_test, for two systems of three items each: over all rows, and the mean within systems."""
    rows = grouped([1, 2, 3, 4, 5, 6], [2, 1, 4, 3, 3, 7], [0, 0, 0, 1, 1, 1], [0, 1, 2] * 2)
    for statistic, *values in (("pearson", .776, .760), ("kendall", .552, .575), ("kendall-c", .556, .611)):
        assert [at_level(statistic, level)(rows) for level in ("items", "within-systems")] == (
            pytest.approx(values, abs=5e-4))


def test_groups_without_a_value_are_left_out() -> None:
    rows = grouped([1, 2, 3, 5, 5, 5, 1], [1, 2, 3, 1, 2, 3, 1], [0, 0, 0, 1, 1, 1, 2], [0] * 7)
    assert at_level("pearson", "within-systems")(rows) == pytest.approx(1)
    assert np.isnan(at_level("pearson", "within-contexts")(rows.take(rows.system == 1)))
    assert np.isnan(at_level("pearson", "within-systems")(rows.take(rows.system > 5)))
    assert estimate(rows.take(np.array([0, 3, 6])), "pearson", "within-systems").note.startswith("in no system there")


def test_every_statistic_at_every_level_has_a_value_or_a_reason(rng: np.random.Generator) -> None:
    human = rng.integers(0, 2, size=(12, 5)) + np.arange(5)
    metric = human + rng.normal(size=(12, 5))
    rows = Panel(human.ravel().astype(float), metric.ravel(), np.array([0, 1, 2, 3, 4] * 12),
                 np.repeat(np.arange(12), 5), rng.integers(3, 9, size=60).astype(float))
    for name in STATISTICS:
        for level in LEVELS:
            value = estimate(rows, name, level)
            assert -1 <= value.value <= 1 or value.note, (name, level)
            assert not value.note or np.isnan(value.value), (name, level)
    for level in LEVELS:
        interval = bootstrap(rows, at_level("pearson", level), rng, draws=60)
        assert -1 <= interval.low <= interval.value <= interval.high <= 1
    assert estimate(rows, "spearman", "over-systems").n == 5


def test_groups_share_the_threshold_of_pairwise_accuracy() -> None:
    """Each group by itself would choose its own; together the smallest with the best mean over both is 1."""
    rows = grouped([1, 1, 2, 1, 2, 3], [0, 1, 9, 0, 5, 9], [0] * 6, [0, 0, 0, 1, 1, 1])
    assert [pairwise.calibrated(part).epsilon for part in levels.groups(rows, rows.context)] == [1, 0]
    assert at_level("pairwise-accuracy", "within-contexts")(rows) == pytest.approx(1)
    worse = grouped([1, 1, 2, 1, 2, 3], [0, 5, 9, 0, 3, 9], [0] * 6, [0, 0, 0, 1, 1, 1])
    # at 0: (2/3 + 1)/2; at 5: (2/3 + 2/3)/2: the pair of 5 and 9 is lost; each by itself would have more
    assert at_level("pairwise-accuracy", "within-contexts")(worse) == pytest.approx(5 / 6)


def test_system_means_have_a_mean_control(rng: np.random.Generator) -> None:
    human, metric, control = rng.normal(size=(3, 30))
    rows = np.arange(30)
    means = levels.system_means(panel(metric, human, rows % 3, rows // 3, control))
    assert means.control == pytest.approx([control[system::3].mean() for system in range(3)])
