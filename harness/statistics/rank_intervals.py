"""Ranks with bootstrap intervals that generalise to other items and other datasets.

A joint bootstrap: each draw takes datasets with replacement and, within each of them, items or whole contexts, the same
for all qualities and metrics of a dataset, so that comparisons stay paired. Metrics are ranked in each draw by the
weighted mean of their correlations over targets; the interval of a rank is given by its percentiles over the draws
(Hall & Miller 2009, 'Using the bootstrap to quantify the authority of an empirical ranking', discuss its limits when
there are ties). A dataset drawn twice contributes two independent samples of its items. By default, a metric is better
than another if it is ahead in at least 97.5 % of the draws. In draws in which a metric or a quality is constant, the
metric has no rank; such draws are ignored for it.
"""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from harness.statistics import significance
from harness.statistics.bootstrap import Correlate, correlator
from harness.statistics.panel import Array, Codes, Mask, Vector
from harness.statistics.ranks import lowest_ranks

Name = TypeVar("Name", bound=Hashable)

CONFIDENCE = 0.95
DIGITS = 12  # decimals to which values are rounded before ties are determined
BLOCK = 1 << 17  # draws × items per block, small enough for the CPU's cache


@dataclass(frozen=True, slots=True)
class TargetScores:
    """Ratings (n,), scores (metrics, n), NaN if missing, and contexts of a dataset's items on one quality.

    All items of a context are drawn, or swapped, together.
    """

    dataset: str
    human: Vector
    scores: Array
    context: Codes

    @property
    def contexts(self) -> int:
        return int(self.context.max(initial=-1)) + 1

    @property
    def rated(self) -> Mask:
        """The contexts with a rating."""
        rated = np.zeros(self.contexts, dtype=np.bool_)
        rated[self.context[np.isfinite(self.human)]] = True
        return rated


@dataclass(frozen=True, slots=True)
class Rank:
    """A rank (1 is the best, None without a value), with draws its interval, with tests its letters and cluster.

    Metrics that share one of their `letters` are not significantly different; the best `cluster` is 1.
    """

    value: float
    rank: int | None
    low: float = math.nan
    high: float = math.nan
    letters: str = ""
    cluster: int = 0


def rank(values: Mapping[Name, float], drawn: Array | None = None, better: significance.Better | None = None,
         clusters: str = "every") -> dict[Name, Rank]:
    """Rank named values, the highest first; values equal to DIGITS decimals share a rank.

    `drawn` are the values in each draw (draws, metrics). Letters and clusters follow from `better`, by default from
    the draws. `clusters` is a rule of `significance.clusters`.
    """
    table = np.array(list(values.values()), dtype=np.float64)
    columns = [table.tolist(), [None if math.isnan(place) else int(place) for place in _ranks(table).tolist()]]
    ends = np.full((2, len(table)), math.nan)
    if drawn is not None:
        ranks_drawn = _ranks(drawn)
        better = ahead(ranks_drawn) if better is None else better
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a column without a rank in any draw
            ends = np.nanquantile(ranks_drawn, ((1 - CONFIDENCE) / 2, (1 + CONFIDENCE) / 2), axis=0,
                                  method="inverted_cdf")
    columns += np.where(np.isnan(table), np.nan, ends).tolist()
    if better is not None:
        columns += [significance.letters(table, better), significance.clusters(table, better.item, clusters)]
    return {name: Rank(*row) for name, *row in zip(values, *columns, strict=True)}


