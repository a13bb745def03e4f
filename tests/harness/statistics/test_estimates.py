"""Estimates equal scipy's, at a level they are means over parts; a missing value has a reason."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from harness.statistics import pairwise
from harness.statistics import panel as levels
from harness.statistics.bootstrap import bootstrap
from harness.statistics.coefficients import OF_ROWS, partial, pearson
from harness.statistics.estimates import DEFAULT, STATISTICS, at_level, estimate, fisher, full_name
from harness.statistics.panel import LEVELS, Panel, Vector, codes, panel

ORACLE = {
    "pearson": stats.pearsonr, "spearman": stats.spearmanr, "kendall": stats.kendalltau,
    "kendall-c": lambda human, metric: stats.kendalltau(human, metric, variant="c"),
    "point-biserial": lambda human, metric: stats.pointbiserialr(np.array(human) == max(human), metric),
}


def paired(human: list[float], metric: list[float], control: list[float] | None = None) -> Panel:
    return panel(np.array(metric, float), np.array(human, float), codes("s" * len(human)), codes(range(len(human))),
                 None if control is None else np.array(control, float))


def exact_p(human: list[float], metric: list[float]) -> float:
    x, y = (stats.rankdata(side) - (len(human) + 1) / 2 for side in (human, metric))
    return float(stats.permutation_test((x,), lambda x, axis: abs(x @ y), permutation_type="pairings", vectorized=True,
                                        n_resamples=np.inf, alternative="greater").pvalue)


def equals_scipy(name: str, human: list[float], metric: list[float]) -> None:
    row = estimate(paired(human, metric), name)
    if len(set(human)) == 1 or len(set(metric)) == 1:
        assert np.isnan(row.value)
        return
    oracle = ORACLE[name](human, metric)
    assert row.value == pytest.approx(float(oracle.statistic), abs=1e-12)
    if name == "spearman" and len(human) < 10:
        assert row.p == pytest.approx(exact_p(human, metric), rel=1e-9)
    elif abs(row.value) < 1 - 1e-9:  # at -1 and 1 both are rounding errors
        assert row.p == pytest.approx(float(oracle.pvalue), rel=1e-9, abs=1e-9 if name == "point-biserial" else 1e-15)


@settings(max_examples=50)
@given(st.lists(st.tuples(st.integers(1, 5), st.integers(-40, 40)), min_size=3, max_size=60)
       | st.sampled_from((12, 40)).flatmap(lambda n: st.permutations(range(n))).map(lambda order: [*enumerate(order)]))
def test_value_and_p_equal_scipy(rows: list[tuple[int, int]]) -> None:
    """With and without ties; Spearman's p is exact below 10 rows, Kendall's at 12 rows and normal at 40."""
    human, metric = (list(map(float, column)) for column in zip(*rows, strict=True))
    for name in ORACLE.keys() - {"point-biserial"}:
        equals_scipy(name, human, metric)
    equals_scipy("point-biserial", [1.0 if vote < 3 else 4.0 for vote in human], metric)


def test_roc_auc_by_hand() -> None:
    """Unsafe 0, safe 1: of six pairs, four are ordered and one is tied; a rating at the midpoint does not count."""
    rows = paired([0, 0, 1, 1, 1], [1, 3, 3, 4, 2])
    assert estimate(rows, "roc-auc").value == pytest.approx((4 + 0.5) / 6)
    assert estimate(rows, "roc-auc").p == pytest.approx(stats.mannwhitneyu([3, 4, 2], [1, 3]).pvalue)
    assert estimate(paired([0, 0.4, 0.6, 1, 1], [1, 3, 3, 4, 2]), "roc-auc").value == pytest.approx((4 + 0.5) / 6)
    for low, middle, high in ((0, 0.5, 1), (0.1, 0.4, 0.7)):
        without = paired([low, low, middle, high, high], [1, 3, 9, 4, 2])
        assert estimate(without, "roc-auc").value == pytest.approx(3 / 4)
        assert estimate(without, "roc-auc").p == pytest.approx(stats.mannwhitneyu([4, 2], [1, 3]).pvalue)
    assert estimate(paired([0, 0, 1, 1], [1, 2, 3, 4]), "roc-auc").value == 1


def test_a_missing_correlation_has_its_reason() -> None:
    for human, metric, note in (
        ([1, 2], [1, 2], "2 rows"), ([3, 3, 3], [1, 2, 3], "every rating is the same"),
        ([1, 2, 3], [0, 0, 0], "every score is the same"), ([np.nan, 1, 2], [1, np.nan, 2], "1 rows"),
    ):
        for name in STATISTICS.keys() - {"pairwise-accuracy", "soft-pairwise-accuracy"}:  # which may be constant
            row = estimate(paired(human, metric), name)
            assert np.isnan([row.value, row.p, row.low, row.high]).all()
            assert note in row.note, name
    human, metric = [1.0, 2, 3, 2, 1], [3.0, 1, 4, 1, 5]
    for name, rows, note in (
        ("point-biserial", paired(human, metric), "3 values"),
        ("partial", paired(human, metric, [1, 1, 1, 1, 1]), "control is the same"),
        ("partial", paired(human, metric, metric), "no value"),
        ("partial", paired(human[:3], metric[:3], metric[:3]), "3 rows"),
        ("partial", paired(human, metric), "no control"),
    ):
        row = estimate(rows, name)
        assert (np.isnan(row.value), note in row.note) == (True, True)


@pytest.mark.parametrize("n", [3, 60, 900])
def test_many_columns_at_once_equal_each_alone(rng: np.random.Generator, n: int) -> None:
    human, metrics = rng.integers(1, 6, n) / 3, np.vstack([np.ones(n), rng.normal(size=(5, n)).round(1)])
    for name in OF_ROWS:
        each = [STATISTICS[name].value(paired(list(human), list(row))) for row in metrics]
        assert np.array_equal(OF_ROWS[name](human, metrics), each, equal_nan=True)


def test_scale_does_not_matter_and_a_perfect_value_has_no_width(rng: np.random.Generator) -> None:
    human, metric = rng.normal(size=(2, 40))
    for name in (*DEFAULT, "kendall-c", "pairwise-accuracy"):
        small, plain, large = (estimate(paired(human, metric * by), name).value for by in (1e-200, 1, 1e200))
        assert (small, large) == pytest.approx((plain, plain), abs=1e-12)
    perfect = estimate(paired([1, 2, 3, 4, 5, 6], [1, 2, 3, 4, 5, 6]), "spearman")
    assert (perfect.value, perfect.low, perfect.high) == (1, 1, 1)


def test_every_statistic_has_a_value_or_a_reason_at_every_level(rng: np.random.Generator) -> None:
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
        low, high = bootstrap(rows, at_level("pearson", level), rng, draws=60)
        assert -1 <= low <= at_level("pearson", level)(rows) <= high <= 1
    assert estimate(rows, "spearman", "over-systems").n == 5
    assert full_name("kendall-c", "items") == "kendall-c"
    assert full_name("kendall-c", "within-contexts") == "kendall-c within-contexts"


def residual(values: Vector, control: Vector) -> Vector:
    design = np.stack([np.ones_like(control), control], axis=1)
    left: Vector = values - design @ np.linalg.lstsq(design, values, rcond=None)[0]
    return left


def slope_p(human: Vector, metric: Vector, control: Vector) -> float:
    design = np.stack([np.ones_like(control), metric, control], axis=1)
    slopes, rest = np.linalg.lstsq(design, human, rcond=None)[:2]
    error = np.sqrt(rest[0] / (len(human) - 3) * np.linalg.inv(design.T @ design)[1, 1])
    return float(2 * stats.t.sf(abs(slopes[1]) / error, len(human) - 3))


@settings(max_examples=25)
@given(st.integers(0, 10**6))
def test_partial_equals_the_correlation_of_residuals(seed: int) -> None:
    rng = np.random.default_rng(seed)
    human, metric, control = rng.normal(size=(3, 25)) @ np.tri(25) ** 0.5
    row = estimate(paired(human, metric, control), "partial")
    ranked = [stats.rankdata(side) for side in (human, metric, control)]
    assert row.value == pytest.approx(
        stats.pearsonr(residual(ranked[0], ranked[2]), residual(ranked[1], ranked[2]))[0], abs=1e-9)
    assert row.p == pytest.approx(slope_p(*ranked), rel=1e-6)
    drawn = rng.integers(25, size=20)
    np.testing.assert_equal(partial(paired(human, metric, control).take(drawn)),  # both NaN if ranks agree completely
                            partial(paired(human[drawn], metric[drawn], control[drawn])))


def test_intervals_by_hand_and_as_scipy(rng: np.random.Generator) -> None:
    for name, n, ends in (
        ("pearson", 100, (0.336643, 0.634140)),  # artanh(0.5) = 0.549306; 1.959964 / sqrt(97) = 0.199
        ("spearman", 100, (0.325897, 0.641302)),  # sqrt((1 + 0.5**2 / 2) / 97) for the standard error
        ("kendall", 100, (0.394458, 0.592522)),  # sqrt(0.437 / 96) = 0.067469; 0.549306 -+ 0.132237
        ("partial", 101, (0.325897, 0.641302)),  # one control costs a row
    ):
        variance = STATISTICS[name].variance
        assert variance is not None
        assert fisher(0.5, n, variance) == pytest.approx(ends, abs=2e-6)
        assert fisher(-1.0, 10, variance) == (-1, -1)
        assert np.isnan([*fisher(0.5, 4, variance), *fisher(np.nan, 40, variance)]).all()
    oracle = stats.pearsonr(*rng.normal(size=(2, 40)))
    interval = fisher(float(oracle.statistic), 40, lambda r, n: 1 / (n - 3))
    assert interval == pytest.approx(tuple(oracle.confidence_interval(0.95)), abs=1e-12)


def grouped(human: list[float], metric: list[float], system: list[int], context: list[int]) -> Panel:
    return panel(np.array(metric, float), np.array(human, float), np.array(system), np.array(context))


SIMPSON = grouped([1, 2, 3, 4, 5, 6, 9, 8, 9], [3, 2, 1, 6, 5, 4, 7, 8, 7], [0, 0, 0, 1, 1, 1, 2, 2, 2], [0, 1, 2] * 3)
"""Within each system the metric disagrees with people (r = -1); across systems it agrees with them."""


def test_levels_by_hand_and_by_mt_metrics_eval(rng: np.random.Generator) -> None:
    """The last rows are from mt-metrics-eval's stats_test: over all rows, and the mean within two systems."""
    assert at_level("pearson", "within-systems")(SIMPSON) == pytest.approx(-1)
    assert at_level("pearson", "items")(SIMPSON) == pearson(SIMPSON) > 0.7
    # means 2, 5, 26/3 against 2, 5, 22/3: centred -29/9, -2/9, 31/9 and -25/9, 2/9, 23/9
    assert at_level("pearson", "over-systems")(SIMPSON) == pytest.approx((725 - 4 + 713) / (1806 * 1158) ** 0.5)
    shuffled = SIMPSON.take(rng.permutation(9))
    for level in LEVELS:
        assert at_level("pearson", level)(shuffled) == pytest.approx(at_level("pearson", level)(SIMPSON), abs=1e-12)
    rows = grouped([1, 2, 3, 4, 5, 6], [2, 1, 4, 3, 3, 7], [0, 0, 0, 1, 1, 1], [0, 1, 2] * 2)
    for statistic, *values in (("pearson", .776, .760), ("kendall", .552, .575), ("kendall-c", .556, .611)):
        assert [at_level(statistic, level)(rows) for level in ("items", "within-systems")] == (
            pytest.approx(values, abs=5e-4))


