"""Multiple comparisons: adjusted p-values, clusters of metrics, and letters.

With p(1) <= ... <= p(k) the p-values that exist (NaN stays NaN and does not count):

    Holm (1979)                     max over j <= i of min(1, (k - j + 1) p(j)); bounds the chance of any false finding
    Benjamini & Hochberg (1995)     min over j >= i of min(1, k p(j) / j); bounds the share of false findings
    Benjamini & Yekutieli (2001)    the same times 1 + 1/2 + ... + 1/k, for dependent tests too

Clusters of metrics, sorted by value, follow WMT's translation tasks: they are separated where every metric above is
significantly better than every metric below. By the rule of WMT's metrics task, a metric starts a new cluster if any
member of the current one is significantly better; a later member may then tie with one above. Letters are a compact
letter display (Piepho 2004): two metrics share a letter if and only if they are not significantly different. The
letters are a greedy cover by cliques from the best metric on (Gramm et al. 2007), which is not always the smallest.
"""

from __future__ import annotations

from collections.abc import Callable
from string import ascii_letters
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from harness.statistics.panel import Array, Vector

Better: TypeAlias = npt.NDArray[np.bool_]
"""[i, j] is True if metric i is significantly better than metric j."""


def holm(p: npt.ArrayLike) -> Array:
    """Adjust p-values by Holm's step-down method."""
    return _adjusted(p, lambda ordered, rank: np.maximum.accumulate((len(ordered) + 1 - rank) * ordered))


def benjamini_hochberg(p: npt.ArrayLike) -> Array:
    """Adjust p-values by the step-up method of Benjamini and Hochberg."""
    return _adjusted(p, lambda ordered, rank: np.minimum.accumulate((len(ordered) / rank * ordered)[::-1])[::-1])


def benjamini_yekutieli(p: npt.ArrayLike) -> Array:
    """Adjust p-values by the step-up method of Benjamini and Yekutieli, which allows any dependence."""
    return _adjusted(p, lambda ordered, rank: (1 / rank).sum() * np.minimum.accumulate(
        (len(ordered) / rank * ordered)[::-1])[::-1])


def over_pairs(p: Array, adjust: Callable[[Array], Array] = holm) -> Array:
    """Adjust a symmetric matrix of p-values: each pair counts once, the diagonal is unchanged."""
    above = np.triu_indices(len(p), 1)
    adjusted = p.copy()
    adjusted[above] = adjusted.T[above] = adjust(p[above])
    return adjusted


def clusters(values: Vector, better: Better, rule: str = "every") -> tuple[tuple[int, ...], ...]:
    """Return the metrics of each cluster, best first, by rule `every` or `wmt`; those without a value are left out."""
    order = _ranking(values)
    parts: list[tuple[int, ...]] = []
    start = 0
    for end in range(1, len(order) + 1):
        if end == len(order) or (better[order[start:end], order[end]].any() if rule == "wmt" else
                                 better[np.ix_(order[:end], order[end:])].all()):
            parts.append(tuple(order[start:end]))
            start = end
    return tuple(parts)


def cluster_numbers(values: Vector, better: Better, rule: str) -> tuple[int, ...]:
    """Return the cluster of each metric, 1 the best, 0 without a value."""
    numbers = np.zeros(len(values), dtype=np.int64)
    for number, members in enumerate(clusters(values, better, rule), start=1):
        numbers[list(members)] = number
    return tuple(numbers.tolist())


def letters(values: Vector, better: Better) -> tuple[str, ...]:
    """Return the letters of each metric, beginning with `a` for the best; empty without a value."""
    order = _ranking(values)
    similar = ~(better | better.T)[np.ix_(order, order)]
    covered = np.zeros_like(similar)
    groups: list[npt.NDArray[np.int64]] = []
    for row in range(len(order)):
        while (missing := np.flatnonzero(similar[row, row:] & ~covered[row, row:])).size:
            groups.append(_clique(row, row + int(missing[0]), similar))
            covered[np.ix_(groups[-1], groups[-1])] = True
    labels = [""] * len(values)
    for number, group in enumerate(groups):
        for member in group:
            labels[order[member]] += ascii_letters[number % 52] + "'" * (number // 52)
    return tuple(labels)


def _clique(row: int, other: int, similar: Better) -> npt.NDArray[np.int64]:
    """Extend two metrics to a clique: from the best on, add each metric that is similar to all members."""
    members, possible = {row, other}, similar[row] & similar[other]
    for metric in np.flatnonzero(possible):
        if possible[metric]:
            members.add(int(metric))
            possible = possible & similar[metric]
    return np.array(sorted(members))


def _ranking(values: Vector) -> list[int]:
    return [int(metric) for metric in np.argsort(-values, kind="stable") if np.isfinite(values[metric])]


def _adjusted(p: npt.ArrayLike, step: Callable[[Array, Array], Array]) -> Array:
    adjusted = np.array(p, dtype=np.float64)
    flat = adjusted.ravel()
    known = np.flatnonzero(~np.isnan(flat))
    order = known[np.argsort(flat[known], kind="stable")]
    if len(order):
        flat[order] = np.minimum(step(flat[order], np.arange(1.0, len(order) + 1)), 1)
    return flat.reshape(adjusted.shape)