@dataclass(frozen=True, slots=True)
class Drawn:
    """Correlations on the targets of each dataset, on resamples of its items: (draws, targets, metrics).

    `datasets` (draws, datasets) are the datasets of each draw. All ranking rules share these draws.
    """

    resampled: Sequence[Array]
    datasets: Codes

    @classmethod
    def jointly(cls, resampled: Sequence[Array], rng: np.random.Generator) -> Drawn:
        return cls(resampled, rng.integers(len(resampled), size=(len(resampled[0]), len(resampled))))

    def means(self, weights: Vector) -> Array:
        """Return the means of each draw, weighted by target: (draws, metrics)."""
        draws = np.arange(len(self.datasets))
        sums = np.array(list(self._sums(weights)))
        totals = np.array([part.sum() for part in self._by_dataset(weights)])[self.datasets].sum(axis=1)
        drawn = np.sum([sums[datasets, (draws + index) % len(draws)] for index, datasets in enumerate(self.datasets.T)],
                       axis=0)
        return np.asarray(drawn / np.where(totals > 0, totals, np.nan)[:, None])  # all drawn targets may have weight 0

    def error(self, weights: Vector) -> Vector:
        """Return the standard error of the weighted means with the datasets fixed."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a column without a value in any draw
            return np.asarray(np.nanstd(np.sum(list(self._sums(weights)), axis=0) / weights.sum(), axis=0, ddof=1))

    def _sums(self, weights: Vector) -> list[Array]:
        """Return the weighted sums over the targets of each dataset: (draws, metrics)."""
        return [part @ values for part, values in zip(self._by_dataset(weights), self.resampled, strict=True)]

    def _by_dataset(self, weights: Vector) -> list[Vector]:
        return np.split(weights, np.cumsum([values.shape[1] for values in self.resampled])[:-1])


def drawn(targets: Sequence[TargetScores], rng: np.random.Generator, draws: int = 1000) -> Drawn:
    groups: dict[str, list[TargetScores]] = {}
    for target in targets:
        groups.setdefault(target.dataset, []).append(target)
    return Drawn.jointly([resampled(group, draws, rng) for group in groups.values()], rng)


def ahead(ranks: Array, share: float = (1 + CONFIDENCE) / 2) -> significance.Better:
    """Return a matrix, True where metric i is ahead of metric j in at least `share` of the draws that rank both."""
    columns = np.ascontiguousarray(ranks.T, dtype=np.float32)  # exact for ranks
    wins = np.array([(column < columns).sum(axis=1) for column in columns])  # NaN is never ahead
    known = np.isfinite(ranks).astype(np.float64)
    both = known.T @ known
    return np.asarray((both > 0) & (wins >= np.ceil(np.round(share * both, 9))))


def resampled(group: Sequence[TargetScores], draws: int, rng: np.random.Generator) -> Array:
    """Return Spearman correlations on resamples of the rated contexts of a dataset: (draws, targets, metrics).

    The result does not depend on the number of threads.
    """
    rows = np.any([np.isfinite(target.human) for target in group], axis=0)
    context = np.unique(group[0].context[rows], return_inverse=True)[1].ravel()
    group = [TargetScores(target.dataset, target.human[rows], target.scores[:, rows], context) for target in group]
    units, correlate = group[0].contexts, _correlator(group)

    def measure(size: int, block_rng: np.random.Generator) -> Array:
        flat = block_rng.integers(units, size=(size, units)) + np.arange(size)[:, None] * units
        counts = np.bincount(flat.ravel(), minlength=size * units).reshape(size, units).astype(np.float64)
        return correlate(np.ascontiguousarray(counts[:, context]))

    block = max(1, BLOCK // max(1, len(group[0].human)))
    sizes = [min(block, draws - start) for start in range(0, draws, block)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return np.concatenate(list(pool.map(measure, sizes, rng.spawn(len(sizes)))))


def _correlator(group: Sequence[TargetScores]) -> Correlate:
    """Return the function that correlates the targets of a dataset; equal rows of scores are processed once."""
    index: dict[bytes, int] = {}
    rows = np.array([[index.setdefault(row.tobytes(), len(index)) for row in target.scores] for target in group])
    distinct = np.array([np.frombuffer(row) for row in index]).reshape(len(index), -1)
    correlate = correlator(np.array([target.human for target in group]), distinct, "spearman")
    return lambda counts: correlate(counts)[:, np.arange(len(group))[:, None], rows]


def _ranks(values: Array) -> Array:
    """Rank each row, 1 being the highest value; ties share the best rank, NaN stays NaN."""
    return np.where(np.isnan(values), np.nan, lowest_ranks(-np.round(values, DIGITS)))
