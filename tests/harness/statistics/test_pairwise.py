"""Pairwise accuracy against its definition; soft pairwise accuracy against all permutations."""

from collections.abc import Sequence
from itertools import combinations, permutations, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.statistics import pairwise
from harness.statistics.estimates import estimate
from harness.statistics.pairwise import soft_pairwise_accuracy
from harness.statistics.panel import Panel, panel


def paired(human: Sequence[float], metric: Sequence[float]) -> Panel:
    rows = np.arange(len(human))
    return panel(np.array(metric, float), np.array(human, float), rows, rows)


def by_definition(human: list[float], metric: list[float]) -> pairwise.Calibration:
    def accuracy(epsilon: float) -> float:
        return float(np.mean([np.sign(h1 - h2) == (0 if abs(m1 - m2) <= epsilon else np.sign(m1 - m2))
                              for (h1, m1), (h2, m2) in combinations(zip(human, metric, strict=True), 2)]))

    thresholds = sorted({0.0, *(abs(a - b) for a, b in combinations(metric, 2))})
    return max((pairwise.Calibration(accuracy(epsilon), epsilon) for epsilon in thresholds),
               key=lambda calibration: calibration.value)


def test_groups_equal_those_of_mt_metrics_eval() -> None:
    """The example with gaps in its tau_optimization_test: the best of the thresholds 0 to 8 is 1."""
    metric = [[0, 5, 2, 3, 2], [None, 2, 1, 5, 3], [9, 1, 5, 3, 8], [9, 3, 4, 4, 1]]
    human = [[1, 5, 2, 1, 1], [4, 2, 2, 1, 4], [5, 9, 2, 8, 7], [7, 6, None, 3, 2]]
    rows = panel(*(np.array(side, dtype=float).ravel() for side in (metric, human)), np.zeros(20, dtype=np.int64),
                 np.repeat(np.arange(4), 5))
    value = estimate(rows, "pairwise-accuracy", "within-contexts")
    assert (value.value, value.epsilon) == (pytest.approx(0.4916666666666668), 1)
    # from its stats_test: KendallVariants and KendallWithTiesOpt of one panel
    gold, scores = [1.0, 2, 2, 3, 4], [2.0, 1, 1.5, 5, 3]
    assert [pairwise.accuracy(paired(gold, scores), epsilon) for epsilon in (0, 2)] == pytest.approx([.6, .4])
    assert pairwise.calibrated(paired(gold, scores)).value == pytest.approx(.7)
    assert np.isnan(pairwise.calibrated(paired(gold[:1], scores[:1])).value)


rows = st.lists(st.tuples(st.integers(1, 4), st.integers(-30, 30)), min_size=2, max_size=30)


@settings(max_examples=25)
@given(rows, st.integers(-40, 40))
def test_calibrated_accuracy_equals_its_definition(pairs: list[tuple[int, int]], exponent: int) -> None:
    human, metric = [float(h) for h, _ in pairs], [m * 2.0**exponent for _, m in pairs]
    best = by_definition(human, metric)
    assert pairwise.calibrated(paired(human, metric)) == pairwise.Calibration(pytest.approx(best.value), best.epsilon)
    assert pairwise.accuracy(paired(human, metric), best.epsilon) == pytest.approx(best.value)


@settings(max_examples=10)
@given(rows, st.booleans())
def test_bins_give_the_same_threshold(pairs: list[tuple[int, int]], fine: bool) -> None:
    rng = np.random.default_rng(0)
    human = np.round(rng.normal(size=300))
    few = paired([h for h, _ in pairs], [m + (np.sin(index) if fine else 0) for index, (_, m) in enumerate(pairs)])
    for rows_, at_once in ((few, 1), (paired(human, human + rng.normal(size=300)), 150)):
        whole = pairwise.calibrated(rows_)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(pairwise, "MAX_ROWS_AT_ONCE", at_once)
            assert pairwise.calibrated(rows_) == whole
    assert whole.epsilon > 0


def of_systems(human: list[list[float]], metric: list[list[float]], shared: bool = True) -> Panel:
    """Return a panel of a row of scores per system; contexts are shared, or each system has its own."""
    sizes = [len(row) for row in human]
    context = np.concatenate([np.arange(size) for size in sizes]) if shared else np.arange(sum(sizes))
    return panel(np.concatenate(metric), np.concatenate(human), np.repeat(np.arange(len(sizes)), sizes), context)


HUMAN = [[3.0, 4, 2, 5, 4], [2.0, 2, 3, 4, 4], [1.0, 3, 2, 2, 5]]
METRIC = [[0.3, 0.5, 0.1, 0.2, 0.9], [0.4, 0.1, 0.3, 0.25, 0.6], [0.35, 0.6, 0.1, 0.2, 0.2]]


def test_soft_accuracy_permutes_within_shared_contexts_and_all_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """The systems share a context with a row each and one with two rows of the first; other rows are in others."""
    monkeypatch.setattr(pairwise, "DRAWS", 20_000)
    of_first = np.array([True] * 5 + [False] * 4)
    context = np.array([0, 1, 1, 2, 3, 0, 1, 4, 5])
    human = np.array([4.0, 5, 3, 2, 5, 1, 4, 4, 1])
    metric = np.array([0.3, 0.9, 0.2, 0.1, 0.6, 0.8, 0.4, 0.7, 0.5])
    strata = [np.flatnonzero(np.isin(context, members)) for members in ([0], [1], range(2, 6))]

    def p(values: np.ndarray) -> float:
        beyond = []
        for drawn in product(*(permutations(values[rows]) for rows in strata)):
            permuted = np.empty(9)
            permuted[np.concatenate(strata)] = np.concatenate(drawn)
            change = permuted - values
            beyond.append(round(change[of_first].mean() - change[~of_first].mean(), 9))
        return float(np.mean(np.sign(beyond)) + 1) / 2

    accuracy = soft_pairwise_accuracy(panel(metric, human, 1 - of_first, context))
    assert accuracy == pytest.approx(1 - abs(p(human) - p(metric)), abs=0.01)


def test_soft_accuracy_of_extreme_metrics_and_any_order() -> None:
    clear = [[5.0] * 9 + [4.0], [1.0] * 9 + [2.0]]
    reverse = [[-vote for vote in row] for row in clear]
    for metric, shared, value in ((clear, True, 1.0), (clear, False, 1.0), (reverse, True, 0), (reverse, False, 0)):
        assert soft_pairwise_accuracy(of_systems(clear, metric, shared)) == pytest.approx(value, abs=0.01)
    constants = soft_pairwise_accuracy(of_systems([*clear, [0.0] * 10], [[3.0] * 10, [3.0] * 10, [1.0] * 10]))
    assert constants == pytest.approx(1 - 0.5 / 3, abs=0.01), "equal constants are as likely one way as the other"
    forth, back = (soft_pairwise_accuracy(of_systems(HUMAN[::step], METRIC[::step])) for step in (1, -1))
    assert forth == pytest.approx(back, abs=1e-12)
    single = estimate(of_systems(HUMAN[:1], METRIC[:1]), "soft-pairwise-accuracy")
    means = estimate(of_systems(HUMAN, METRIC), "soft-pairwise-accuracy", "over-systems")
    assert np.isnan([single.value, means.value]).all()
    assert single.note
    assert means.note
