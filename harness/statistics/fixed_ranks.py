"""Spearman of very many submissions with people: values, Williams' test of every pair, draws of the data, as arrays.

This is the kernel of the challenges, for hundreds of submissions; `rank_intervals`, `williams` and `resampled` are
those of the boards. Both draw datasets and items alike (`rank_intervals.jointly`, `in_blocks`) and apply one formula of
Williams'. They are two, since they differ in what they compute:

- In a draw, ranks of scores and ratings are those among all items; the boards rank anew in each. With w counting how
  often a draw holds each item, N = Σ w, z ranks of a submission and h of people,

      rho = (Σ w h z / N − Σ w h Σ w z / N²) / √(variance of z · variance of h under w / N)

  so that each sum over all draws and submissions is a product of matrices. Those of z and z² serve every quality.
- With C the centred ranks of the submissions (m, n) and h those of the ratings, rho = C h / √(Σ C² · Σ h²): products of
  halves, exact below 2^53. Every pair is one entry of a matrix: 124,750 pairs of 500 submissions are one product. The
  boards, which have Pearson and Kendall too, scale first, and differ in the last digit.

Submissions that lack the same items are a group and share their rows; of each two groups, the pairs are measured on the
rows that both have.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement
from typing import TypeAlias

import numpy as np

from harness.statistics.panel import Array, Mask, Pairs, Vector
from harness.statistics.rank_intervals import Drawn, counts_of, in_blocks, jointly
from harness.statistics.ranks import ranks
from harness.statistics.williams import PairTests, williams

BATCH = 64
"""Draws that are multiplied at once."""

LEAST = 1e-12
"""Variances below this are those of a constant."""


@dataclass(frozen=True, slots=True, eq=False)
class RankGroup:
    """Submissions that have a score for the same rated items: their places, these rows, and centred ranks on them.

    `ranks` is (members, rows); it is one array for the qualities of a dataset that share scores and rows.
    """

    members: Pairs
    rows: Mask
    ranks: Array
    people: Vector

    def values(self) -> Vector:
        """Spearman of each member with people; NaN where it does not exist."""
        if len(self.people) < 3:
            return np.full(len(self.members), math.nan)
        with np.errstate(invalid="ignore", divide="ignore"):
            rho = (self.ranks @ self.people) / np.sqrt((self.ranks**2).sum(axis=1) * (self.people @ self.people))
        return np.asarray(np.clip(rho, -1, 1))


RankGroups: TypeAlias = Mapping[tuple[str, str], tuple[RankGroup, ...]]
"""Of every target, a dataset and a quality."""


def grouped(people: Mapping[tuple[str, str], Vector], scores: Mapping[tuple[str, str], Array]) -> RankGroups:
    """The groups of each target, `people` (items,) being its ratings and `scores` (submissions, items)."""
    made: dict[tuple[int, bytes], Array] = {}
    return {target: tuple(_groups(human, scores[target], made)) for target, human in people.items()}


def values(groups: RankGroups) -> Array:
    """Spearman of every submission on every target, (submissions, targets); NaN where none exists."""
    table = np.full((_size(groups), len(groups)), math.nan)
    for place, own in enumerate(groups.values()):
        for group in own:
            table[group.members, place] = group.values()
    return table


def williams_of_every_pair(groups: tuple[RankGroup, ...], scores: Array) -> PairTests:
    """Williams' test of every two submissions on one target, on the rows with both scores and the rating."""
    tests = PairTests.empty(len(scores))
    for first, second in combinations_with_replacement(groups, 2):
        rows = first.rows & second.rows
        if rows.sum() < 3:
            continue
        mine, others = _on(first, rows, scores), _on(second, rows, scores)
        people = _unit(_centred(first.people[None, rows[first.rows]]))[0]
        a, b, c = (mine @ people)[:, None], (others @ people)[None], np.clip(mine @ others.T, -1, 1)
        t, p = williams(a, b, c, int(rows.sum()))
        for block, sign, turn in ((np.ix_(first.members, second.members), 1, (0, 1)),
                                  (np.ix_(second.members, first.members), -1, (1, 0))):
            tests.delta[block], tests.value[block] = sign * (a - b).transpose(turn), sign * t.transpose(turn)
            tests.p[block], tests.r[block], tests.n[block] = p.transpose(turn), c.transpose(turn), rows.sum()
    return tests


