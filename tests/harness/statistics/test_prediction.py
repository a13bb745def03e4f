"""Mean ratings from ratings and scores, by the formulas of ppi-python; the worth of a rating with a metric."""

import numpy as np
import pytest
from scipy import stats

from harness.statistics.panel import Array, Codes, Vector
from harness.statistics.prediction import means, worth


def drawn(rated: int, items: int, rng: np.random.Generator, noise: float = 0.8) -> tuple[Vector, Vector]:
    quality = rng.normal(size=items)
    human = np.clip(np.rint(3 + quality), 1, 5)
    human[rated:] = np.nan
    return human, 3 + quality + noise * rng.normal(size=items)


def ppi_python(human: Vector, scores: Vector) -> tuple[float, float, float]:
    """Reimplement ppi_mean_pointestimate and the standard error and weight of ppi_mean_ci of ppi-python 0.2.3.

    The package needs numba, statsmodels and gdown; on 20 random tables it agreed with `means` to 1e-15.
    """
    y, f, g = human[np.isfinite(human)], scores[np.isfinite(human)], scores[~np.isfinite(human)]
    n, others = len(y), len(g)
    weight = np.cov(y, f, ddof=0)[0, 1] / ((1 + n / others) * np.concatenate([f, g]).var(ddof=1))
    error = np.sqrt((weight * g).std() ** 2 / others + (y - weight * f).std() ** 2 / n)
    return float((weight * g).mean() + (y - weight * f).mean()), float(error), float(weight)


def test_equals_ppi_python_without_shared_contexts() -> None:
    rng = np.random.default_rng(0)
    for rated, items in ((12, 40), (30, 300), (80, 90)):
        human, scores = drawn(rated, items, rng)
        order = rng.permutation(items)
        estimate = means(human[order], scores[order], np.zeros(items, dtype=np.int64), np.arange(items))
        error = np.sqrt((estimate.contributions**2).sum())
        assert (estimate.values[0], error, estimate.weights[0]) == pytest.approx(ppi_python(human, scores), abs=1e-8)


def test_ratings_alone_are_means_with_a_t_interval() -> None:
    human = np.array([2.0, 4.0, 5.0, np.nan, 1.0])
    estimate = means(human, None, np.array([0, 0, 0, 0, 1]), np.arange(5))
    (low, _), (high, _) = estimate.intervals
    expected = stats.ttest_1samp([2, 4, 5], 0).confidence_interval()
    assert (*estimate.values, low, high) == pytest.approx((11 / 3, 1.0, expected.low, expected.high))
    assert np.isnan(estimate.intervals[0][1])


def test_wilson_interval_for_two_values() -> None:
    human = np.repeat([0.0, 1.0], [27, 3])
    estimate = means(human, None, np.zeros(30, dtype=np.int64), np.arange(30))
    z = stats.t(29).ppf(0.975) / np.sqrt(29 / 30)  # t, and the variance with n - 1
    (low,), (high,) = estimate.intervals
    middle, half = (0.1 + z**2 / 60) / (1 + z**2 / 30), z / 30 * np.sqrt(2.7 + z**2 / 4) / (1 + z**2 / 30)
    assert (low, high) == pytest.approx((middle - half, middle + half))


def test_copies_in_a_context_do_not_narrow_the_interval() -> None:
    rng = np.random.default_rng(1)
    human, scores = drawn(30, 100, rng)
    system, unit = np.arange(100) % 2, np.arange(100) // 2
    once, thrice = means(human, scores, system, unit), means(*(np.repeat(part, 3) for part in (
        human, scores, system, unit)))
    assert thrice.values == pytest.approx(once.values, abs=0.01)  # the weight has another ddof
    assert np.array(thrice.intervals) == pytest.approx(np.array(once.intervals), abs=0.01)


def with_and_without(human: Vector, scores: Vector, unit: Codes) -> Array:
    system = np.zeros(len(human), dtype=np.int64)
    return np.array([means(human, values, system, unit).intervals for values in (scores, None)])[:, :, 0]


