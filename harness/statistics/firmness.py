"""Firmness of a lead: how little data must be removed before another metric has a higher mean over the targets.

    datasets   exact: a rival leads if its differences from the leader sum to more than 0 over the remaining datasets,
               so the datasets that favour the leader most are removed first
    contexts   in the order of their first-order contribution to the lead over a rival (ranks.py)
    votes      in the order of their first-order effect on the lead: a vote moves the mean rating of its item, and
               with it the ranks of the item and of the items that it passes

As in Broderick, Giordano & Meager (2020), 'An Automatic Finite-Sample Robustness Metric', contexts and votes are
ordered once and then removed until the recomputed means show another leader. The results are upper bounds: a
smaller set may exist. Only the MAX_RIVALS rivals predicted to need the fewest removals are tried.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from harness.statistics.coefficients import where_known
from harness.statistics.panel import Array, Codes, Vector, rounded
from harness.statistics.rank_intervals import TargetScores
from harness.statistics.ranks import ranks, spearman_influence

MAX_RIVALS = 3
TOLERANCE = 1e-12  # means closer than this count as equal


@dataclass(frozen=True, slots=True)
class Removal:
    """The units to remove, and the column that then leads."""

    units: tuple[int, ...]
    successor: int


def datasets_to_remove(contributions: Array, rivals: Sequence[int]) -> Removal | None:
    """Return the fewest datasets to remove; `contributions` to the means are (datasets, columns), the leader first."""
    leads = contributions[:, :1] - contributions[:, rivals]
    order = np.argsort(-leads, axis=0, kind="stable")
    remaining = (leads.sum(axis=0) - np.cumsum(np.take_along_axis(leads, order, axis=0), axis=0))[:-1]
    if not (remaining < -TOLERANCE).any():
        return None
    last = int(np.argmax((remaining < -TOLERANCE).any(axis=1)))
    units = np.sort(order[:last + 1, np.argmin(remaining[last])])
    means = np.delete(contributions, units, axis=0)[:, rivals].sum(axis=0)
    return Removal(tuple(units.tolist()), rivals[int(np.argmax(means))])


@dataclass(frozen=True, slots=True, eq=False)
class Contest:
    """Targets with all columns of a board, the leader first, their correlations and weights."""

    targets: Sequence[TargetScores]
    values: Array
    weight: Vector
    rivals: Sequence[int]

    def means(self, human: Mapping[int, Vector], columns: Sequence[int]) -> Vector:
        """Return the weighted means of columns, with `human` in place of the ratings of some targets."""
        rows = [where_known(human[index], target.scores[columns]) if index in human else row[columns]
                for index, (target, row) in enumerate(zip(self.targets, self.values, strict=True))]
        return np.asarray(self.weight @ np.array(rows))


def contexts_to_remove(contest: Contest, sums: Sequence[Array]) -> tuple[Removal | None, Sequence[int]]:
    """Return the contexts to remove, numbered across datasets, and the closest rivals.

    `sums` has a table for each dataset: the contribution of each context to each weighted mean (columns, contexts).
    """
    names = list(dict.fromkeys(target.dataset for target in contest.targets))
    starts = dict(zip(names, np.cumsum([0, *(table.shape[1] for table in sums)]), strict=False))

    def without(units: Codes) -> dict[int, Vector]:
        removed = np.zeros(sum(table.shape[1] for table in sums), dtype=np.bool_)
        removed[units] = True
        lost = [removed[starts[target.dataset] + target.context] for target in contest.targets]
        return {index: np.where(rows, np.nan, target.human)
                for index, (rows, target) in enumerate(zip(lost, contest.targets, strict=True)) if rows.any()}

    table = np.hstack(sums)
    return _greedy(contest, table[:1] - table[contest.rivals], contest.rivals, without)


def votes_to_remove(contest: Contest, tables: Sequence[Array], rivals: Sequence[int]) -> Removal | None:
    """Return the votes to remove, numbered by target and item and chosen by their effect on the lead.

    `tables` (items, votes) has the votes on each target, NaN if missing.
    """
    items = [np.nonzero(np.isfinite(table))[0] for table in tables]
    values = [table[np.isfinite(table)] for table in tables]
    starts = np.cumsum([0, *map(len, values)])
    effects = np.hstack([weight * _effects(target, votes_on, rated, [0, *rivals])
                         for weight, target, votes_on, rated in zip(contest.weight, contest.targets, values, items,
                                                                    strict=True)])

    def without(units: Codes) -> dict[int, Vector]:
        parts = np.split(np.sort(units), np.searchsorted(np.sort(units), starts[1:-1]))
        return {index: _ratings_without(contest.targets[index].human, values[index], items[index], part - starts[index])
                for index, part in enumerate(parts) if len(part)}

    return _greedy(contest, effects[1:] - effects[:1], rivals, without)[0]


def _greedy(contest: Contest, effects: Array, rivals: Sequence[int],
            without: Callable[[Codes], Mapping[int, Vector]]) -> tuple[Removal | None, Sequence[int]]:
    """Remove units in order of their `effects` on the lead over a rival (rivals, units) until the lead is lost."""
    means = contest.means({}, [0, *rivals])
    gained = np.cumsum(-np.sort(-effects, axis=1), axis=1)
    predicted = np.where((enough := gained > (means[0] - means[1:])[:, None]).any(axis=1),
                         enough.argmax(axis=1) + 1, effects.shape[1])
    closest = np.argsort(predicted, kind="stable")[:MAX_RIVALS]
    fewest, smallest = effects.shape[1], None
    for row in closest:
        order = np.argsort(-effects[row], kind="stable")

        def lead_is_lost(count: int, order: Codes = order, rival: int = rivals[row]) -> bool:
            leader, other = contest.means(without(order[:count]), [0, rival])
            return bool(other - leader > TOLERANCE)

        limit = min(fewest - 1, int((effects[row] > 0).sum()))
        if count := _smallest(lead_is_lost, int(predicted[row]), limit):
            fewest, smallest = count, order[:count]
    tried = [rivals[row] for row in closest]
    if smallest is None:
        return None, tried
    successor = contest.rivals[int(np.nanargmax(contest.means(without(smallest), contest.rivals)))]
    return Removal(tuple(np.sort(smallest).tolist()), successor), tried


def _smallest(holds: Callable[[int], bool], guess: int, limit: int) -> int:
    """Return the smallest number up to a limit from which a condition holds, by bisection; 0 if there is none."""
    high = min(max(guess, 1), limit)
    while high < limit and not holds(high):
        high = min(limit, high + max(1, high // 4))
    first = bisect_left(range(1, high + 1), True, key=holds) + 1
    return first if first <= high else 0


def _ratings_without(human: Vector, values: Vector, items: Codes, removed: Codes) -> Vector:
    """Return the mean ratings without some votes; NaN for an item without other votes."""
    rest, rest_values = np.delete(items, removed), np.delete(values, removed)
    counts, sums = np.bincount(rest, minlength=len(human)), np.bincount(rest, rest_values, len(human))
    means = np.divide(sums, counts, out=np.full(len(human), math.nan), where=counts > 0)
    return np.where(np.isin(np.arange(len(human)), items[removed]), rounded(means), human)


def _effects(target: TargetScores, values: Vector, items: Codes, columns: Iterable[int]) -> Array:
    """Return the change of each correlation if a vote is removed, to first order (columns, votes)."""
    counts, sums = np.bincount(items, minlength=len(target.human)), np.bincount(items, values, len(target.human))
    remaining = counts[items] - 1
    after = rounded(np.divide(sums[items] - values, remaining, out=np.zeros(len(remaining)), where=remaining > 0))
    before = target.human[items]

    def of_column(scores: Vector) -> Vector:
        known = np.isfinite(scores) & np.isfinite(target.human)
        h, z = (ranks(side[known]) - (known.sum() + 1) / 2 for side in (target.human, scores))
        (rho,), (influence,) = spearman_influence(scores[None, known], target.human[known])
        order, row = np.argsort(target.human[known], kind="stable"), np.cumsum(known)[items] - 1
        ratings = target.human[known][order]
        old, new = ([np.searchsorted(ratings, x, side) for side in ("left", "right")] for x in (before, after))

        def change(side: Vector) -> Vector:  # each passed item changes its rank by one, in the opposite direction
            total = np.append(0, np.cumsum(side[order]))
            passed = total[new].sum(axis=0) - total[old].sum(axis=0)
            return np.asarray((side[row] * (sum(new) - sum(old)) - passed) / 2)

        change_of_rho = change(z) / math.sqrt((h @ h) * (z @ z)) - rho * change(h) / (h @ h)
        return np.where(known[items], np.where(remaining > 0, change_of_rho, -influence[row]), 0.0)

    return np.array([of_column(target.scores[column]) for column in columns])
