"""Spearman of many submissions with people, and Williams' test of every pair of them, as arrays.

With C the centred ranks of the submissions (m, n) and h those of the ratings, rho = C h / √(Σ C² · Σ h²): products of
halves, exact below 2^53, so a value is the one that `harness run` gives the same scores. Every pair is one entry of a
matrix: 124,750 pairs of 500 submissions are one product, and no object each. Submissions that lack the same items are a
group and share their rows; of each two groups, the pairs are measured on the rows that both have.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np
import numpy.typing as npt
from scipy import stats

from harness.challenge.entries import Entries
from harness.challenge.ground import Cell, Ground
from harness.statistics.panel import Vector
from harness.statistics.williams import Array, Pairs, williams

Rows = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Submissions that have a score for the same rated items: their places, these rows, and centred ranks on them.

    `ranks` is (members, rows); it is one array for the qualities of a dataset that share scores and rows.
    """

    members: Pairs
    rows: Rows
    ranks: Array
    people: Vector

    def values(self) -> Vector:
        """Spearman of each member with people; NaN where it does not exist."""
        if len(self.people) < 3:
            return np.full(len(self.members), math.nan)
        with np.errstate(invalid="ignore", divide="ignore"):
            found = (self.ranks @ self.people) / np.sqrt((self.ranks**2).sum(axis=1) * (self.people @ self.people))
        return np.asarray(np.clip(found, -1, 1))


Groups = Mapping[Cell, tuple[Group, ...]]


@dataclass(frozen=True, slots=True, eq=False)
class Pairwise:
    """Every pair of submissions on one cell, [i, j] being i against j; `r` is their own correlation."""

    delta: Array
    t: Array
    p: Array
    r: Array
    n: Pairs


def grouped(ground: Ground, scores: Mapping[Cell, Array]) -> Groups:
    """The groups of each cell, (submissions, items) being its scores."""
    made: dict[tuple[int, bytes], Array] = {}
    return {cell: tuple(_groups(human, scores[cell], made)) for cell, human in humans(ground).items()}


def humans(ground: Ground) -> dict[Cell, Vector]:
    """The mean rating of each item by cell; NaN where there is none."""
    return {(one.name, judged.quality.name): judged.means for one in ground.fields for judged in one.judged}


def values(found: Groups, size: int) -> Array:
    """Spearman of every submission in every cell, (submissions, cells); NaN where none exists."""
    table = np.full((size, len(found)), math.nan)
    for place, groups in enumerate(found.values()):
        for group in groups:
            table[group.members, place] = group.values()
    return table


def every_pair(found: Groups, entries: Entries) -> Iterator[tuple[Cell, Pairwise]]:
    """Williams' test of every two entries in each cell, on the rows in which both scores and the rating are there."""
    for cell, groups in found.items():
        yield cell, _pairwise(groups, entries.scores[cell])


def mean_correlation(found: Mapping[Cell, Array]) -> Array:
    """The entries' own correlations: mean over the cells of each dataset, then over the datasets."""
    datasets: dict[str, list[Array]] = {}
    for (dataset, _), matrix in found.items():
        datasets.setdefault(dataset, []).append(matrix)
    return np.asarray(np.mean([np.mean(group, axis=0) for group in datasets.values()], axis=0))


def _groups(human: Vector, scores: Array, made: dict[tuple[int, bytes], Array]) -> Iterator[Group]:
    there = np.isfinite(scores) & np.isfinite(human)
    places: dict[bytes, list[int]] = {}
    for place, rows in enumerate(there):
        places.setdefault(np.packbits(rows).tobytes(), []).append(place)
    for pattern, own in places.items():
        rows, members = there[own[0]], np.array(own, dtype=np.int64)
        if (id(scores), pattern) not in made:
            made[id(scores), pattern] = _centred(scores[members][:, rows])
        yield Group(members, rows, made[id(scores), pattern], _centred(human[None, rows])[0])


def _pairwise(groups: tuple[Group, ...], scores: Array) -> Pairwise:
    size = len(scores)
    delta, t, p, r = (np.full((size, size), math.nan) for _ in range(4))
    n = np.zeros((size, size), dtype=np.int64)
    for one, other in combinations_with_replacement(groups, 2):
        rows = one.rows & other.rows
        if rows.sum() < 3:
            continue
        mine, others = _on(one, rows, scores), _on(other, rows, scores)
        people = _unit(_centred(one.people[None, rows[one.rows]]))[0]
        a, b, c = (mine @ people)[:, None], (others @ people)[None], np.clip(mine @ others.T, -1, 1)
        found, p_value = williams(a, b, c, int(rows.sum()))
        for block, sign, turn in ((np.ix_(one.members, other.members), 1, (0, 1)),
                                  (np.ix_(other.members, one.members), -1, (1, 0))):
            delta[block], t[block] = sign * (a - b).transpose(turn), sign * found.transpose(turn)
            p[block], r[block], n[block] = p_value.transpose(turn), c.transpose(turn), rows.sum()
    return Pairwise(delta, t, p, r, n)


def _on(group: Group, rows: Rows, scores: Array) -> Array:
    """The unit ranks of a group on some of its rows."""
    whole = len(group.people) == rows.sum()
    return _unit(group.ranks if whole else _centred(scores[group.members][:, rows]))


def _centred(values: Array) -> Array:
    return np.asarray(stats.rankdata(values, axis=1) - (values.shape[1] + 1) / 2)


def _unit(ranks: Array) -> Array:
    """Of length 1; NaN for a constant row."""
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(ranks / np.sqrt((ranks**2).sum(axis=1, keepdims=True)))