@pytest.mark.parametrize("per_context", [1, 3])
def test_intervals_cover_the_mean_at_30_ratings(per_context: int) -> None:
    rng, covered, widths = np.random.default_rng(2), [], []
    truth = float(np.clip(np.rint(3 + rng.normal(size=1_000_000)), 1, 5).mean())
    for _ in range(600):
        human, scores = drawn(30, 150, rng) if per_context == 1 else contexts(30, 50, rng)
        ends = with_and_without(human, scores, np.arange(150) // per_context)
        covered.append([low <= truth <= high for low, high in ends])
        widths.append(np.diff(ends).ravel())
    assert np.mean(covered, axis=0) == pytest.approx(0.95, abs=0.02)
    assert np.divide(*np.mean(widths, axis=0)) < 0.9


def contexts(rated: int, size: int, rng: np.random.Generator) -> tuple[Vector, Vector]:
    """Return ratings and scores of three items per context; contexts have half of the variance."""
    quality = (np.repeat(rng.normal(size=size), 3) + rng.normal(size=3 * size)) / np.sqrt(2)
    human = np.clip(np.rint(3 + quality), 1, 5)
    human[rng.permutation(3 * size)[rated:]] = np.nan
    return human, 3 + quality + 0.8 * rng.normal(size=3 * size)


def test_useless_scores_widen_no_interval() -> None:
    rng, widths = np.random.default_rng(3), []
    for _ in range(300):
        human, _ = drawn(30, 300, rng)
        widths.append(np.diff(with_and_without(human, rng.normal(size=300), np.arange(300))).ravel())
    combined, alone = np.transpose(widths)
    assert np.mean(combined > alone * 1.001) < 0.01


def test_scores_that_mislead_about_contexts_are_not_used() -> None:
    """Scores follow ratings within contexts, and differ between contexts with nearly the same mean rating."""
    rng, widths = np.random.default_rng(7), []
    for _ in range(100):
        unit, within = np.arange(300) // 10, rng.normal(size=(30, 10))
        within -= within.mean(axis=1, keepdims=True)
        human, scores = 3 + within.ravel(), within.ravel() + 0.5 * np.repeat(rng.normal(size=30), 10)
        human += 0.1 * np.repeat(rng.normal(size=30), 10)
        human[100:] = np.nan
        widths.append(np.diff(with_and_without(human, scores, unit)).ravel())
    assert np.divide(*np.mean(widths, axis=0)) < 1.03


def test_equal_systems_seldom_differ_and_unequal_do() -> None:
    rng, false, right = np.random.default_rng(4), 0, 0
    for _ in range(400):
        human, scores = drawn(60, 300, rng)
        system = rng.integers(0, 3, size=300)
        false += significant(human, scores, system)
        right += significant(human - 2 * (system == 0), scores - 2 * (system == 0), system)
    assert false <= 0.07 * 400
    assert right >= 0.95 * 400


def significant(human: Vector, scores: Vector, system: Array) -> bool:
    p = means(human, scores, system, np.arange(len(human))).pairs()
    return bool(np.nanmin(p[np.triu_indices(3, 1)]) < 0.05)


def test_constant_scores_and_full_ratings_give_ratings_alone() -> None:
    human, scores = drawn(20, 60, np.random.default_rng(5))
    system, unit = np.arange(60) % 3, np.arange(60)
    for rows, values in ((slice(60), np.full(60, 0.1)), (slice(20), scores[:20])):
        estimate, alone = (means(human[rows], column, system[rows], unit[rows]) for column in (values, None))
        assert estimate.values == pytest.approx(alone.values)
        assert estimate.weights.tolist() == [0, 0, 0]
        assert np.array(estimate.intervals) == pytest.approx(np.array(alone.intervals))


def test_scores_may_be_very_small_or_large() -> None:
    human, scores = drawn(20, 60, np.random.default_rng(5))
    system, unit, rated = np.arange(60) % 3, np.arange(60), slice(20)
    plain = means(human, scores, system, unit)
    assert (plain.weights > 0).all()
    saved = worth(human[rated], scores[None, rated], system[rated], unit[rated])
    for by in (1e-200, 1e200):
        estimate = means(human, scores * by, system, unit)
        assert estimate.values == pytest.approx(plain.values)
        assert estimate.weights * by == pytest.approx(plain.weights)
        assert np.array(estimate.intervals) == pytest.approx(np.array(plain.intervals))
        made = worth(human[rated], scores[None, rated] * by, system[rated], unit[rated])
        assert [*made.value, *made.low, *made.high] == pytest.approx([*saved.value, *saved.low, *saved.high])


def test_systems_without_ratings_are_missing() -> None:
    human, scores = drawn(20, 60, np.random.default_rng(6))
    system = (np.arange(60) >= 40).astype(np.int64)
    estimate = means(human, scores, system, np.arange(60))
    assert np.isfinite(estimate.values).tolist() == [True, False]
    assert np.isfinite(estimate.intervals).tolist() == [[True, False]] * 2


def test_an_estimate_beyond_the_scale_has_an_interval_that_ends_there() -> None:
    scores = np.append(np.tile([4.1, 5.2, 4.9, 4.0, 5.1], 4), np.full(100, 6.0))
    human = np.where(np.arange(120) < 20, np.round(scores), np.nan)
    for sign in (1, -1):
        estimate = means(sign * human, scores, np.zeros(120, dtype=np.int64), np.arange(120), (-5, 5))
        (low,), (high,) = np.sort(sign * np.array(estimate.intervals), axis=0)
        assert sign * estimate.values[0] > 5 == high > low > 4


def test_worth_approaches_one_over_one_minus_r_squared(rng: np.random.Generator) -> None:
    human, units = rng.normal(size=20_000), np.arange(20_000)
    r = np.array([-0.5, 0, 0.4, 0.5**0.5])
    scores = r[:, None] * human + np.sqrt(1 - r[:, None] ** 2) * rng.normal(size=(4, 20_000))
    made = worth(human, scores, np.zeros_like(units), units)
    assert made.value == pytest.approx([1, 1, 1.19, 2], rel=0.03)
    assert (made.low <= made.value).all()
    assert (made.value <= made.high).all()
    scaled = worth(human * 7 + 2, scores * 0.01 - 5, np.zeros_like(units), units)
    assert scaled.value == pytest.approx(made.value)


def test_differences_between_systems_save_no_ratings(rng: np.random.Generator) -> None:
    system, units = np.repeat([0, 1, 2], 100), np.arange(300)
    human = system + rng.normal(size=300)
    made = worth(human, np.array([system * 2.0, human]), system, units)
    assert np.isnan(made.value[0]), "constant within each system"
    assert made.value[1] > 1e6


@pytest.mark.parametrize("r", [0, 0.2, 0.6])
def test_intervals_cover_the_limit_in_95_percent(rng: np.random.Generator, r: float) -> None:
    """Contexts of three equal items count once."""
    hits = []
    for _ in range(300):
        human = rng.normal(size=80)
        scores = r * human + np.sqrt(1 - r**2) * rng.normal(size=80)
        human, scores, units = np.tile(human, 3), np.tile(scores, 3), np.tile(np.arange(80), 3)
        made = worth(human, scores[None], np.zeros(240, int), units)
        hits.append(made.low[0] <= 1 / (1 - r**2) <= made.high[0])
    assert 0.92 <= np.mean(hits) <= 0.99
