"""The alternative annotator test against its definition, and on raters whose agreement is known."""

from itertools import combinations_with_replacement

import numpy as np
import pytest
from scipy import stats

from harness.statistics.panel import Array, folds
from harness.statistics.replacement import HeldOut, Replacement, on_scale, replacement, steps


def by_definition(votes: Array, values: Array, epsilon: float) -> tuple[float, float, float]:
    rhos, of_raters, p = [], [], []
    for rater, row in enumerate(votes):
        wins, losses = [], []
        for item in np.flatnonzero(np.isfinite(row)):
            others = [vote for vote in np.delete(votes[:, item], rater) if np.isfinite(vote)]
            if others:
                near, of_rater = (-np.sqrt(np.mean(np.subtract(value, others) ** 2))
                                  for value in (values[item], row[item]))
                wins.append(near >= of_rater - 1e-9)
                losses.append(of_rater >= near - 1e-9)
        rhos.append(np.mean(wins))
        of_raters.append(np.mean(losses))
        p.append(stats.ttest_1samp(np.subtract(losses, wins, dtype=float), epsilon, alternative="less").pvalue)
    winning = stats.false_discovery_control(p, method="by") < 0.05
    return float(np.mean(rhos)), float(np.mean(of_raters)), float(np.mean(winning))


def simulated(rng: np.random.Generator, items: int, noise: float, of_metric: float, raters: int = 3,
              ) -> tuple[Array, Array]:
    """Return votes from 1 to 5 (raters, items) and the scores of a metric, with normal noise around the same truth."""
    truth = rng.normal(3, 1.2, items)
    votes = np.clip(np.rint(truth + rng.normal(0, noise, (raters, items))), 1, 5)
    return votes, (truth + rng.normal(0, of_metric, items))[None]


def against_raters(votes: Array, scores: Array, *, exchangeable: bool = False, seed: int = 0, divisions: int = 10,
                   ) -> Replacement:
    units = np.arange(votes.shape[1])
    held_out = HeldOut.from_votes(votes, units, exchangeable=exchangeable)
    drawn = folds(units, np.random.default_rng(seed), divisions=divisions)
    return replacement(held_out, on_scale(held_out, scores, drawn))


def test_values_are_tested_as_in_the_paper(rng: np.random.Generator) -> None:
    rates = []
    for noise in (0.3, 0.6, 0.9, 2.0):
        votes, scores = simulated(rng, 120, 0.8, noise, raters=4)
        votes[rng.random(votes.shape) < 0.3] = np.nan
        values = np.clip(np.rint(scores), 1, 5)
        made = replacement(HeldOut.from_votes(votes, np.arange(120)), np.vstack([values, np.full(120, 3.0)])[None], 0.1)
        rates.append(made.winning_rate[0])
        assert (made.rho[0], made.rater_rho[0], made.winning_rate[0]) == pytest.approx(
            by_definition(votes, values[0], 0.1))
        assert made.constant_rho == pytest.approx(by_definition(votes, np.full(120, 3.0), 0.1)[0])
        assert (made.items, made.raters) == (int((np.isfinite(votes).sum(axis=0) > 1).sum()), 4)
        assert made.passes[0] == (made.winning_rate[0] >= 0.5)
    assert rates[0] == 1 > rates[-1]