def drawn(groups: RankGroups, draws: int, rng: np.random.Generator) -> Drawn:
    """The targets on draws of the datasets and, within each, of its items."""
    datasets: dict[str, list[tuple[RankGroup, ...]]] = {}
    for (dataset, _), own in groups.items():
        datasets.setdefault(dataset, []).append(own)
    resampled = [_resampled(own, _size(groups), draws, rng) for own in datasets.values()]
    return Drawn(resampled, jointly(len(resampled), draws, rng))


def _size(groups: RankGroups) -> int:
    """How many submissions there are; each is in one group of every target."""
    return sum(len(group.members) for group in next(iter(groups.values()), ()))


def _groups(human: Vector, scores: Array, made: dict[tuple[int, bytes], Array]) -> Iterator[RankGroup]:
    known = np.isfinite(scores) & np.isfinite(human)
    places: dict[bytes, list[int]] = {}
    for place, rows in enumerate(known):
        places.setdefault(np.packbits(rows).tobytes(), []).append(place)
    for pattern, own in places.items():
        rows, members = known[own[0]], np.array(own, dtype=np.int64)
        if (id(scores), pattern) not in made:
            made[id(scores), pattern] = _centred(scores[members][:, rows])
        yield RankGroup(members, rows, made[id(scores), pattern], _centred(human[None, rows])[0])


def _on(group: RankGroup, rows: Mask, scores: Array) -> Array:
    """The unit ranks of a group on some of its rows."""
    whole = len(group.people) == rows.sum()
    return _unit(group.ranks if whole else _centred(scores[group.members][:, rows]))


def _resampled(targets: Sequence[tuple[RankGroup, ...]], size: int, draws: int, rng: np.random.Generator) -> Array:
    """The targets of a dataset on resamples of its items: (draws, targets, submissions)."""
    n = len(targets[0][0].rows)
    squares = {id(group.ranks): _small(group.ranks) ** 2 for groups in targets for group in groups}

    def measure(batch: int, own: np.random.Generator) -> Array:
        counts = counts_of(n, batch, own)
        table, sums = np.full((batch, len(targets), size), np.nan), dict[int, tuple[Array, Array]]()
        for place, groups in enumerate(targets):
            for group in groups:
                if len(group.people) >= 3:
                    table[:, place, group.members] = _values(group, counts[:, group.rows], squares, sums)
        return table

    return in_blocks(measure, draws, BATCH, rng)


def _values(group: RankGroup, counts: Array, squares: dict[int, Array], sums: dict[int, tuple[Array, Array]]) -> Array:
    """Of each draw (B, rows) the value of each member (B, members)."""
    key, z, h = id(group.ranks), _small(group.ranks), _small(group.people[None])[0]
    if key not in sums:
        sums[key] = counts @ z.T, counts @ squares[key].T
    total = np.maximum(counts.sum(axis=1), 1)[:, None]
    mean, square = (part / total for part in sums[key])
    people, spread = (counts @ h)[:, None] / total, (counts @ h**2)[:, None] / total
    both = (counts * h) @ z.T / total
    return np.asarray((both - people * mean) / np.sqrt(_above(square - mean**2) * _above(spread - people**2)))


def _centred(values: Array) -> Array:
    centred: Array = ranks(values) - (values.shape[1] + 1) / 2
    return centred


def _unit(ranks: Array) -> Array:
    """Of length 1; NaN for a constant row."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(ranks / np.sqrt((ranks**2).sum(axis=1, keepdims=True)))


def _small(ranks: Array) -> Array:
    """Ranks of at most 1/2, by a power of two, so that no sum of squares is large."""
    return np.asarray(np.ldexp(ranks, -int(np.frexp(ranks.shape[1])[1])))


def _above(variance: Array) -> Array:
    return np.where(variance > LEAST, variance, np.nan)
