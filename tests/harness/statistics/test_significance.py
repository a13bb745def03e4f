"""Adjusted p-values, clusters, letters and tests of two accuracies: by hand, against scipy, by their properties."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from harness.statistics import significance
from harness.statistics.significance import benjamini_hochberg, chi_squared, clusters, holm, letters, mcnemar

P = st.lists(st.floats(0, 1), min_size=1, max_size=30)


@settings(max_examples=50)
@given(P)
def test_adjusted_p_equal_scipy_and_the_definition(p: list[float]) -> None:
    assert benjamini_hochberg(p) == pytest.approx(stats.false_discovery_control(p))
    order, k = np.argsort(p, kind="stable"), len(p)
    expected = np.empty(k)
    for i in range(k):
        expected[order[i]] = max(min(1, (k - j) * p[order[j]]) for j in range(i + 1))
    assert holm(p) == pytest.approx(expected)
    for adjust in (holm, benjamini_hochberg):
        adjusted = adjust([np.nan, *p, np.nan])
        assert np.isnan(adjusted[[0, -1]]).all()
        assert adjusted[1:-1] == pytest.approx(adjust(p))
        assert np.isnan(adjust([np.nan])).all()


def test_a_matrix_of_pairs_counts_each_once() -> None:
    p = np.array([[np.nan, .01, .02], [.01, np.nan, .2], [.02, .2, np.nan]])
    adjusted = significance.over_pairs(p)
    assert adjusted[0, 1] == adjusted[1, 0] == pytest.approx(.03)
    assert adjusted[2, 0] == pytest.approx(.04)
    assert np.isnan(adjusted.diagonal()).all()
    assert p[0, 1] == .01


def wins(size: int, pairs: list[tuple[int, int]]) -> np.ndarray:
    table = np.zeros((size, size), dtype=bool)
    for i, j in pairs:
        table[i, j] = True
    return table


def as_wmt(order: list[int], better: np.ndarray) -> list[list[int]]:
    """Cluster by the rule of WMT's metrics task: a metric joins the cluster unless one of its members beats it."""
    groups: list[list[int]] = []
    for metric in order:
        if not groups or any(better[member, metric] for member in groups[-1]):
            groups.append([])
        groups[-1].append(metric)
    return groups


def test_clusters_by_hand() -> None:
    values = np.array([.5, .9, np.nan, .7, .6])  # order 1 3 4 0
    chain = wins(5, [(1, 4), (1, 0), (3, 0)])  # each equals its neighbour: one cluster, three letters
    for better, groups, text in (
        (wins(5, [(1, 3), (1, 4), (1, 0), (3, 0), (4, 0)]), (3, 1, 0, 2, 2), ("c", "a", "", "b", "b")),
        (chain, (1, 1, 0, 1, 1), ("c", "a", "", "ab", "bc")),
    ):
        assert (clusters(values, better.item), letters(values, better)) == (groups, text)
    nothing = np.full(2, np.nan)
    assert (clusters(nothing, wins(2, []).item), letters(nothing, wins(2, []))) == ((0, 0), ("", ""))


@settings(max_examples=50)
@given(st.integers(1, 9), st.data())
def test_letters_and_clusters_keep_their_rules(size: int, data: st.DataObject) -> None:
    values = np.array(data.draw(st.lists(st.floats(-1, 1), min_size=size, max_size=size)))
    order = [int(i) for i in np.argsort(-values, kind="stable")]
    pairs = [(order[a], order[b]) for a in range(size) for b in range(a + 1, size)]
    table = wins(size, data.draw(st.lists(st.sampled_from(pairs))) if pairs else [])
    shown = letters(values, table)
    for i, j in pairs:
        assert bool(set(shown[i]) & set(shown[j])) is not bool(table[i, j])
    by_wmt, groups = ([[i for i in order if numbers[i] == number] for number in range(1, max(numbers) + 1)]
                      for numbers in (clusters(values, table.item, "wmt"), clusters(values, table.item)))
    assert by_wmt == as_wmt(order, table)
    assert [i for group in groups for i in group] == order
    for place, group in enumerate(groups):
        assert all(table[i, j] for i in group for later in groups[place + 1:] for j in later)
        for cut in range(1, len(group)):
            below = [*group[cut:], *(j for later in groups[place + 1:] for j in later)]
            above = [*(i for earlier in groups[:place] for i in earlier), *group[:cut]]
            assert not all(table[i, j] for i in above for j in below)


def judged(both: int, first: int, second: int, none: int) -> tuple[list[float], list[float]]:
    return [1.] * (both + first) + [0.] * (second + none), [1.] * both + [0.] * first + [1.] * second + [0.] * none


def test_tests_of_accuracies_by_hand() -> None:
    few = mcnemar(*judged(10, 1, 8, 1))  # 2 (C(9,0) + C(9,1)) / 2⁹ = 20/512
    assert (few.p, few.first, few.second, few.method) == (
        pytest.approx(20 / 512), 11 / 20, 18 / 20, "McNemar, exact binomial")
    assert mcnemar(*judged(5, 0, 0, 5)).p == mcnemar(*judged(0, 20, 20, 0)).p == chi_squared(5, 5, 7, 7).p == 1
    many = mcnemar(*judged(794, 150, 86, 570))  # Agresti's table of two ratings: (|150 - 86| - 1)² / 236
    assert (many.statistic, many.p) == pytest.approx((3969 / 236, stats.chi2.sf(3969 / 236, 1)))
    assert "continuity correction" in many.method
    first, second = judged(10, 1, 8, 1)
    assert mcnemar([*first, np.nan, 1], [*second, 1, np.nan]) == few
    assert np.isnan([mcnemar([np.nan], [1]).p, chi_squared(0, 0, 3, 7).p]).all()


@settings(max_examples=50)
@given(*[st.integers(1, 300)] * 4)
def test_both_tests_equal_scipys(a: int, b: int, c: int, d: int) -> None:
    squared, oracle = chi_squared(a, a + b, c, c + d), stats.chi2_contingency([[a, b], [c, d]], correction=False)
    assert squared.statistic == pytest.approx(oracle.statistic, abs=1e-9)
    assert squared.p == pytest.approx(oracle.pvalue, rel=1e-6, abs=1e-12)
    few, others = a % 12 + 1, b % 12
    assert mcnemar(*judged(1, few, others, 1)).p == pytest.approx(stats.binomtest(few, few + others).pvalue)
