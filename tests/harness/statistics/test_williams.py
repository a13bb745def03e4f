"""Tests of two dependent correlations give the published numbers, and NaN where there is nothing to test."""

import math
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from harness.statistics import williams

PUBLISHED = [  # test, r12, r13, r23, n, statistic to as many digits as published, p, source
    ("williams", .4, .5, .1, 103, "-0.89", .37, "Steiger (1980), p. 249; psych::r.test, Steiger case A"),
    ("steiger", .4, .5, .1, 103, "-0.8887185", None, "cocor's own tests of Steiger (1980), case A"),
    ("williams", .3, .4, .5, 100, "-1.0767", .2843, "depcor: Silver, Hittner & May (2006)"),
    ("steiger", .3, .4, .5, 100, "-1.0718", .2838, "depcor: Silver, Hittner & May (2006)"),
    ("meng", .3, .4, .5, 100, "-1.0707", .2843, "depcor: Silver, Hittner & May (2006)"),
    ("meng", .63, -.03, -.19, 15, "1.68", None, "Meng, Rosenthal & Rubin (1992)"),
    ("meng", .5, .2, .3, 50, "1.91", None, "May & Hittner (1997)"),
    ("meng", .5, .2, .8, 50, "3.50", None, "May & Hittner (1997)"),
    ("meng", .7, .4, .8, 50, "4.05", None, "May & Hittner (1997)"),
]


def test_published_examples() -> None:
    for name, r12, r13, r23, n, printed, p, source in PUBLISHED:
        statistic, computed = williams.FORMULAS[name](r12, r13, r23, n)
        assert f"{statistic:.{len(printed.split('.')[1])}f}" == printed, source
        assert p is None or float(computed) == pytest.approx(p, abs=.005 if p == .37 else 5e-5), source


def by_determinant(r12: float, r13: float, r23: float, n: int) -> tuple[float, float]:
    k = np.linalg.det([[1, r12, r13], [r12, 1, r23], [r13, r23, 1]])
    below = 2 * k * (n - 1) / (n - 3) + ((r12 + r13) / 2) ** 2 * (1 - r23) ** 3
    t = (r12 - r13) * math.sqrt((n - 1) * (1 + r23) / below)
    return t, 2 * stats.t.sf(abs(t), n - 3)


@settings(max_examples=50)
@given(st.integers(0, 10**6), st.integers(5, 400))
def test_williams_equals_its_formula_and_is_antisymmetric(seed: int, n: int) -> None:
    r = np.corrcoef(np.random.default_rng(seed).normal(size=(3, 5)))
    t, p = williams.williams(r[0, 1], r[0, 2], r[1, 2], n)
    assert (float(t), float(p)) == pytest.approx(by_determinant(r[0, 1], r[0, 2], r[1, 2], n), rel=1e-6, abs=1e-9)
    for test in williams.FORMULAS.values():
        forth, back = test(r[0, 1], r[0, 2], r[1, 2], n), test(r[0, 2], r[0, 1], r[1, 2], n)
        assert float(forth[0]) == pytest.approx(-float(back[0]), rel=1e-9)
        assert float(forth[1]) == pytest.approx(float(back[1]))


def test_by_context_equals_a_jackknife_of_contexts(rng: np.random.Generator) -> None:
    context = np.repeat(np.arange(200), 3)
    shared = rng.normal(size=(3, 200))[:, context] + rng.normal(size=(3, 600))
    human, scores = shared[0], shared[1:] + shared[0]
    for statistic in ("pearson", "spearman"):
        tests = williams.all_pairs_by_context(human, scores, context, statistic)
        left_out = []
        for number in range(200):
            r = williams.correlation_matrix(np.vstack([human, scores])[:, context != number], statistic)
            left_out.append(r[0, 1] - r[0, 2])
        error = np.sqrt(199 / 200 * ((left_out - np.mean(left_out)) ** 2).sum())
        assert tests.value[0, 1] == pytest.approx(tests.delta[0, 1] / error, rel=.02)
        assert tests.p[0, 1] == pytest.approx(2 * stats.t.sf(abs(tests.value[0, 1]), 199))
        order = rng.permutation(600)
        again = williams.all_pairs_by_context(human[order], scores[:, order], context[order], statistic)
        assert again.value[0, 1] == pytest.approx(tests.value[0, 1])
    two_rows = williams.all_pairs_by_context(human[:2], scores[:, :2], context[:2])
    assert np.isnan(two_rows.p).all()
    twice = williams.all_pairs_by_context(human, np.stack([scores[0], scores[0], np.ones(600)]), context)
    assert (twice.value[0, 1], twice.p[0, 1]) == (0, 1)
    assert np.isnan(twice.p[0, 2])


def test_identical_missing_and_opposite_metrics() -> None:
    for test in williams.FORMULAS.values():
        statistic, p = test([.4, .4, math.nan, .5], [.4, .3, .3, .3], [1, .5, .2, .2], [50, 3, 50, 50])
        assert (statistic[0], p[0]) == (0, 1)
        assert np.isnan([*statistic[1:3], *p[1:3]]).all()
        assert 0 < p[3] < 1
    t, _ = williams.williams(.3, -.3, -1, 20)
    near, _ = williams.williams(.3, -.3, -1 + 1e-9, 20)
    assert float(t) == pytest.approx(.3 * math.sqrt(17 / .91))
    assert float(t) == pytest.approx(float(near), rel=1e-6)


def oracle(human: Any, a: Any, b: Any, call: Any) -> tuple[float, float, int]:
    rows = np.isfinite(human) & np.isfinite(a) & np.isfinite(b)
    r12, r13, r23 = (call(x[rows], y[rows])[0] for x, y in ((human, a), (human, b), (a, b)))
    return r12 - r13, by_determinant(r12, r13, r23, rows.sum())[1], rows.sum()


@pytest.mark.parametrize(("name", "call"), [
    ("pearson", stats.pearsonr), ("spearman", stats.spearmanr), ("kendall", stats.kendalltau)])
def test_every_pair_equals_the_test_of_that_pair_alone(name: str, call: Any) -> None:
    rng = np.random.default_rng(3)
    human = rng.integers(1, 6, 60).astype(float)
    for holes, groups in ((0, 1), (.15, 10)):
        scores = human * .5 + rng.normal(size=(5, 60)).round(1)
        scores[rng.random(scores.shape) < holes] = np.nan
        tests = williams.all_pairs_by_formula(human, scores, name)
        for i, j in combinations(range(5), 2):
            expected = oracle(human, scores[i], scores[j], call)
            assert (tests.delta[i, j], tests.p[i, j], tests.n[i, j]) == pytest.approx(expected, rel=1e-9, abs=1e-12)
            assert (tests.delta[j, i], tests.value[j, i]) == (-tests.delta[i, j], -tests.value[i, j])
        assert np.isnan(tests.p.diagonal()).all()
        assert len(list(williams.shared_rows(human, scores))) == groups


def test_a_constant_metric_and_too_few_rows_have_no_test() -> None:
    scores = np.array([[1., 1, 1, 1, 1], [2, 1, 4, 3, 5], [1, 2, np.nan, np.nan, np.nan]])
    tests = williams.all_pairs_by_formula(np.arange(1.0, 6), scores)
    assert np.isnan(tests.p).all()
    assert tests.n[1, 2] == 2
    with pytest.raises(ValueError, match="kendall"):
        williams.correlation_matrix(np.ones((2, 5)), "tau")
