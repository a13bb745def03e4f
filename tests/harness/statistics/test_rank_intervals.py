"""Ranks beside scipy's, with their intervals; the kernel of challenges has the numbers of the boards' methods."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from harness.statistics import fixed_ranks, rank_intervals
from harness.statistics.coefficients import spearman
from harness.statistics.panel import codes, panel
from harness.statistics.rank_intervals import Ranks, Rule, TargetScores, ahead
from harness.statistics.ranks import lowest_ranks, ranks
from harness.statistics.williams import all_pairs_by_formula


def target(name: str, seed: int, strength: tuple[float, ...] = (2, .5, .5, 0), n: int = 60) -> TargetScores:
    rng = np.random.default_rng(seed)
    human = rng.integers(1, 6, n).astype(float)
    return TargetScores(name, human, np.outer(strength, human) + rng.normal(size=(len(strength), n)).round(1))


def ranked(targets: list[TargetScores], rule: Rule, draws: int = 200) -> Ranks:
    """The ranks of a board under a rule."""
    drawn = rank_intervals.drawn(targets, np.random.default_rng(0), draws)
    return rank_intervals.ranked(rule(rank_intervals.correlations(targets)), drawn.values(rule))


def mean(values: Sequence[np.ndarray]) -> np.ndarray:
    return np.asarray(np.vstack(values).mean(axis=0))


def test_what_is_sure_has_a_narrow_interval_and_a_letter_of_its_own_and_what_has_no_value_neither() -> None:
    """One metric is far ahead, two are alike, one is far behind."""
    targets = [target(f"d{seed}", seed) for seed in range(6)]
    board = ranked(targets, mean)
    assert (board.rank[0], board.low[0], board.high[0]) == (1, 1, 1)
    assert (list(board.low[1:3]), list(board.high[1:3])) == ([2, 2], [3, 3])
    assert ((board.low <= board.rank) & (board.rank <= board.high)).all()
    np.testing.assert_array_equal(ranked(targets, mean).high, board.high)
    assert board.letters == ("a", "b", "b", "c")
    targets = [target(f"d{seed}", seed) for seed in range(6)]
    targets[0].scores[3] = 1
    board = ranked(targets, mean, 50)
    assert board.letters == ("a", "b", "b", "")
    assert np.isnan([board.rank[3], board.low[3], board.high[3]]).all()
    assert np.isfinite(board.rank[:3]).all()


def test_the_error_of_a_value_is_that_of_the_datasets_at_hand_and_items_of_one_context_count_once() -> None:
    """A mean of six independent correlations near 0 on 60 items has an error of about 1 / sqrt(6 * 59)."""
    single = [target(f"d{seed}", seed) for seed in range(6)]
    twice = [replace(one, human=np.tile(one.human, 2), scores=np.tile(one.scores, 2), context=np.tile(np.arange(60), 2))
             for one in single]
    once, again = (rank_intervals.drawn(targets, np.random.default_rng(0), 400).error(mean)
                   for targets in (single, twice))
    assert 0.04 < once[3] < 0.065
    np.testing.assert_allclose(again, once, rtol=0.2)


def test_datasets_that_disagree_widen_the_interval_and_qualities_of_one_share_their_items() -> None:
    """Of two qualities that are one, the difference is 0 on every resample: all metrics share the first rank."""
    targets = [target("a", 0, (2, .5)), target("b", 1, (.5, 2)), target("c", 2, (2, .5))]
    assert ranked(targets[::2], mean).high[0] == 1
    assert ranked(targets, mean).high[0] == 2
    twice = ranked([target("a", 0)] * 2, lambda datasets: datasets[0][0] - datasets[0][1], 50)
    assert (twice.high == 1).all()


def test_who_is_ahead_in_nearly_all_draws_is_separated() -> None:
    """39 of 40 draws are 97.5 %, 38 are fewer; equals and the missing are ahead of none."""
    for wins, separated in ((39, True), (38, False), (40, True), (1, False)):
        drawn = np.array([[1, 2] if draw < wins else [2, 1] for draw in range(40)], dtype=float)
        assert bool(ahead(drawn, 0.975)[0, 1]) is separated
    assert not ahead(np.array([[1.0, 1.0, np.nan]] * 40), 0.975).any()
    constant = np.full((20, 2), np.nan)
    assert ahead(np.vstack([[[1.0, 2.0]] * 40, constant]), 0.975)[0, 1], "draws without ranks count for nobody"
    assert not ahead(constant, 0.975).any()


def test_two_share_a_letter_where_they_are_not_separated() -> None:
    """Whatever the data: the letters say neither more nor less than the draws."""
    targets = [target(f"d{seed}", seed, strength=(1, .9, .8, .5, .3, .25, .2, .1, 0)) for seed in range(3)]
    seen = []

    def watched(values: Sequence[np.ndarray]) -> np.ndarray:
        seen.append(mean(values))
        return seen[-1]

    letters = ranked(targets, watched, 80).letters
    whole, drawn = seen[0], np.array(seen[1:])
    for i, first in enumerate(letters):
        for j, second in enumerate(letters):
            wins = max((drawn[:, i] > drawn[:, j]).mean(), (drawn[:, j] > drawn[:, i]).mean())
            assert bool(set(first) & set(second)) == bool(wins < 0.975), (i, j)
    assert "a" in letters[int(np.argmax(whole))]


VALUES = st.lists(st.lists(st.sampled_from((-0.0, 0.0, 1e-300, 1.0, 2.5, np.inf)), min_size=4, max_size=4), max_size=5)


@given(VALUES)
def test_equals_share_the_mean_of_their_ranks_or_the_lowest(rows: list[list[float]]) -> None:
    values = np.array(rows, dtype=np.float64).reshape(len(rows), 4)
    assert np.array_equal(ranks(values), [stats.rankdata(row) for row in values] or values)
    lowest = [stats.rankdata(row, method="min") for row in values]
    assert np.array_equal(lowest_ranks(values), lowest or values)


TARGET = ("dataset", "quality")


def test_the_kernel_equals_single_panels_williams_and_itself(rng: np.random.Generator) -> None:
    """Five submissions, some scores and a rating missing; a draw of everything once has the values themselves."""
    human = rng.integers(1, 6, size=30).astype(float)
    scores = human + rng.normal(size=(5, 30))
    human[2] = scores[1, 4] = scores[3, 4] = scores[3, 5] = np.nan
    groups = fixed_ranks.grouped({TARGET: human}, {TARGET: scores})
    expected = all_pairs_by_formula(human, scores, "spearman")
    tests = fixed_ranks.williams_of_every_pair(groups[TARGET], scores)
    off = ~np.eye(5, dtype=bool)
    for name in ("delta", "value", "p", "r", "n"):
        np.testing.assert_allclose(getattr(tests, name)[off], getattr(expected, name)[off], atol=1e-10)
    none, values = codes([None] * 30), fixed_ranks.values(groups)[:, 0]
    np.testing.assert_allclose(values, [spearman(panel(row, human, none, none)) for row in scores], atol=1e-12)
    for group in groups[TARGET]:
        squares = {id(group.ranks): fixed_ranks._small(group.ranks) ** 2}
        (row,) = fixed_ranks._values(group, np.ones((1, len(group.people))), squares, {})
        np.testing.assert_allclose(row, values[group.members], atol=1e-12)
    first, again = (fixed_ranks.drawn(groups, 100, np.random.default_rng(3)).values(lambda datasets: datasets[0][0])
                    for _ in range(2))
    assert first.shape == (100, 5)
    np.testing.assert_array_equal(first, again)
    np.testing.assert_allclose(first.mean(axis=0), values, atol=0.1)
