"""The pooled difference: as Williams' test on independent rows, rarely wrong where there is none, careful with gaps."""

import math
from dataclasses import replace

import numpy as np
import pytest

from harness.statistics.permutation import all_pairs_by_permutation
from harness.statistics.pooled import all_pairs, differences, share_reached, weights
from harness.statistics.rank_intervals import TargetScores
from harness.statistics.williams import williams


def target(name: str, rng: np.random.Generator, contexts: int, each: int = 1, better: float = 0) -> TargetScores:
    """Ratings from 1 to 5 and two metrics, rows of one context being alike; the first metric is the better by so much.

    Metrics share part of their noise.
    """
    context = np.repeat(np.arange(contexts), each)

    def noise(*size: int) -> np.ndarray:
        return rng.normal(size=(*size, contexts))[..., context] + rng.normal(size=(*size, len(context)))

    quality, shared, own = noise(), noise(), noise(2)
    human = np.clip(np.round(quality + noise() + 3), 1, 5)
    return TargetScores(name, human, quality * [[1 + better], [1]] + shared + own, context)


def test_on_independent_rows_of_one_dataset_it_is_williams_test(rng: np.random.Generator) -> None:
    for better in (0, 0.2, 0.4):
        one = target("a", rng, 600, better=better)
        (own,) = differences([one], [(0, 1)], rng, draws=4000, statistic="pearson")
        r12, r13, r23 = np.corrcoef([one.human, *one.scores])[np.triu_indices(3, 1)]
        _, p = williams(r12, r13, r23, 600)
        assert own.value == pytest.approx(r12 - r13)
        assert own.p == pytest.approx(p, rel=0.15, abs=1e-4)
        assert own.low == pytest.approx(own.value - (own.high - own.value))
        assert own.established == (not own.low <= 0 <= own.high) == (own.p < 0.05)


def test_datasets_add_up_as_independent_parts(rng: np.random.Generator) -> None:
    """The reach of the interval over two datasets that count alike is half the root of the sum of their squares."""
    boards = [target("a", rng, 300), target("b", rng, 150)]
    alone = [differences([one], [(0, 1)], rng, draws=4000)[0] for one in boards]
    (both,) = differences(boards, [(0, 1)], rng, draws=4000)
    assert both.value == pytest.approx(sum(own.value for own in alone) / 2)
    assert both.high - both.value == pytest.approx(math.hypot(*(own.high - own.value for own in alone)) / 2, rel=0.05)


@pytest.mark.parametrize(("datasets", "contexts", "each"), [(1, 10, 3), (3, 30, 2)])
def test_of_two_that_are_alike_few_are_found_to_differ(datasets: int, contexts: int, each: int) -> None:
    rng = np.random.default_rng(1)
    boards = [[target(str(name), rng, contexts, each) for name in range(datasets)] for _ in range(800)]
    assert 0.01 <= np.mean([differences(board, [(0, 1)], rng, draws=100)[0].established for board in boards]) <= 0.06
    weight = np.full((1, datasets), 1 / datasets)
    assert 0.01 <= np.mean([all_pairs(board, weight, rng, 100)[0].p[0, 1] < 0.05 for board in boards]) <= 0.06


def test_on_one_target_all_pairs_are_nearly_those_of_draws_that_are_measured_anew(rng: np.random.Generator) -> None:
    """Two qualities of a dataset swap their contexts together: twice the same target is as once."""
    one = target("a", rng, 60, 3, better=0.3)
    one.scores[0, :4] = math.nan
    one.human[10:14] = math.nan
    for statistic in ("spearman", "pearson"):
        exact = all_pairs_by_permutation(one.human, one.scores, statistic, 4000, rng=rng, context=one.context)
        both, alone = all_pairs([one, one], np.array([[0.5, 0.5], [0, 1]]), rng, 4000, statistic)
        assert alone.p[0, 1] == pytest.approx(exact.p[0, 1], rel=0.25, abs=0.01)
        assert both.p == pytest.approx(alone.p)
        assert (both.p[0, 1], both.p[0, 0]) == (both.p[1, 0], 1)
        assert both.delta[0, 1] == pytest.approx(differences([one], [(0, 1)], rng, statistic=statistic)[0].value)
        (above, _) = all_pairs([one, one], np.array([[0.5, 0.5], [0, 1]]), rng, 4000, statistic, one_sided=True)
        assert above.p[0, 1] + above.p[1, 0] == pytest.approx(1, abs=1e-3)
    turned = replace(one, scores=np.stack([one.scores[1], -one.scores[1]]))
    assert all_pairs([turned], np.ones((1, 1)), rng, absolute=True)[0].p[0, 1] == 1
    turned.scores[1] = 1
    assert math.isnan(all_pairs([turned], np.ones((1, 1)), rng)[0].p[0, 1])


def test_one_that_lacks_a_target_has_no_difference_and_one_of_itself_is_0(rng: np.random.Generator) -> None:
    boards = [target("a", rng, 30), target("b", rng, 30)]
    boards[1].scores[1] = math.nan
    lacking, same = differences(boards, [(0, 1), (0, 0)], rng)
    assert all(map(math.isnan, (lacking.value, lacking.low, lacking.high, lacking.p)))
    assert not lacking.established
    assert (same.value, same.low, same.high, same.p) == (0, 0, 0, 1)


def test_shares_and_weights_by_hand() -> None:
    """A dataset of one quality counts as much as one of two under `dev`; the share is over targets that are known."""
    weight = weights(["a", "b", "b"], "dev")
    assert weight.tolist() == [0.5, 0.25, 0.25]
    assert weights(["a", "b", "b"], "test") == pytest.approx([1 / 3] * 3)
    values, reliability = np.array([0.4, 0.3, 0.9]), np.array([0.64, 0.25, math.nan])
    by_hand = (0.5 * 0.4 + 0.25 * 0.3) / (0.5 * 0.8 + 0.25 * 0.5)
    assert share_reached(values, reliability, weight) == pytest.approx(by_hand)
    assert math.isnan(share_reached(values, np.full(3, math.nan), weight))
