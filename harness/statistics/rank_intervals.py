"""Ranks of metrics, each with the interval in which it would lie on other items and other datasets.

A joint bootstrap: in each draw the datasets are drawn with replacement and, within each dataset drawn, its items or,
where they are known, its contexts whole (the same for all its qualities and all metrics, so that comparisons stay
paired). The ranking rule is applied to the
values so obtained; of all draws, the interval takes the percentiles of each metric's rank that were in fact reached
(Hall & Miller 2009, 'Using the bootstrap to quantify the authority of an empirical ranking', on its limits with ties).
A dataset drawn twice comes with two independent samples of its items. The same draws separate metrics: one is better
than another where it is ahead in at least 97.5 % of them; metrics that share a letter are not separated. A draw
in which a quality or a metric is constant gives no rank where that counts; intervals and letters leave it out alike.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeAlias, TypeVar

import numpy as np

from harness.statistics import significance
from harness.statistics.panel import Array, Codes, Vector, alike
from harness.statistics.ranks import lowest_ranks
from harness.statistics.resampled import Correlate, correlator

Name = TypeVar("Name", bound=Hashable)

BLOCK = 1 << 17
"""Draws × items that are looked at together; these stay in the processor's cache."""


@dataclass(frozen=True, slots=True)
class TargetScores:
    """One quality of a dataset: ratings (n,) and scores (metrics, n) of its items, NaN where missing.

    With `context`, which of them each item answers, contexts are drawn whole in place of items.
    """

    dataset: str
    human: Vector
    scores: Array
    context: Codes | None = None


@dataclass(frozen=True, slots=True)
class Ranks:
    """Each metric's rank, 1 the best, and the interval of it; NaN where the rule gives no value.

    Metrics that share one of their `letters` are not separated, by the draws or by the test that says which is
    `better`; "" where there is no value.
    """

    rank: Vector
    low: Vector
    high: Vector
    letters: tuple[str, ...]
    better: significance.Better