def test_groups_without_a_value_are_left_out() -> None:
    rows = grouped([1, 2, 3, 5, 5, 5, 1], [1, 2, 3, 1, 2, 3, 1], [0, 0, 0, 1, 1, 1, 2], [0] * 7)
    assert at_level("pearson", "within-systems")(rows) == pytest.approx(1)
    assert np.isnan(at_level("pearson", "within-contexts")(rows.take(rows.system == 1)))
    assert np.isnan(at_level("pearson", "within-systems")(rows.take(rows.system > 5)))
    assert estimate(rows.take(np.array([0, 3, 6])), "pearson", "within-systems").note


def test_groups_share_the_threshold_of_pairwise_accuracy() -> None:
    """The two groups alone would choose thresholds 1 and 0; the smallest with the best mean over both is 1."""
    rows = grouped([1, 1, 2, 1, 2, 3], [0, 1, 9, 0, 5, 9], [0] * 6, [0, 0, 0, 1, 1, 1])
    assert [pairwise.calibrated(part).epsilon for part in levels.groups(rows, rows.context)] == [1, 0]
    assert at_level("pairwise-accuracy", "within-contexts")(rows) == pytest.approx(1)
    worse = grouped([1, 1, 2, 1, 2, 3], [0, 5, 9, 0, 3, 9], [0] * 6, [0, 0, 0, 1, 1, 1])
    # at 0: (2/3 + 1)/2; at 5: (2/3 + 2/3)/2: the pair of 5 and 9 is lost; each alone would have more
    assert at_level("pairwise-accuracy", "within-contexts")(worse) == pytest.approx(5 / 6)


