"""Firmness of a lead: exact for datasets, an upper bound near the exact number for contexts and votes."""

import math
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest

from harness.statistics import firmness
from harness.statistics.firmness import Contest
from harness.statistics.panel import Array
from harness.statistics.pooled import contributions
from harness.statistics.rank_intervals import TargetScores

COLUMNS = 4


def made(rng: np.random.Generator, contexts: int, each: int, lead: float) -> tuple[Contest, Array, Array]:
    """Return a contest of one dataset, the contributions of its contexts, and three votes per item."""
    size = contexts * each
    quality = rng.normal(size=size)
    votes = np.clip(np.round(3 + quality[:, None] + rng.normal(size=(size, 3))), 1, 5)
    scores = quality + np.array([1 - lead, 1, 1, 1])[:, None] * rng.normal(size=(COLUMNS, size))
    target = TargetScores("a", votes.mean(axis=1), scores, np.repeat(np.arange(contexts), each))
    values, sums = contributions(target, "spearman")
    best = np.argsort(-values)
    contest = Contest([TargetScores("a", target.human, scores[best], target.context)], values[None, best], np.ones(1),
                  range(1, COLUMNS))
    return contest, sums[best], votes


def leads(contest: Contest, human: Array) -> bool:
    means = contest.means({0: human}, range(COLUMNS))
    return bool(means[0] >= means[1:].max() - firmness.TOLERANCE)


def test_datasets_equal_a_search_of_all_sets(rng: np.random.Generator) -> None:
    for _ in range(50):
        parts = rng.normal(size=(6, COLUMNS)) + np.array([0.6, 0, 0, 0])
        parts = parts[:, np.argsort(-parts.sum(axis=0))]
        exact = next((number for number in range(1, 6) for kept in combinations(range(6), 6 - number)
                      if parts[[*kept]].sum(axis=0).argmax() > 0), None)
        removal = firmness.datasets_to_remove(parts, range(1, COLUMNS))
        assert (removal and len(removal.units)) == exact
        if removal:
            assert np.delete(parts, removal.units, axis=0).sum(axis=0).argmax() == removal.successor


def test_contexts_are_near_a_search_of_all_sets(rng: np.random.Generator) -> None:
    sizes = []
    for _ in range(15):
        contest, sums, _ = made(rng, 11, 4, 0.1)
        removal, _ = firmness.contexts_to_remove(contest, [sums])
        target = contest.targets[0]
        assert removal is not None
        assert not leads(contest, np.where(np.isin(target.context, removal.units), np.nan, target.human))
        exact = next(number for number in range(1, 11) for units in combinations(range(11), number)
                     if not leads(contest, np.where(np.isin(target.context, units), np.nan, target.human)))
        sizes.append((exact, len(removal.units)))
    assert all(exact <= number for exact, number in sizes)
    assert sum(exact == number for exact, number in sizes) >= 13, "nearly always the smallest set"


def test_votes_are_removed_until_another_leads(rng: np.random.Generator) -> None:
    for _ in range(5):
        contest, _, every = made(rng, 30, 2, 0.2)
        removal = firmness.votes_to_remove(contest, [every], range(1, COLUMNS))
        assert removal is not None
        kept = np.delete(np.arange(every.size), removal.units)  # three votes per item, item by item
        ratings = [every.ravel()[kept][kept // 3 == item] for item in range(60)]
        assert not leads(contest, np.array([votes.mean() if len(votes) else math.nan for votes in ratings]))
        tenths = replace(contest.targets[0], human=(every / 10).mean(axis=1).round(12))
        assert firmness.votes_to_remove(replace(contest, targets=[tenths]), [every / 10], range(1, COLUMNS)) == removal
    alone, _, _ = made(rng, 30, 2, 0.2)
    single = alone.targets[0].human[:, None]  # an item without its only vote no longer counts
    removal = firmness.votes_to_remove(alone, [single], range(1, COLUMNS))
    assert removal is not None
    assert not leads(alone, np.where(np.isin(np.arange(60), removal.units), np.nan, alone.targets[0].human))


def test_a_lead_that_no_removal_changes(rng: np.random.Generator) -> None:
    people = np.arange(20.0)
    scores = np.array([people, np.zeros(20), -people])
    target = TargetScores("a", people, scores, np.arange(20))
    contest = Contest([target], np.array([[1, math.nan, -1]]), np.ones(1), [2])
    values, sums = contributions(contest.targets[0], "spearman")
    assert values == pytest.approx([1, math.nan, -1], nan_ok=True)
    assert firmness.contexts_to_remove(contest, [sums])[0] is None
    assert firmness.datasets_to_remove(contest.values, [2]) is None
