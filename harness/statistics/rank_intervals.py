"""Ranks of metrics, each with the interval in which it would lie on other items and other datasets.

A joint bootstrap: in each draw the datasets are drawn with replacement and, within each dataset drawn, its items (the
same items for all its qualities and all metrics, so that comparisons stay paired). The ranking rule is applied to the
cells so obtained; of all draws, the interval takes the percentiles of each metric's rank that were in fact reached
(Hall & Miller 2009, 'Using the bootstrap to quantify the authority of an empirical ranking', on its limits with ties).
A dataset drawn twice comes with two independent samples of its items. The same draws tell metrics apart: one is better
than another where it is ahead in at least 97.5 % of them; those that share a letter are not told apart.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

from harness.statistics import significance
from harness.statistics.panel import Statistic, Vector
from harness.statistics.resampled import Correlate, correlator
from harness.statistics.williams import Array

CELLS = 1 << 17
"""Draws × items that are looked at together; these stay in the processor's cache."""


@dataclass(frozen=True, slots=True)
class Cell:
    """One quality of a dataset: ratings (n,) and scores (metrics, n) of its items, NaN where missing."""

    dataset: str
    human: Vector
    scores: Array


@dataclass(frozen=True, slots=True)
class Ranks:
    """Each metric's rank, 1 the best, and the interval of it; NaN where the rule gives no value.

    Metrics that share one of their `letters` are not told apart by the draws; "" where there is no value.
    """

    rank: Vector
    low: Vector
    high: Vector
    draws: int
    letters: tuple[str, ...]


Rule = Callable[[Sequence[Array]], Vector]
"""The metrics' values (metrics,) from those of each dataset's cells (cells, metrics); higher is better."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """The cells of each dataset on resamples of its items, (draws, cells, metrics), and on all, (cells, metrics).

    `places` (draws, datasets) says which datasets a draw holds. Every rule is applied to the same draws.
    """

    resampled: Sequence[Array]
    whole: Sequence[Array]
    places: npt.NDArray[np.int64]

    def ranks(self, rule: Rule, level: float = 0.95) -> Ranks:
        """Ranks under a rule and their intervals."""
        draws = len(self.places)
        values = np.array([rule([self.resampled[dataset][(draw + place) % draws] for place, dataset in enumerate(row)])
                           for draw, row in enumerate(self.places)])
        return summarised(np.asarray(rule(self.whole)), values, level)


def rank_intervals(cells: Sequence[Cell], rule: Rule, rng: np.random.Generator, *, draws: int = 1000,
                   statistic: str | Statistic = "spearman", level: float = 0.95, over_datasets: bool = True) -> Ranks:
    """Ranks under a rule and their intervals, over items and (unless told not to) over datasets."""
    return drawn(cells, rng, draws=draws, statistic=statistic, over_datasets=over_datasets).ranks(rule, level)


def drawn(cells: Sequence[Cell], rng: np.random.Generator, *, draws: int = 1000,
          statistic: str | Statistic = "spearman", over_datasets: bool = True) -> Drawn:
    """The cells on resamples of their items and (unless told not to) of their datasets, one dataset at a time."""
    resampled, whole = [], []
    for group in _by_dataset(cells):
        n, correlates = len(group[0].human), [correlator(cell.human, cell.scores, statistic) for cell in group]
        resampled.append(_resampled(correlates, n, draws, rng))
        whole.append(np.vstack([correlate(np.ones((1, n))) for correlate in correlates]))
    number = len(whole)
    places = [rng.integers(number, size=number) if over_datasets else np.arange(number) for _ in range(draws)]
    return Drawn(resampled, whole, np.array(places).reshape(draws, number))


def summarised(values: Vector, drawn: Array, level: float = 0.95) -> Ranks:
    """Ranks with their intervals and letters, from the metrics' values and those of every draw (draws, metrics)."""
    rank, ranks = _ranks(values), np.array([_ranks(row) for row in drawn]).reshape(drawn.shape)
    low, high = (np.where(np.isnan(rank), np.nan, _reached(ranks, end)) for end in ((1 - level) / 2, (1 + level) / 2))
    return Ranks(rank, low, high, len(drawn), significance.letters(values, ahead(ranks, (1 + level) / 2)))


def _by_dataset(cells: Sequence[Cell]) -> list[list[Cell]]:
    found: dict[str, list[Cell]] = {}
    for cell in cells:
        found.setdefault(cell.dataset, []).append(cell)
    for name, group in found.items():
        if len({len(cell.human) for cell in group}) > 1:
            raise ValueError(f"{name}: its cells differ in their items; give each all items, NaN where unrated")
    return list(found.values())


def _resampled(correlates: Sequence[Correlate], n: int, draws: int, rng: np.random.Generator) -> Array:
    """The cells of a dataset on resamples of its items: (draws, cells, metrics), whatever the number of threads."""
    block = max(1, CELLS // max(1, n))
    sizes = [min(block, draws - start) for start in range(0, draws, block)]

    def measure(size: int, own: np.random.Generator) -> Array:
        counts = _counts(n, size, own)
        return np.stack([correlate(counts) for correlate in correlates], axis=1)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return np.concatenate(list(pool.map(measure, sizes, rng.spawn(len(sizes)))))


def _counts(n: int, draws: int, rng: np.random.Generator) -> Array:
    """How often each of n items is drawn: (draws, n)."""
    flat = rng.integers(n, size=(draws, n)) + np.arange(draws)[:, None] * n
    return np.bincount(flat.ravel(), minlength=draws * n).reshape(draws, n).astype(np.float64)


def ahead(ranks: Array, share: float) -> significance.Better:
    """Which metric is ahead of which in at least this share of the draws; ranks as (draws, metrics)."""
    wins = np.array([(column[:, None] < ranks).sum(axis=0) for column in ranks.T])  # a NaN is ahead of none
    return np.asarray(wins >= np.ceil(round(share * len(ranks), 9)))


def _ranks(values: npt.ArrayLike) -> Vector:
    """1 for the highest; equals, to 12 decimals, share the best rank; NaN where there is no value."""
    return np.asarray(stats.rankdata(-np.round(np.asarray(values, dtype=np.float64), 12), method="min",
                                     nan_policy="omit"))


def _reached(ranks: Array, share: float) -> Vector:
    """The quantile of each column that is one of its values; NaN where there is none."""
    found = np.full(ranks.shape[1], np.nan)
    for metric in np.flatnonzero(np.isfinite(ranks).any(axis=0)):
        there = ranks[:, metric]
        found[metric] = np.quantile(there[np.isfinite(there)], share, method="inverted_cdf")
    return found