def test_copies_of_an_item_in_its_context_add_no_evidence(rng: np.random.Generator) -> None:
    votes, scores = simulated(rng, 40, 0.8, 0.8)
    values = np.vstack([np.clip(np.rint(scores), 1, 5), np.full(40, 3.0)])
    copied, context = np.tile(votes, 9), np.tile(np.arange(40), 9)
    once, again, independent = (
        replacement(HeldOut.from_votes(table, units), np.tile(values, len(units) // 40)[None], 0.2).passes[0]
        for table, units in ((votes, np.arange(40)), (copied, context), (copied, np.arange(360))))
    assert (once, again, independent) == (False, False, True)


def test_steps_have_the_highest_sum_of_all_nondecreasing_maps(rng: np.random.Generator) -> None:
    for scores in (rng.random((5, 6)), rng.integers(3, size=(5, 6)).astype(float)):
        gains = rng.normal(size=(3, 6))
        for row, index in zip(scores, next(steps([gains], scores)), strict=True):
            distinct = np.unique(row)
            ranks = np.searchsorted(distinct, row)
            sums = [gains[np.array(values)[ranks], np.arange(6)].sum()
                    for values in combinations_with_replacement(range(3), len(distinct))]
            assert gains[index, np.arange(6)].sum() == pytest.approx(max(sums))
            assert (np.diff(index[np.argsort(row, kind="stable")]) >= 0).all()


def test_a_score_is_mapped_without_its_own_context(rng: np.random.Generator) -> None:
    votes, scores = simulated(rng, 40, 0.5, 0.5)
    units = np.arange(40) // 2
    divisions = folds(units, rng)[:1]
    first = divisions[0] == 0
    before = on_scale(HeldOut.from_votes(votes, units), scores, divisions)
    votes[:, first] = 6 - votes[:, first]
    after = on_scale(HeldOut.from_votes(votes, units), scores, divisions)
    assert (before[..., first] == after[..., first]).all()
    assert (before[..., ~first] != after[..., ~first]).any()


def test_the_order_of_exchangeable_votes_does_not_matter(rng: np.random.Generator) -> None:
    votes, scores = simulated(rng, 80, 0.8, 0.8)
    first = against_raters(votes, scores, exchangeable=True)
    second = against_raters(rng.permuted(votes, axis=0), scores, exchangeable=True)
    assert (first.rho[0], first.rater_rho[0], first.raters) == pytest.approx((second.rho[0], second.rater_rho[0], 0))
    assert first.rho[0] == pytest.approx(against_raters(votes, scores).rho[0], abs=0.02)


@pytest.mark.parametrize("exchangeable", [False, True])
def test_error_rate_and_power_of_replacement(rng: np.random.Generator, exchangeable: bool) -> None:
    """A metric worse than a rater by epsilon replaces it in at most 5 % of draws, one as good as a rater in most."""
    worse, equal = 1.65, 0.8
    exact = against_raters(*simulated(rng, 10_000, 0.8, worse), exchangeable=True)
    assert exact.rater_rho[0] - exact.rho[0] == pytest.approx(0.1, abs=0.015)
    false = [against_raters(*simulated(rng, items, 0.8, worse), exchangeable=exchangeable).replaces[0]
             for items in (40, 120) for _ in range(60)]
    assert np.mean(false) <= 0.05
    true = [against_raters(*simulated(rng, 400, 0.8, equal), exchangeable=exchangeable).replaces[0] for _ in range(25)]
    assert np.mean(true) >= 0.8


def test_the_verdict_hardly_depends_on_the_seed(rng: np.random.Generator) -> None:
    samples = [simulated(rng, 100, 0.8, 0.8) for _ in range(30)]

    def changes(divisions: int) -> float:
        return float(np.mean([len({against_raters(*drawn, seed=seed, divisions=divisions, exchangeable=True).replaces[0]
                                   for seed in (0, 1)}) > 1 for drawn in samples]))

    assert changes(10) <= 0.1 < changes(1)


def test_a_constant_passes_but_replaces_nobody(rng: np.random.Generator) -> None:
    votes = np.where(rng.random((3, 200)) < 0.03, 3.0, 4.0)  # raters hardly differ
    made = against_raters(votes, np.stack([np.full(200, 2.0), rng.random(200)]))
    assert made.passes.all()
    assert not made.replaces.any()
    assert made.rho[0] == made.constant_rho
    votes, scores = simulated(rng, 200, 0.8, 0.5)
    opposite = against_raters(votes, -scores)
    assert opposite.rho[0] <= opposite.constant_rho, "the direction of scores is kept"


def test_raters_with_few_items_are_not_compared_but_count_as_others(rng: np.random.Generator) -> None:
    votes, scores = simulated(rng, 60, 0.8, 0.8, raters=3)
    votes[2, 9:] = np.nan
    made = against_raters(votes, scores)
    assert (made.raters, made.items) == (2, 60)
    assert made.rho[0] != against_raters(votes[:2], scores).rho[0]
