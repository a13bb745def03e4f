"""Intervals, letters and errors of ranks from draws."""

from dataclasses import replace

import numpy as np

from harness.statistics import rank_intervals
from harness.statistics.coefficients import where_known
from harness.statistics.pooled import weights
from harness.statistics.rank_intervals import Drawn, Rank, TargetScores, ahead, rank


def target(name: str, seed: int, strength: tuple[float, ...] = (2, .5, .5, 0), n: int = 60) -> TargetScores:
    rng = np.random.default_rng(seed)
    human = rng.integers(1, 6, n).astype(float)
    return TargetScores(name, human, np.outer(strength, human) + rng.normal(size=(len(strength), n)).round(1),
                        np.arange(n))


def ranked(targets: list[TargetScores], draws: int = 200) -> list[Rank]:
    weight = weights([target.dataset for target in targets], "test")
    means = weight @ np.array([where_known(target.human, target.scores) for target in targets])
    drawn = rank_intervals.drawn(targets, np.random.default_rng(0), draws)
    return list(rank(dict(enumerate(means.tolist())), drawn.means(weight)).values())


def test_clear_ranks_have_narrow_intervals_and_own_letters() -> None:
    """The first metric is far ahead, two are similar, and the fourth is far behind; a constant metric has no rank."""
    targets = [target(f"d{seed}", seed) for seed in range(6)]
    first, *middle, last = ranked(targets)
    assert first == replace(first, rank=1, low=1, high=1, letters="a", cluster=1)
    assert [(row.low, row.high, row.letters, row.cluster) for row in middle] == [(2, 3, "b", 2)] * 2
    assert (last.rank, last.letters, last.cluster) == (4, "c", 3)
    assert ranked(targets) == [first, *middle, last]
    targets[0].scores[3] = 1
    rows = ranked(targets, draws=50)
    assert [row.letters for row in rows] == ["a", "b", "b", ""]
    assert (rows[3].rank, rows[3].cluster) == (None, 0)
    assert np.isnan([rows[3].low, rows[3].high]).all()


def test_error_counts_items_of_one_context_once() -> None:
    """A mean of six independent correlations near 0 on 60 items has an error of about 1 / sqrt(6 * 59)."""
    single = [target(f"d{seed}", seed) for seed in range(6)]
    twice = [replace(part, human=np.tile(part.human, 2), scores=np.tile(part.scores, 2),
                     context=np.tile(np.arange(60), 2)) for part in single]
    once, again = (rank_intervals.drawn(targets, np.random.default_rng(0), 400).error(np.ones(6))
                   for targets in (single, twice))
    assert 0.04 < once[3] < 0.065
    np.testing.assert_allclose(again, once, rtol=0.2)


def test_contexts_without_a_rating_are_not_drawn(rng: np.random.Generator) -> None:
    human, scores, context = rng.normal(size=30), rng.normal(size=(2, 30)), np.arange(30) // 3
    unrated = TargetScores("a", np.append(human, np.full(50, np.nan)), np.hstack([scores, rng.normal(size=(2, 50))]),
                           np.append(context, 10 + np.arange(50)))
    rated, among_others = (rank_intervals.resampled([part], 40, np.random.default_rng(0)) for part in (
        TargetScores("a", human, scores, context), unrated))
    np.testing.assert_array_equal(rated, among_others)


def test_disagreeing_datasets_widen_the_interval() -> None:
    """Two equal qualities of a dataset differ by 0 on every resample: all metrics share the first rank."""
    targets = [target("a", 0, (2, .5)), target("b", 1, (.5, 2)), target("c", 2, (2, .5))]
    assert ranked(targets[::2])[0].high == 1
    assert ranked(targets)[0].high == 2
    drawn = rank_intervals.drawn([target("a", 0)] * 2, np.random.default_rng(0), 50).resampled[0]
    assert (drawn[:, 0] == drawn[:, 1]).all()


def test_means_are_those_of_the_datasets_of_each_draw(rng: np.random.Generator) -> None:
    sizes, chosen = (1, 3), rng.integers(2, size=(20, 2))
    drawn = Drawn([rng.normal(size=(20, size, 4)) for size in sizes], chosen)
    for rule in ("dev", "test"):
        for draw, row in enumerate(drawn.means(weights(["a", "b", "b", "b"], rule))):
            tables = [drawn.resampled[dataset][(draw + index) % 20] for index, dataset in enumerate(chosen[draw])]
            means = [table.mean(axis=0) for table in tables] if rule == "dev" else np.vstack(tables)
            np.testing.assert_allclose(row, np.mean(means, axis=0))
    assert np.isnan(drawn.means(np.array([1.0, 0, 0, 0]))[(chosen == 1).all(axis=1)]).all()


def test_metrics_ahead_in_enough_draws_are_separated() -> None:
    """39 of 40 draws are 97.5 %, 38 are too few; equal and missing values are ahead of none."""
    for wins in (1, 38, 39, 40):
        assert ahead(np.array([[1.0, 2.0]] * wins + [[2.0, 1.0]] * (40 - wins)))[0, 1] == (wins >= 39)
    assert not ahead(np.array([[1.0, 1.0, np.nan]] * 40)).any()
    constant = np.full((20, 2), np.nan)
    assert ahead(np.vstack([[[1.0, 2.0]] * 40, constant]))[0, 1], "draws without ranks do not count"
    assert not ahead(constant).any()


def test_metrics_share_a_letter_unless_separated(rng: np.random.Generator) -> None:
    values = np.array((1, .9, .8, .5, .3, .25, .2, .1, 0))
    drawn = values + rng.normal(scale=0.15, size=(80, 9))
    rows = rank(dict(enumerate(values.tolist())), drawn)
    for first, second in np.ndindex(9, 9):
        wins = max((drawn[:, first] > drawn[:, second]).mean(), (drawn[:, second] > drawn[:, first]).mean())
        assert bool(set(rows[first].letters) & set(rows[second].letters)) == bool(wins < 0.975)
    assert "a" in rows[0].letters
