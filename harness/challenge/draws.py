"""Values of many submissions on draws of the data: a joint bootstrap over datasets and, within each, over items.

As in `statistics.rank_intervals`, but for one approximation: ranks of scores and ratings are those among all items,
also within a draw. With w counting how often a draw holds each item, N = Σ w, z ranks of a submission and h of people,

    rho = (Σ w h z / N − Σ w h Σ w z / N²) / √(variance of z · variance of h under w / N)

so that each sum over all draws and submissions is a product of matrices. Those of z and z² serve every quality.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from harness.challenge.cells import Group, Groups
from harness.statistics.panel import Vector
from harness.statistics.williams import Array

BATCH = 64
"""Draws that are multiplied at once."""

LEAST = 1e-12
"""Variances below this are those of a constant."""


def drawn(found: Groups, size: int, draws: int, rng: np.random.Generator) -> Sequence[Sequence[Array]]:
    """The cells of the datasets of each draw: for every dataset drawn, (cells, submissions); nothing for no draws."""
    if not draws:
        return []
    datasets: dict[str, list[tuple[Group, ...]]] = {}
    for (dataset, _), groups in found.items():
        datasets.setdefault(dataset, []).append(groups)
    tables = [_resampled(cells, size, draws, rng) for cells in datasets.values()]
    number = len(tables)
    picked = rng.integers(number, size=(draws, number))
    return [[tables[dataset][(draw + place) % draws] for place, dataset in enumerate(row)]
            for draw, row in enumerate(picked.tolist())]


def _resampled(cells: Sequence[tuple[Group, ...]], size: int, draws: int, rng: np.random.Generator) -> Array:
    """The cells of a dataset on resamples of its items: (draws, cells, submissions), whatever the number of threads."""
    n = len(cells[0][0].rows)
    squares = {id(group.ranks): _small(group.ranks) ** 2 for groups in cells for group in groups}
    sizes = [min(BATCH, draws - start) for start in range(0, draws, BATCH)]

    def measure(batch: int, own: np.random.Generator) -> Array:
        flat = own.integers(n, size=(batch, n)) + np.arange(batch)[:, None] * n
        counts = np.bincount(flat.ravel(), minlength=batch * n).reshape(batch, n).astype(np.float64)
        table, sums = np.full((batch, len(cells), size), np.nan), dict[int, tuple[Array, Array]]()
        for place, groups in enumerate(cells):
            for group in groups:
                if len(group.people) >= 3:
                    table[:, place, group.members] = _values(group, counts[:, group.rows], squares, sums)
        return table

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return np.concatenate(list(pool.map(measure, sizes, rng.spawn(len(sizes)))))


def _values(group: Group, counts: Array, squares: dict[int, Array], sums: dict[int, tuple[Array, Array]]) -> Array:
    """Of each draw (B, rows) the value of each member (B, members)."""
    key, z, h = id(group.ranks), _small(group.ranks), _small(group.people[None])[0]
    if key not in sums:
        sums[key] = counts @ z.T, counts @ squares[key].T
    total = np.maximum(counts.sum(axis=1), 1)[:, None]
    mean, square = (one / total for one in sums[key])
    people, spread = (counts @ h)[:, None] / total, (counts @ h**2)[:, None] / total
    both = (counts * h) @ z.T / total
    return np.asarray((both - people * mean) / np.sqrt(_above(square - mean**2) * _above(spread - people**2)))


def _small(ranks: Array) -> Array:
    """Ranks of at most 1/2, by a power of two, so that no sum of squares is large."""
    return np.asarray(np.ldexp(ranks, -int(np.frexp(ranks.shape[1])[1])))


def _above(variance: Vector) -> Vector:
    return np.where(variance > LEAST, variance, np.nan)
