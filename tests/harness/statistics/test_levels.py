"""A level is a combinator: any statistic at any level is a statistic again."""

from __future__ import annotations

import numpy as np
import pytest

from harness.statistics import levels
from harness.statistics.bootstrap import bootstrap
from harness.statistics.coefficients import MEASURES
from harness.statistics.panel import Panel, panel

PEARSON = MEASURES["pearson"].value


def grouped(human: list[float], metric: list[float], system: list[int], context: list[int]) -> Panel:
    return panel(np.array(metric, float), np.array(human, float), np.array(system), np.array(context))


SIMPSON = grouped([1, 2, 3, 4, 5, 6, 9, 8, 9], [3, 2, 1, 6, 5, 4, 7, 8, 7], [0, 0, 0, 1, 1, 1, 2, 2, 2], [0, 1, 2] * 3)
"""Within every system the metric runs against people (r = -1), over the systems with them."""


def test_by_hand() -> None:
    assert levels.within(PEARSON, "system")(SIMPSON) == pytest.approx(-1)
    assert levels.over_items(PEARSON)(SIMPSON) == PEARSON(SIMPSON) > 0.7
    # means 2, 5, 26/3 against 2, 5, 22/3: centred -29/9, -2/9, 31/9 and -25/9, 2/9, 23/9
    assert levels.over_systems(PEARSON)(SIMPSON) == pytest.approx((725 - 4 + 713) / (1806 * 1158) ** 0.5)


def test_groups_without_a_value_are_left_out() -> None:
    given = grouped([1, 2, 3, 5, 5, 5, 1], [1, 2, 3, 1, 2, 3, 1], [0, 0, 0, 1, 1, 1, 2], [0] * 7)
    assert levels.within(PEARSON, "system")(given) == pytest.approx(1)
    assert np.isnan(levels.within(PEARSON, "context")(given.take(given.system == 1)))
    assert np.isnan(levels.within(PEARSON, "system")(given.take(given.system > 5)))


def test_the_order_of_rows_is_of_no_matter(rng: np.random.Generator) -> None:
    shuffled = SIMPSON.take(rng.permutation(9))
    for level in levels.LEVELS.values():
        assert level(PEARSON)(shuffled) == pytest.approx(level(PEARSON)(SIMPSON), abs=1e-12)


@pytest.mark.parametrize("level", levels.LEVELS)
def test_every_level_has_an_interval(level: str, rng: np.random.Generator) -> None:
    human = rng.normal(size=(12, 5)) + np.arange(5)
    metric = human + rng.normal(size=(12, 5))
    given = grouped(list(human.ravel()), list(metric.ravel()), [0, 1, 2, 3, 4] * 12, list(np.repeat(np.arange(12), 5)))
    found = bootstrap(given, levels.LEVELS[level](PEARSON), rng, by="context", draws=100)
    assert -1 <= found.low <= found.value <= found.high <= 1
