"""Predicted power is that of a t-test, and is observed in simulations with more contexts and raters."""

import numpy as np
import pytest
from scipy import stats

from harness.statistics.panel import Array, Codes, Vector
from harness.statistics.power import Contrast, detectable, detectable_text, of_columns, of_systems
from harness.statistics.prediction import means
from harness.statistics.williams import all_pairs_by_context


def test_power_is_that_of_a_t_test() -> None:
    for contexts, difference in ((5, 0.9), (30, 0.5), (400, 0.1)):
        limit, shift = stats.t(contexts - 1).ppf(0.975), difference * np.sqrt(contexts)
        expected = stats.nct(contexts - 1, shift).sf(limit) + stats.nct(contexts - 1, shift).cdf(-limit)
        assert Contrast(-difference, 1.0).power(contexts) == pytest.approx(expected)
    assert Contrast(9.0, 1.0).power(1_000_000) == 1


def test_detectable_and_needed_have_a_power_of_80_percent() -> None:
    assert Contrast(detectable(2.0, 40), 2.0).power(40) == pytest.approx(0.8, abs=1e-4)
    contrast = Contrast(0.2, 2.0)
    assert contrast.power(int(contrast.needed()) - 1) < 0.8 <= contrast.power(int(contrast.needed())) + 1e-5
    assert Contrast(0.0, 2.0).needed() == np.inf
    assert detectable(2.0, 1) == np.inf
    assert np.isnan(detectable(np.nan, 1))


def test_equal_columns_are_never_told_apart() -> None:
    rng = np.random.default_rng(3)
    human, scores = rng.normal(size=40), np.tile(rng.normal(size=40), (2, 1))
    contrast = of_columns(human, scores, np.arange(40)).pair(0, 1).at(0.5, 4)
    assert contrast.needed() == np.inf


def test_correlations_on_fewer_than_six_contexts_are_never_told_apart() -> None:
    rng = np.random.default_rng(4)
    quality = rng.normal(size=24)
    contrast = of_columns(quality, np.stack([quality, rng.normal(size=24)]), np.arange(24) // 4).pair(0, 1)
    for known in (contrast, contrast.at(0.5, 4)):
        assert (known.power(5), known.detectable(5), known.needed()) == (0, np.inf, 6)
        assert known.power(6) > 0.8
    assert "too few" in detectable_text(24, 5)
    assert "too few" not in detectable_text(24, 6)


def test_power_with_other_raters_is_unknown_if_noise_exceeds_the_spread() -> None:
    for times in (0.5, 2):
        assert np.isnan(Contrast(0.1, 1.0, noise=1.2).at(0.5, times).needed())
    assert Contrast(0.1, 1.0, noise=0.9).at(0.5, 2).spread == pytest.approx(0.55)


def world(contexts: int, raters: int, rng: np.random.Generator) -> tuple[Array, Array, Codes]:
    """Return votes (items, raters), scores of two columns, and contexts of three items with half of the variance."""
    def normal() -> Vector:
        return (np.repeat(rng.normal(size=contexts), 3) + rng.normal(size=3 * contexts)) / np.sqrt(2)

    quality = normal()
    scores = np.stack([quality + normal(), quality + 1.5 * normal()])
    return quality[:, None] + rng.normal(size=(3 * contexts, raters)), scores, np.arange(3 * contexts) // 3


def test_predicted_power_for_columns_holds_with_more_contexts_and_raters() -> None:
    rng = np.random.default_rng(0)
    table, scores, unit = world(200_000, 3, rng)
    contrast = of_columns(table.mean(axis=1), scores, unit).pair(0, 1)
    for contexts, raters in ((100, 3), (150, 1), (80, 12)):
        hits = 0
        for _ in range(500):
            drawn, columns, groups = world(contexts, raters, rng)
            hits += all_pairs_by_context(drawn.mean(axis=1), columns, groups, "spearman").p[0, 1] < 0.05
        assert contrast.at(3 / 4, raters / 3).power(contexts) == pytest.approx(hits / 500, abs=0.05)


def test_predicted_power_for_systems_holds_with_more_raters() -> None:
    def answers(contexts: int, raters: int) -> tuple[Vector, Codes, Codes]:
        quality = np.repeat(rng.normal(size=contexts), 2) + rng.normal(size=2 * contexts)
        system = np.arange(2 * contexts) % 2
        return (quality + 0.5 * system + 2 * rng.normal(size=(raters, 2 * contexts)).mean(axis=0), system,
                np.arange(2 * contexts) // 2)

    rng = np.random.default_rng(1)
    human, system, unit = answers(200_000, 2)
    contrast = of_systems(human, system, unit, 2.0625 / human.var()).pair(0, 1)
    for contexts, raters in ((60, 2), (60, 8), (150, 1)):
        hits = 0
        for _ in range(500):
            human, system, unit = answers(contexts, raters)
            hits += means(human, None, system, unit).pairs()[0, 1] < 0.05
        assert contrast.at(2.0625 / 4.0625, raters / 2).power(contexts) == pytest.approx(hits / 500, abs=0.05)
