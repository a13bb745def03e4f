"""Ranks with their intervals: what is sure has a narrow one, and what is missing has none."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from harness.statistics import rank_intervals
from harness.statistics.rank_intervals import Ranks, Rule, TargetScores, ahead


def cell(name: str, seed: int, strength: tuple[float, ...] = (2, .5, .5, 0), n: int = 60) -> TargetScores:
    rng = np.random.default_rng(seed)
    human = rng.integers(1, 6, n).astype(float)
    return TargetScores(name, human, np.outer(strength, human) + rng.normal(size=(len(strength), n)).round(1))


def ranks(targets: list[TargetScores], rule: Rule, draws: int = 200) -> Ranks:
    """The ranks of a board under a rule."""
    drawn = rank_intervals.drawn(targets, np.random.default_rng(0), draws)
    return rank_intervals.ranked(rule(rank_intervals.correlations(targets)), drawn.values(rule))


def mean(values: Sequence[np.ndarray]) -> np.ndarray:
    return np.asarray(np.vstack(values).mean(axis=0))


def test_what_is_sure_has_a_narrow_interval_and_what_is_not_a_wide_one() -> None:
    cells = [cell(f"d{seed}", seed) for seed in range(6)]
    found = ranks(cells, mean)
    assert (found.rank[0], found.low[0], found.high[0]) == (1, 1, 1)
    assert (found.low[1:3] == 2).all()
    assert (found.high[1:3] == 3).all()
    assert (found.low <= found.rank).all()
    assert (found.rank <= found.high).all()
    again = ranks(cells, mean)
    np.testing.assert_array_equal(again.high, found.high)


def test_datasets_that_disagree_widen_the_interval() -> None:
    cells = [cell("a", 0, (2, .5)), cell("b", 1, (.5, 2)), cell("c", 2, (2, .5))]
    assert ranks(cells[::2], mean).high[0] == 1
    assert ranks(cells, mean).high[0] == 2


def test_qualities_of_a_dataset_share_their_items() -> None:
    """Of two qualities that are one, the mean of both is each of them, on every resample."""
    one = cell("a", 0)
    twice = ranks([one, one], lambda datasets: datasets[0][0] - datasets[0][1], 50)
    assert (twice.high == 1).all()  # all differences are 0: all metrics share the first rank


def test_a_metric_without_a_value_has_no_rank() -> None:
    given = cell("a", 0)
    given.scores[2] = 1
    found = ranks([given], mean, 50)
    assert np.isnan([found.rank[2], found.low[2], found.high[2]]).all()
    assert np.isfinite(found.rank[[0, 1, 3]]).all()


def draws(*shares: float, many: int = 40) -> np.ndarray:
    """Ranks (draws, 2): the first metric is ahead in so many of the draws, and second in the others."""
    return np.array([[1, 2] if place < many * shares[0] else [2, 1] for place in range(many)], dtype=float)


@pytest.mark.parametrize(("share", "separated"), [(0.975, True), (0.95, False), (1.0, True), (0.025, False)])
def test_who_is_ahead_in_nearly_all_draws_is_separated(share: float, separated: bool) -> None:
    """39 of 40 draws are 97.5 %, 38 are fewer."""
    assert bool(ahead(draws(share), 0.975)[0, 1]) is separated


def test_equals_and_the_missing_are_ahead_of_none() -> None:
    ranks = np.array([[1.0, 1.0, np.nan]] * 40)
    assert not ahead(ranks, 0.975).any()


def test_letters_are_of_what_the_draws_cannot_tell_apart() -> None:
    """One metric is far ahead, two are alike, one is far behind, and one has no value."""
    cells = [cell(f"d{seed}", seed) for seed in range(6)]
    for one in cells:
        one.scores[2] = one.scores[1]
    found = ranks(cells, mean)
    assert found.letters == ("a", "b", "b", "c")
    cells[0].scores[3] = 1
    assert ranks(cells, mean, 50).letters == ("a", "b", "b", "")


def test_two_share_a_letter_where_they_are_not_separated() -> None:
    """Whatever the data: the letters say neither more nor less than the draws."""
    cells = [cell(f"d{seed}", seed, strength=(1, .9, .8, .5, .3, .25, .2, .1, 0)) for seed in range(3)]
    seen = []

    def watched(values: Sequence[np.ndarray]) -> np.ndarray:
        seen.append(mean(values))
        return seen[-1]

    found = ranks(cells, watched, 80)
    whole, drawn = seen[0], np.array(seen[1:])
    for i, first in enumerate(found.letters):
        for j, second in enumerate(found.letters):
            wins = max((drawn[:, i] > drawn[:, j]).mean(), (drawn[:, j] > drawn[:, i]).mean())
            assert bool(set(first) & set(second)) == bool(wins < 0.975), (i, j)
    assert "a" in found.letters[int(np.argmax(whole))]