Rule: TypeAlias = Callable[[Sequence[Array]], Vector]
"""The metrics' values (metrics,) from those on each dataset's targets (targets, metrics); higher is better."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """Correlations on the targets of each dataset, on resamples of its items: (draws, targets, metrics).

    `places` (draws, datasets) says which datasets a draw holds. Every rule is applied to the same draws.
    """

    resampled: Sequence[Array]
    places: Codes

    def values(self, rule: Rule) -> Array:
        """The metrics' values under a rule in every draw: (draws, metrics)."""
        draws = len(self.places)
        return np.array([rule([self.resampled[dataset][(draw + place) % draws] for place, dataset in enumerate(row)])
                         for draw, row in enumerate(self.places)])

    def means(self) -> Array:
        """The means over the datasets of each draw of the means over their targets: (draws, metrics)."""
        draws = np.arange(len(self.places))
        within = np.array([np.ascontiguousarray(own.swapaxes(1, 2)).mean(axis=2) for own in self.resampled])
        return np.asarray(np.mean([within[datasets, (draws + place) % len(draws)]
                                   for place, datasets in enumerate(self.places.T)], axis=0))

    def error(self, rule: Rule) -> Vector:
        """The standard error of the metrics' values under a rule, the datasets being kept; a linear rule alone."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # a column without a value in any draw
            return np.asarray(np.nanstd(rule([own.swapaxes(0, 1) for own in self.resampled]), axis=0, ddof=1))


def correlations(targets: Sequence[TargetScores], statistic: str = "spearman") -> list[Array]:
    """The correlations on the targets of each dataset, on all items: (targets, metrics)."""
    return [_correlator(group, statistic)(np.ones((1, len(group[0].human))))[0] for group in by_dataset(targets)]


def drawn(targets: Sequence[TargetScores], rng: np.random.Generator, draws: int = 1000,
          statistic: str = "spearman") -> Drawn:
    """The targets on resamples of their items and of their datasets, one dataset at a time."""
    samples = [resampled(group, draws, statistic, rng) for group in by_dataset(targets)]
    return Drawn(samples, jointly(len(samples), draws, rng))


def jointly(datasets: int, draws: int, rng: np.random.Generator) -> Codes:
    """Which datasets each draw holds: (draws, datasets)."""
    return rng.integers(datasets, size=(draws, datasets))


def in_blocks(measure: Callable[[int, np.random.Generator], Array], draws: int, block: int,
              rng: np.random.Generator) -> Array:
    """What `measure` makes of so many draws at once, one block after the other, whatever the number of threads."""
    sizes = [min(block, draws - start) for start in range(0, draws, block)]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return np.concatenate(list(pool.map(measure, sizes, rng.spawn(len(sizes)))))


def counts_of(n: int, draws: int, rng: np.random.Generator) -> Array:
    """How often each of n items is drawn: (draws, n)."""
    flat = rng.integers(n, size=(draws, n)) + np.arange(draws)[:, None] * n
    return np.bincount(flat.ravel(), minlength=draws * n).reshape(draws, n).astype(np.float64)


def ranked(values: Vector, drawn: Array, level: float = 0.95, better: significance.Better | None = None) -> Ranks:
    """Rank metrics, with intervals and letters, by their values and those of every draw (draws, metrics).

    Without a test of which metric is `better`, the draws decide.
    """
    rank, ranks = ranks_of(values), ranks_of(drawn)
    low, high = np.where(np.isnan(rank), np.nan, _reached(ranks, ((1 - level) / 2, (1 + level) / 2)))
    better = ahead(ranks, (1 + level) / 2) if better is None else better
    return Ranks(rank, low, high, significance.letters(values, better), better)


def ahead(ranks: Array, share: float) -> significance.Better:
    """Which metric is ahead of which in at least this share of the draws that rank both; ranks as (draws, metrics)."""
    columns = np.ascontiguousarray(ranks.T, dtype=np.float32)  # which holds every rank
    wins = np.array([(column < columns).sum(axis=1) for column in columns])  # a NaN is ahead of none
    known = np.isfinite(ranks).astype(np.float64)
    both = known.T @ known
    return np.asarray((both > 0) & (wins >= np.ceil(np.round(share * both, 9))))


def by_dataset(targets: Sequence[TargetScores]) -> list[list[TargetScores]]:
    """The targets gathered by dataset, whose items they share."""
    groups: dict[str, list[TargetScores]] = {}
    for target in targets:
        groups.setdefault(target.dataset, []).append(target)
    return list(groups.values())


def resampled(group: Sequence[TargetScores], draws: int, statistic: str, rng: np.random.Generator) -> Array:
    """The targets of a dataset on resamples of its items or contexts: (draws, targets, metrics)."""
    n, context, correlate = len(group[0].human), group[0].context, _correlator(group, statistic)

    def measure(size: int, own: np.random.Generator) -> Array:
        if context is None:
            return correlate(counts_of(n, size, own))
        return correlate(np.ascontiguousarray(counts_of(int(context.max()) + 1, size, own)[:, context]))

    return in_blocks(measure, draws, max(1, BLOCK // max(1, n)), rng)


def _correlator(group: Sequence[TargetScores], statistic: str) -> Correlate:
    """What correlates the targets of a dataset on resamples; scores that several targets share are taken once."""
    places: dict[bytes, int] = {}
    at = np.array([[places.setdefault(row.tobytes(), len(places)) for row in target.scores] for target in group])
    each = correlator(np.array([target.human for target in group]),
                      np.array([np.frombuffer(row) for row in places]).reshape(len(places), -1), statistic)
    return lambda counts: each(counts)[:, np.arange(len(group))[:, None], at]


def ranks_of(values: Array) -> Array:
    """1 for the highest of a row; equals, to 12 decimals, share the best rank; NaN where there is no value."""
    return np.where(np.isnan(values), np.nan, lowest_ranks(-np.round(values, 12)))


def ranks_by_name(values: Mapping[Name, float]) -> dict[Name, int | None]:
    """Rank named values, 1 the highest; equals share a rank, and a missing value has none."""
    ranks = ranks_of(np.array(list(values.values()), dtype=np.float64))
    return {name: None if np.isnan(rank) else int(rank) for name, rank in zip(values, ranks, strict=True)}


def _reached(ranks: Array, shares: tuple[float, float]) -> Array:
    """The quantiles of each column that are some of its values: (shares, metrics); NaN where there is none."""
    quantiles = np.full((len(shares), ranks.shape[1]), np.nan)
    for rows, metrics in alike(np.isfinite(ranks).T):
        if rows.any():
            quantiles[:, metrics] = np.quantile(ranks[rows][:, metrics], shares, axis=0, method="inverted_cdf")
    return quantiles
