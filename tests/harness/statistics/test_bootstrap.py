"""Bootstrap intervals and values on resamples equal scipy's; the paired test and the fast way equal plain loops."""

from dataclasses import replace
from itertools import count

import numpy as np
import pytest
from scipy import stats

from harness.statistics import bootstrap as boot
from harness.statistics.bootstrap import bootstrap, paired_bootstrap, resampled_by_context, two_sided
from harness.statistics.coefficients import kendall, pearson, spearman
from harness.statistics.estimates import at_level
from harness.statistics.panel import Panel, panel, people


def made(rows: int, each: int = 1, values: int = 5) -> Panel:
    rng = np.random.default_rng(7)
    human = rng.integers(1, values + 1, size=rows).astype(float)
    metric = np.round(human + rng.normal(scale=2, size=rows), 1)
    return panel(metric, human, np.arange(rows) % 3, np.arange(rows) // each)


def test_bca_equals_scipys_on_the_same_resamples() -> None:
    rows = made(40)
    oracle = stats.bootstrap((rows.human, rows.metric), lambda *pair: stats.pearsonr(*pair)[0], paired=True,
                             vectorized=False, n_resamples=300, method="BCa", random_state=np.random.default_rng(7))
    left_out = np.array([pearson(rows.take(np.arange(40) != row)) for row in range(40)])
    interval = boot.bca(pearson(rows), np.asarray(oracle.bootstrap_distribution), left_out)
    assert interval == pytest.approx(tuple(oracle.confidence_interval), abs=1e-12)


def test_fast_resamples_equal_plain_ones_in_any_batches(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both leave out the constant resamples that few rows give; an outlier costs no precision."""
    outlier = made(30)
    outlier.metric[3] = 1e5
    for name, function in (("pearson", pearson), ("spearman", spearman)):
        for rows in (made(5, values=3), made(30, each=4, values=3), outlier):
            plain, fast = (resampled_by_context(rows, rows.metric[None], way, np.random.default_rng(1), 100)
                           for way in (function, name))
            np.testing.assert_allclose(fast, plain, atol=1e-9)
            plain, fast = (bootstrap(rows, way, np.random.default_rng(1), draws=100) for way in (function, name))
            assert fast == pytest.approx(plain, abs=1e-9, nan_ok=True)
    with monkeypatch.context() as patch:
        patch.setattr(boot, "CELLS", 333)
        assert bootstrap(outlier, "spearman", np.random.default_rng(1), draws=100) == fast


def test_contexts_and_conversations_are_drawn_whole() -> None:
    human, metric = np.array([1.0, 2, 3, 3, 1, 2]), np.array([1.0, 2, 3, 1, 2, 4])
    rows = panel(metric, human, np.zeros(6, int), np.repeat([0, 1], 3))
    sizes = set()

    def watched(part: Panel) -> float:
        sizes.add((part.n, len(np.unique(part.context))))
        return at_level("spearman", "within-contexts")(part)

    draws = resampled_by_context(rows, metric[None], watched, np.random.default_rng(7), 50)[:, 0]
    first, second = (spearman(rows.take(rows.context == context)) for context in (0, 1))
    assert sizes == {(6, 2)}
    assert sorted(set(draws.round(12))) == pytest.approx(sorted({first, (first + second) / 2, second}))
    sizes.clear()
    nine = rows.take(np.array([0, 1, 2, 3, 4, 5, 0, 1, 2]))
    bootstrap(replace(nine, context=np.repeat([0, 1, 2], 3), conversation=np.repeat([0, 0, 1], 3)), watched,
              np.random.default_rng(7), draws=50)
    assert sizes == {(12, 4), (9, 3), (6, 2), (3, 1)}, "two contexts of one conversation are drawn together"


def test_an_interval_may_be_missing(rng: np.random.Generator) -> None:
    rows = made(30)
    constant = panel(np.zeros(30), rows.human, rows.system, rows.context)
    single = panel(rows.metric, rows.human, rows.system, np.zeros(30, int))
    once, rising = iter([0.5]), count()
    for part, statistic in ((constant, spearman), (single, spearman), (rows, lambda _: next(once, np.nan)),
                            (rows, lambda _: float(next(rising)))):  # every resample lies on one side of the value
        assert np.isnan(bootstrap(part, statistic, rng)).all()
    rare = panel((np.arange(30) == 3) * 1.0, rows.human, rows.system, rows.context)
    assert np.isfinite(bootstrap(rare, "spearman", rng)).all(), "resamples without a value are left out"
    perfect = panel(np.arange(20.0), np.arange(20.0), np.zeros(20, int), np.arange(20))
    assert bootstrap(perfect, "spearman", rng)[0] == 1


def two_metrics() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(2)
    human = rng.integers(1, 6, 50).astype(float)
    return human, np.stack([human + rng.normal(size=50), np.round(human + 2 * rng.normal(size=50))])


def test_the_paired_test_equals_a_loop_over_scipy() -> None:
    human, scores = two_metrics()
    tests = paired_bootstrap(people(human), scores, "spearman", np.random.default_rng(1), 100)
    rng, differences = np.random.default_rng(1), []
    for _ in range(100):
        rows = rng.integers(50, size=50)
        first, second = (stats.spearmanr(human[rows], column[rows])[0] for column in scores)
        differences.append(first - second)
    tail = min(np.less_equal(differences, 0).sum(), np.greater_equal(differences, 0).sum())
    assert tests.p[0, 1] == tests.p[1, 0] == pytest.approx(min(1, 2 * (tail + 1) / 101))
    assert tests.delta[0, 1] == -tests.delta[1, 0] == pytest.approx(
        stats.spearmanr(human, scores[0])[0] - stats.spearmanr(human, scores[1])[0])
    assert two_sided(np.array([1., 2, 3, -1])) == 2 * 2 / 5  # one value on the other side
    assert two_sided(np.array([1., 2, 3])) == 2 * 1 / 4
    assert two_sided(np.zeros(9)) == 1
    assert np.isnan(two_sided(np.zeros(0)))


def test_paired_tests_of_any_statistic_on_shared_rows() -> None:
    human, scores = two_metrics()
    scores[0, 4] = human[7] = np.nan
    both = np.vstack([scores, scores[:1], np.ones((1, 50))])
    context = np.arange(50) // 5
    plain, quick = (paired_bootstrap(people(human, context), both, way, np.random.default_rng(4), 60)
                    for way in (spearman, "spearman"))
    np.testing.assert_allclose(plain.p, quick.p)
    rated = np.isfinite(human)
    rows = people(human[rated], context[rated])
    np.testing.assert_allclose(*(resampled_by_context(rows, both[:, rated], way, np.random.default_rng(4), 60)
                                 for way in (spearman, "spearman")))
    assert (plain.n[0, 1], plain.n[1, 3]) == (48, 49)
    assert plain.p[0, 2] == 1
    assert np.isnan(plain.p[3]).all()
    assert 0 < paired_bootstrap(people(human, context), scores, kendall, np.random.default_rng(4), 60).p[0, 1] <= 1