def test_a_constant_has_no_correlation_over_systems(rng: np.random.Generator) -> None:
    system = np.repeat(np.arange(5), [3, 7, 11, 19, 23])
    for constant in (0.1, 0.3, 1 / 3, rng.random()):
        rows = grouped(rng.integers(1, 6, size=63), np.full(63, constant), system, np.arange(63))
        assert estimate(rows, "pearson", "over-systems").note.startswith("means of systems: ")


def test_equal_means_of_systems_tie_in_any_order_of_rows(rng: np.random.Generator) -> None:
    system, metric = np.repeat(np.arange(6), 7), np.repeat(np.arange(6.0), 7)
    for _ in range(50):
        human = np.repeat(np.round(rng.integers(3, 16, size=(3, 7)) / 3, 12), 2, axis=0)
        first, second = (estimate(grouped(rows.ravel(), metric, system, np.arange(42)), "spearman", "over-systems")
                         for rows in (rng.permuted(human, axis=1), np.sort(human, axis=1)))
        assert first == second


def test_pairs_of_systems_do_not_depend_on_the_order_of_rows(rng: np.random.Generator) -> None:
    rows = grouped(rng.normal(size=40), rng.normal(size=40), np.repeat(np.arange(5), 8), np.tile(np.arange(8), 5))
    for order in (np.arange(40), *(rng.permutation(40) for _ in range(5))):
        assert estimate(rows.take(order), "pairwise-difference-pearson", "over-systems").value == pytest.approx(
            at_level("pearson", "over-systems")(rows))


def test_system_means_have_a_mean_control(rng: np.random.Generator) -> None:
    human, metric, control = rng.normal(size=(3, 30))
    rows = np.arange(30)
    means = levels.system_means(panel(metric, human, rows % 3, rows // 3, control))
    assert means.control == pytest.approx([control[system::3].mean() for system in range(3)])
