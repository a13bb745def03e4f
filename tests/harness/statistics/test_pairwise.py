"""Pairwise accuracy against its definition; soft pairwise accuracy against scipy's permutation test."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from harness.statistics import pairwise
from harness.statistics.estimates import estimate
from harness.statistics.panel import Panel, panel
from harness.statistics.soft_pairwise import soft_pairwise_accuracy


def paired(human: list[float], metric: list[float]) -> Panel:
    rows = np.arange(len(human))
    return panel(np.array(metric, float), np.array(human, float), rows, rows)


def by_definition(human: list[float], metric: list[float], epsilon: float) -> float:
    right = [np.sign(h1 - h2) == (0 if abs(m1 - m2) <= epsilon else np.sign(m1 - m2))
             for (h1, m1), (h2, m2) in combinations(zip(human, metric, strict=True), 2)]
    return float(np.mean(right))


def best_by_definition(human: list[float], metric: list[float]) -> pairwise.Calibration:
    tried = sorted({0.0, *(abs(one - other) for one, other in combinations(metric, 2))})
    found = [by_definition(human, metric, epsilon) for epsilon in tried]
    return pairwise.Calibration(max(found), tried[int(np.argmax(found))])


@pytest.mark.parametrize(("human", "value", "epsilon"), [
    # the metric orders all six pairs as people do
    ([1, 2, 3, 4], 1, 0),
    # people tie the pairs at 2, 4 and 6; the pairs at 2, 6 and 8 are ordered. At 0, 2, 4, 6, 8: 3, 3, 4, 4, 3 of 6
    ([1, 1, 1, 4], 4 / 6, 4),
])
def test_by_hand(human: list[float], value: float, epsilon: float) -> None:
    """The tables that mt-metrics-eval works out in its tau_optimization_test, for a metric of 0, 2, 6, 8."""
    assert pairwise.calibrated(paired(human, [0, 2, 6, 8])) == pairwise.Calibration(pytest.approx(value), epsilon)


rows = st.lists(st.tuples(st.integers(1, 4), st.integers(-30, 30)), min_size=2, max_size=30)


@given(rows, st.integers(-40, 40))
def test_equals_its_definition(pairs: list[tuple[int, int]], exponent: int) -> None:
    human, metric = [float(h) for h, _ in pairs], [m * 2.0**exponent for _, m in pairs]
    best = best_by_definition(human, metric)
    assert pairwise.calibrated(paired(human, metric)) == pairwise.Calibration(pytest.approx(best.value), best.epsilon)
    assert pairwise.accuracy(paired(human, metric), best.epsilon) == pytest.approx(best.value)
    assert pairwise.accuracy(paired(human, metric), 0) == pytest.approx(by_definition(human, metric, 0))


@settings(max_examples=25)
@given(rows, st.booleans())
def test_bins_find_the_same(pairs: list[tuple[int, int]], fine: bool) -> None:
    human = [float(h) for h, _ in pairs]
    metric = [float(m) + (np.sin(place) if fine else 0) for place, (_, m) in enumerate(pairs)]
    whole = pairwise.calibrated(paired(human, metric))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pairwise, "ALL_AT_ONCE", 1)
        assert pairwise.calibrated(paired(human, metric)) == whole


def test_bins_find_the_same_among_many(rng: np.random.Generator, monkeypatch: pytest.MonkeyPatch) -> None:
    human = np.round(rng.normal(size=600))
    given = paired(list(human), list(human + rng.normal(size=600)))
    whole = pairwise.calibrated(given)
    monkeypatch.setattr(pairwise, "ALL_AT_ONCE", 300)
    assert pairwise.calibrated(given) == whole
    assert whole.epsilon > 0


def test_a_constant_metric_has_the_share_of_tied_pairs() -> None:
    found = estimate(paired([1, 1, 2, 3], [0, 0, 0, 0]), "pairwise-accuracy")
    assert found.value == pytest.approx(1 / 6)
    assert np.isnan([found.p, found.low]).all()
    assert estimate(paired([1], [1]), "pairwise-accuracy").note.startswith("1 rows")


def of_systems(human: list[list[float]], metric: list[list[float]], shared: bool = True) -> Panel:
    """A row of scores per system; contexts are shared, or each system has its own."""
    sizes = [len(row) for row in human]
    context = np.concatenate([np.arange(size) for size in sizes]) if shared else np.arange(sum(sizes))
    return panel(np.concatenate(metric), np.concatenate(human), np.repeat(np.arange(len(sizes)), sizes), context)


def mean_difference(one: np.ndarray, other: np.ndarray, axis: int) -> np.ndarray:
    return np.asarray(one.mean(axis=axis) - other.mean(axis=axis))


def exact(one: list[float], other: list[float], kind: str) -> float:
    """P of the permutation test by all permutations, equals counting half."""
    greater, less = (stats.permutation_test(
        (np.array(one), np.array(other)), mean_difference, permutation_type=kind, vectorized=True, n_resamples=np.inf,
        alternative=side).pvalue for side in ("greater", "less"))
    return float(greater + 1 - less) / 2


HUMAN = [[3.0, 4, 2, 5, 4], [2.0, 2, 3, 4, 4], [1.0, 3, 2, 2, 5]]
METRIC = [[0.3, 0.5, 0.1, 0.2, 0.9], [0.4, 0.1, 0.3, 0.25, 0.6], [0.35, 0.6, 0.1, 0.2, 0.2]]


@pytest.mark.parametrize("kind", ["samples", "independent"])
def test_soft_pairwise_accuracy_equals_that_of_all_permutations(kind: str, rng: np.random.Generator) -> None:
    apart = [abs(exact(HUMAN[i], HUMAN[j], kind) - exact(METRIC[i], METRIC[j], kind))
             for i, j in combinations(range(3), 2)]
    found = soft_pairwise_accuracy(of_systems(HUMAN, METRIC, kind == "samples"), rng, draws=20_000)
    assert found == pytest.approx(1 - np.mean(apart), abs=0.01)


@pytest.mark.parametrize("shared", [True, False])
def test_soft_pairwise_accuracy_of_people_and_of_their_contrary(shared: bool) -> None:
    sure = [[5.0] * 9 + [4.0], [1.0] * 9 + [2.0]]
    contrary = [[-vote for vote in row] for row in sure]
    for metric, value in ((sure, 1.0), (contrary, 0.0)):
        found = soft_pairwise_accuracy(of_systems(sure, metric, shared))
        assert found == pytest.approx(value, abs=0.01)


def test_the_order_of_systems_is_of_no_matter() -> None:
    one, other = (soft_pairwise_accuracy(of_systems(human, metric))
                  for human, metric in ((HUMAN, METRIC), (HUMAN[::-1], METRIC[::-1])))
    assert one == pytest.approx(other, abs=1e-12)


def test_one_system_has_no_pairs() -> None:
    one = of_systems(HUMAN[:1], METRIC[:1])
    found = estimate(one, "soft-pairwise-accuracy")
    assert np.isnan(found.value)
    assert found.note == "there are fewer than two systems"
