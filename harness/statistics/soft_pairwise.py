"""Soft pairwise accuracy: whether a metric is as sure as people are that one system is better than another.

    SPA = 1 - mean over pairs of systems i < j of |p_human(i, j) - p_metric(i, j)|       Thompson et al. (2024)

p(i, j) is the one-sided p of a permutation test that system i is better than j. Systems that answered the same contexts
are compared on those, by swapping the two in random contexts; systems that share none, by dealing their rows anew.
Range 0 to 1, higher is better; 0.5 is what a p drawn at random has against people who are always sure.

Departure: a permutation that equals what was observed counts half, where the paper counts it whole. Then
p(j, i) = 1 - p(i, j), and the order of the systems is of no matter. People and metric meet the same permutations,
as in the authors' program, so that a metric that equals people has exactly 1.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from harness.statistics.panel import Array, Panel, Vector, undefined

ROUNDING = 1e-12
"""Sums of the same numbers in another order differ by less than this share of their absolute sum."""


def soft_pairwise_accuracy(panel: Panel, rng: np.random.Generator | None = None, draws: int = 1000) -> float:
    """Soft pairwise accuracy of a panel of items, 0 to 1, with `draws` permutations for each p.

    Its value varies with the generator by less than 1 / sqrt(draws), mostly by far less. Without one the permutations
    are those of seed 0, the same for every metric.
    """
    if why_not(panel):
        return math.nan
    apart = [abs(human - metric) for human, metric in _p_values(panel, rng or np.random.default_rng(0), draws)]
    return float(1 - np.mean(apart))


def why_not(panel: Panel) -> str:
    """Why there is no soft pairwise accuracy on this panel; empty where there is."""
    if not undefined(panel) and len(np.unique(panel.system)) < 2:
        return "there are fewer than two systems"
    return undefined(panel)


def _p_values(panel: Panel, rng: np.random.Generator, draws: int) -> Iterator[tuple[float, float]]:
    """One-sided p by people and by the metric, for each pair of systems."""
    human, metric = _means(panel, panel.human), _means(panel, panel.metric)  # (systems, contexts)
    swaps = rng.choice([-1.0, 1.0], size=(draws, human.shape[1]))
    systems = np.unique(panel.system)
    for i, j in zip(*np.triu_indices(len(systems), 1), strict=True):
        apart = np.stack([human[i] - human[j], metric[i] - metric[j]], axis=1)
        shared = np.isfinite(apart[:, 0])
        if shared.any():
            apart = apart[shared]
            yield _shares(swaps[:, shared] @ apart, apart.sum(axis=0), np.abs(apart).sum(axis=0))
        else:
            yield _dealt(panel.take(panel.system == systems[i]), panel.take(panel.system == systems[j]), rng, draws)


def _dealt(first: Panel, second: Panel, rng: np.random.Generator, draws: int) -> tuple[float, float]:
    """One-sided p of the difference of means, the rows of both systems being dealt to them at random."""
    values = np.stack([np.append(first.human, second.human), np.append(first.metric, second.metric)], axis=1)
    weights = np.repeat([1 / first.n, -1 / second.n], [first.n, second.n])
    dealt = rng.permuted(np.tile(weights, (draws, 1)), axis=1)
    values = values - values.mean(axis=0)
    return _shares(dealt @ values, weights @ values, np.abs(values).sum(axis=0))


def _shares(chance: Array, observed: Vector, size: Vector) -> tuple[float, float]:
    """The share of permutations above what was observed, equals counting half; for people and metric."""
    beyond = chance - observed
    equal = np.abs(beyond) <= ROUNDING * size
    human, metric = np.where(equal, 0.5, beyond > 0).mean(axis=0)
    return float(human), float(metric)


def _means(panel: Panel, values: Vector) -> Array:
    """The mean of each system in each context, NaN where it has none there: (systems, contexts)."""
    systems, system = np.unique(panel.system, return_inverse=True)
    contexts, context = np.unique(panel.context, return_inverse=True)
    place, size = system * len(contexts) + context, len(systems) * len(contexts)
    counts = np.bincount(place, minlength=size)
    sums = np.bincount(place, weights=values, minlength=size)
    means: Array = np.divide(sums, counts, out=np.full(size, math.nan), where=counts > 0)
    return means.reshape(len(systems), len(contexts))
