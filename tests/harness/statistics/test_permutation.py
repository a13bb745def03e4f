"""PERM-BOTH equals a plain loop over scipy; pooled differences, their p and intervals."""

import math
from dataclasses import replace
from itertools import combinations, permutations, product
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from scipy import stats

from harness.statistics import permutation, pooled
from harness.statistics.coefficients import OF_ROWS, pearson, spearman
from harness.statistics.panel import people
from harness.statistics.permutation import STEPS, all_pairs_by_permutation
from harness.statistics.pooled import share_reached, weights
from harness.statistics.rank_intervals import TargetScores
from harness.statistics.ranks import ranks
from harness.statistics.williams import PairTests

Values = npt.NDArray[Any]
CORRELATE = {"spearman": stats.spearmanr, "pearson": stats.pearsonr}


def seeded(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


def all_pairs(human: Values, scores: Values, *statistic: Any, context: Values | None = None, **options: Any,
              ) -> PairTests:
    return all_pairs_by_permutation(people(human, context), scores, *statistic, **options)


def loop(human: Values, first: Values, second: Values, statistic: str, draws: int, one_sided: bool = False,
         ) -> tuple[float, float]:
    """Return delta and p of one pair as in the paper; one-sided as in mt-metrics-eval, whose p is c / k."""
    rows = np.isfinite(human) & np.isfinite(first) & np.isfinite(second)
    keep = np.unpackbits(permutation.mask_bits(len(human), draws, seeded()), axis=1, count=len(human)).astype(bool)
    human, first, second = human[rows], first[rows], second[rows]
    if rows.sum() < 3 or 0 in (np.ptp(human), np.ptp(first), np.ptp(second)):
        return np.nan, np.nan
    observed = CORRELATE[statistic](human, first)[0] - CORRELATE[statistic](human, second)[0]
    a, b = (np.rint((x - x.mean()) / x.std() * STEPS) / STEPS for x in (first, second))
    extreme = 1
    for kept in keep[:, rows]:
        x, y = np.where(kept, a, b), np.where(kept, b, a)
        constant = min(np.ptp(x), np.ptp(y)) < 1e-9
        delta = np.inf if constant else CORRELATE[statistic](human, x)[0] - CORRELATE[statistic](human, y)[0]
        extreme += (delta >= observed - 1e-10) if one_sided else (abs(delta) >= abs(observed) - 1e-10)
    return observed, extreme / (draws + 1)


def example(seed: int, n: int = 40, holes: float = 0) -> tuple[Values, Values]:
    """Return metrics without ties, with two values, with three, and with some ties, and one that permutes another."""
    rng = seeded(seed)
    human = rng.integers(1, 6, n).astype(float)
    scores = np.vstack([human + rng.normal(size=n), rng.integers(0, 2, n), rng.integers(0, 3, n) / 2,
                        np.round(human + rng.normal(size=n))])
    scores = np.vstack([scores, scores[2][::-1] * 3 + 1])
    scores[rng.random(scores.shape) < holes] = np.nan
    return human, scores


def test_every_p_equals_a_loop_over_scipy() -> None:
    """Covers few rows, so that many are tied and swaps can leave a constant."""
    for statistic, (seed, n, holes) in product(OF_ROWS, (
            (0, 40, 0), (1, 7, 0), (2, 30, .1), *((seed, n, 0) for seed in (3, 4) for n in (3, 4, 5)))):
        human, scores = example(seed, n, holes)
        tests = all_pairs(human, scores, statistic, 20, rng=seeded())
        for i, j in combinations(range(5), 2):
            delta, p = loop(human, scores[i], scores[j], statistic, 20)
            np.testing.assert_allclose((tests.delta[i, j], tests.p[i, j]), (delta, p), atol=1e-12)
            np.testing.assert_allclose((tests.delta[j, i], tests.p[j, i]), (-delta, p), atol=1e-12)
            assert tests.n[i, j] == (np.isfinite(scores[i]) & np.isfinite(scores[j])).sum()


def test_one_sided_p_and_any_statistic_by_a_function() -> None:
    human, scores = example(9)
    scores = scores[[0, 3, 4]]
    for statistic, function in (("pearson", pearson), ("spearman", spearman)):
        tests, drawn = (all_pairs(human, scores, way, 40, rng=seeded(), one_sided=True)
                        for way in (statistic, function))
        for i, j in permutations(range(3), 2):
            _, p = loop(human, scores[i], scores[j], statistic, 40, one_sided=True)
            assert (tests.p[i, j], drawn.p[i, j]) == (pytest.approx(p), pytest.approx(p))
            assert drawn.value[i, j] == pytest.approx(tests.value[i, j], rel=.02)


def test_p_too_small_for_the_draws_is_that_of_the_normal_tail() -> None:
    tests = all_pairs(*example(9), draws=200, rng=seeded())
    fine = permutation.refined_p(tests, 200)
    rare = tests.p <= 10 / 201
    np.testing.assert_array_equal(fine[~rare], tests.p[~rare])
    assert (fine[rare] == np.minimum(tests.p, 2 * stats.norm.sf(abs(tests.value)))[rare]).all()
    assert (fine[rare] < 1 / 201).any()


def test_no_p_is_below_that_of_all_swaps_of_contexts() -> None:
    """A metric and its reverse differ in six of seven contexts: two of 64 swaps are as extreme as observed."""
    human = np.arange(-3.0, 4)
    scores = np.array([human, -human])
    for seed in range(10):
        tests = all_pairs(human, scores, "pearson", 100, rng=seeded(seed))
        assert min(tests.p[0, 1], permutation.refined_p(tests, 100)[0, 1]) >= tests.least[0, 1] == 2 / 64
        parts = pooled.swapped(TargetScores("a", human, scores, np.arange(7)), seed, 100, "pearson")
        tests = pooled.all_pairs([parts], np.ones(1), one_sided=True)
        assert min(tests.p[0, 1], permutation.refined_p(tests, 100)[0, 1]) >= 1 / 128


def test_order_other_metrics_and_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    human, scores = example(4, holes=.05)
    for statistic in OF_ROWS:
        whole = all_pairs(human, scores, statistic, 100, rng=seeded())
        for order in ([3, 0, 4, 2, 1], [0, 1]):
            part = all_pairs(human, scores[order], statistic, 100, rng=seeded())
            np.testing.assert_array_equal(part.p, whole.p[np.ix_(order, order)])
            np.testing.assert_array_equal(part.delta, whole.delta[np.ix_(order, order)])
        with monkeypatch.context() as patch:
            patch.setattr(permutation, "CELLS", 400)
            np.testing.assert_array_equal(all_pairs(human, scores, statistic, 100, rng=seeded()).p, whole.p)


def test_identical_metrics_tie_and_constant_ones_have_no_p() -> None:
    human, scores = example(6)
    same = np.vstack([scores[2], scores[2], scores[2] * .37 - 8, np.ones(40)])
    for statistic in OF_ROWS:
        tests = all_pairs(human, same, statistic, 100, rng=seeded())
        assert (tests.p[:3, :3][~np.eye(3, dtype=bool)] == 1).all()
        assert np.isnan(tests.p[3]).all()
        assert np.isnan(all_pairs(np.ones(40), scores, statistic, 10, rng=seeded()).p).all()
        assert np.isnan(all_pairs(human[:2], scores[:, :2], statistic, 10, rng=seeded()).p).all()
    with pytest.raises(ValueError, match="spearman"):
        all_pairs(human, scores, "kendall", rng=seeded())


def test_contexts_are_swapped_together() -> None:
    """With one context, every draw is as extreme as the observed difference."""
    rng = seeded(3)
    human, scores = rng.normal(size=40), rng.normal(size=(2, 40))
    whole, single, default = (all_pairs(human, scores, draws=200, rng=seeded(5), context=context).p[0, 1]
                              for context in (np.zeros(40, dtype=np.int64), np.arange(40), None))
    assert whole == 1
    assert single == default < 1


def target(name: str, rng: np.random.Generator, contexts: int, each: int = 1, better: float = 0) -> TargetScores:
    """Return ratings from 1 to 5 and two metrics with shared noise and dependent rows in a context."""
    context = np.repeat(np.arange(contexts), each)

    def noise(*size: int) -> np.ndarray:
        return rng.normal(size=(*size, contexts))[..., context] + rng.normal(size=(*size, len(context)))

    quality, shared, individual = noise(), noise(), noise(2)
    human = np.clip(np.round(quality + noise() + 3), 1, 5)
    return TargetScores(name, human, quality * [[1 + better], [1]] + shared + individual, context)


def parts_of(*boards: TargetScores, draws: int = 4000, statistic: str = "spearman") -> list[pooled.Swapped]:
    return [pooled.swapped(board, 0, draws, statistic) for board in boards]


def test_variances_of_datasets_add_up(rng: np.random.Generator) -> None:
    """The half width over two datasets of equal weight is half the root of the sum of their squares."""
    parts = parts_of(target("a", rng, 300), target("b", rng, 150))
    single = [pooled.difference([part], np.ones(1), 0, 1, 1) for part in parts]
    both = pooled.difference(parts, np.full(2, 0.5), 0, 1, 1)
    assert both.value == pytest.approx(sum(part.value for part in single) / 2)
    assert both.high - both.value == pytest.approx(math.hypot(*(part.high - part.value for part in single)) / 2,
                                                    rel=0.02)


def test_a_lead_that_is_equal_in_all_contexts_has_no_width() -> None:
    people, context = np.arange(60.0), np.repeat([0, 1, 2, 3], [1, 2, 7, 50])
    (parts,) = parts_of(TargetScores("a", people, np.array([people, -people]), context))
    difference = pooled.difference([parts], np.ones(1), 0, 1, 0.04)
    assert (difference.low, difference.high) == pytest.approx((2, 2))


@pytest.mark.parametrize("shared", [0, 1])
def test_intervals_cover_a_lead_in_contexts_of_unequal_size(shared: float) -> None:
    """The variance of quality, ratings and scores is the same with and without a part that rows of a context share."""
    rng, context = np.random.default_rng(3), np.repeat(np.arange(60), np.geomspace(1, 30, 60).round().astype(int))
    truth, hits, leads, widths = (1 / 1.25**0.5) * (1 / 1.25**0.5 - 1 / 5**0.5), [], [], []

    def noise(*size: int) -> np.ndarray:
        of_contexts = rng.normal(size=(*size, 60))[..., context]
        return (shared * of_contexts + rng.normal(size=(*size, len(context)))) / (1 + shared**2) ** 0.5

    for _ in range(300):
        quality = noise()
        board = TargetScores("a", quality + 0.5 * noise(), quality + np.array([[0.5], [2]]) * noise(2), context)
        difference = pooled.difference(parts_of(board, draws=8, statistic="pearson"), np.ones(1), 0, 1, 0.04)
        hits.append(difference.low <= truth <= difference.high)
        leads.append(difference.value)
        widths.append(difference.high - difference.low)
    assert 0.92 <= np.mean(hits) <= 0.98
    assert np.mean(widths) == pytest.approx(2 * 1.96 * np.std(leads), rel=0.15)


def test_contexts_without_a_rating_do_not_count(rng: np.random.Generator) -> None:
    board, extra = target("a", rng, 5, 6, better=9), 40
    more = TargetScores("a", np.append(board.human, np.full(extra, math.nan)),
                        np.hstack([board.scores, rng.normal(size=(2, extra))]),
                        np.append(board.context, 5 + np.arange(extra)))
    for _ in range(20):
        tests = pooled.all_pairs(parts_of(replace(more, dataset=str(rng.random()))), np.ones(1))
        assert tests.p[0, 1] >= tests.least[0, 1] == 2 / 2**5
    of_board, of_more = (pooled.difference(parts_of(part), np.ones(1), 0, 1, 1) for part in (board, more))
    assert (of_board.low, of_board.high) == pytest.approx((of_more.low, of_more.high))
    square = [(parts_of(part, draws=20_000)[0].drawn ** 2).mean(axis=1) for part in (board, more)]
    assert square[0] == pytest.approx(square[1], rel=0.05)


def test_false_findings_are_about_5_percent() -> None:
    rng = np.random.default_rng(1)
    p = [pooled.all_pairs(parts_of(target("a", rng, 10, 3), target("b", rng, 20, 2), draws=100),
                          np.full(2, 0.5)).p[0, 1] for _ in range(600)]
    assert 0.03 <= np.mean(np.array(p) < 0.05) <= 0.07


def test_it_is_close_to_swapping_ranks_one_pair_at_a_time(rng: np.random.Generator) -> None:
    """Two qualities of a dataset swap contexts together, so the same target twice equals it once."""
    board = target("a", rng, 60, 3, better=0.3)
    for statistic in ("spearman", "pearson"):
        human, scores = (board.human, board.scores) if statistic == "pearson" else map(ranks, (
            board.human, board.scores))
        exact = all_pairs(human, scores, "pearson", 4000, rng=rng, context=board.context)
        (parts,) = parts_of(board, statistic=statistic)
        both, once = pooled.all_pairs([parts, parts], np.full(2, 0.5)), pooled.all_pairs([parts], np.ones(1))
        assert once.delta[0, 1] == pytest.approx(exact.delta[0, 1])
        assert once.p[0, 1] == pytest.approx(exact.p[0, 1], rel=0.25, abs=0.01)
        assert both.p == pytest.approx(once.p)
        assert (both.p[0, 1], both.p[0, 0]) == (both.p[1, 0], 1)
        above = pooled.all_pairs([parts], np.ones(1), one_sided=True)
        assert above.p[0, 1] + above.p[1, 0] == pytest.approx(1, abs=1e-3)


def test_a_pair_does_not_depend_on_other_metrics_or_boards(rng: np.random.Generator) -> None:
    board = target("a", rng, 40, 2)
    board.scores[0, :4] = math.nan
    three = replace(board, scores=np.vstack([rng.normal(size=80), board.scores]))
    two, of_three = (pooled.all_pairs(parts_of(part), np.ones(1)).p for part in (board, three))
    np.testing.assert_array_equal(two, of_three[1:, 1:])


def test_monotone_metrics_are_equal_and_constant_ones_have_no_p(rng: np.random.Generator) -> None:
    board = target("a", rng, 30)
    same, flat, first = np.exp(board.scores[1]), np.ones(30), board.scores[0].copy()
    first[:] = math.nan
    (parts,) = parts_of(replace(board, scores=np.stack([board.scores[1], same, flat, first])))
    p = pooled.all_pairs([parts], np.ones(1)).p
    difference = pooled.difference([parts], np.ones(1), 0, 1, float(p[0, 1]))
    assert difference.none
    assert not difference.established
    assert p[0, 1] == 1
    assert np.isnan(p[2:]).all()
    lacking = pooled.difference([parts], np.ones(1), 0, 3, math.nan)
    assert all(map(math.isnan, (lacking.value, lacking.low, lacking.high, lacking.p)))
    assert not lacking.established


def test_weights_and_share_reached_by_hand() -> None:
    weight = weights(["a", "b", "b"], "dev")
    assert weight.tolist() == [0.5, 0.25, 0.25]
    assert weights(["a", "b", "b"], "test") == pytest.approx([1 / 3] * 3)
    values, reliability = np.array([0.4, 0.3, 0.9]), np.array([0.64, 0.25, math.nan])
    by_hand = (0.5 * 0.4 + 0.25 * 0.3) / (0.5 * 0.8 + 0.25 * 0.5)
    assert share_reached(values, reliability, weight) == pytest.approx(by_hand)
    assert math.isnan(share_reached(values, np.full(3, math.nan), weight))
