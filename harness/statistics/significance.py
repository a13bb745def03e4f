"""Multiple comparisons: adjusted p-values, clusters of metrics, and letters. Tests of two accuracies.

With p(1) <= ... <= p(k) the p-values that exist (NaN stays NaN and does not count):

    Holm (1979)                     max over j <= i of min(1, (k - j + 1) p(j)); bounds the chance of any false finding
    Benjamini & Hochberg (1995)     min over j >= i of min(1, k p(j) / j); bounds the share of false findings
    Benjamini & Yekutieli (2001)    the same times 1 + 1/2 + ... + 1/k, for dependent tests too

Clusters of metrics, sorted by value, follow WMT's translation tasks: they are separated where every metric above is
significantly better than every metric below. By the rule of WMT's metrics task, a metric starts a new cluster if any
member of the current one is significantly better; a later member may then tie with one above. Letters are a compact
letter display (Piepho 2004): two metrics share a letter if and only if they are not significantly different. The
letters are a greedy cover by cliques from the best metric on (Gramm et al. 2007), which is not always the smallest.

Two accuracies on the same items are compared by McNemar's test (1947) of the b items that only the first metric gets
right and the c items that only the second does. Under the null hypothesis b is binomial with b + c trials and
probability 1/2. From MIN_CHI_SQUARED discordant items on, (|b - c| - 1)² / (b + c), with Edwards' continuity correction
(1948), is chi-squared with 1 degree of freedom. On different items, or if only the counts are known, the chi-squared
test of the table of right and wrong, as Sai et al. (2020) report it for DEB, is

    N (ad - bc)² / ((a+b)(c+d)(a+c)(b+d)),    1 degree of freedom.

It assumes independent samples. On the same items it has less power than McNemar's test, which is then the right one.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from string import ascii_letters
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import scipy

from harness.statistics.panel import Array, Vector

MIN_CHI_SQUARED = 25  # discordant items from which McNemar's test uses the chi-squared distribution

Better: TypeAlias = npt.NDArray[np.bool_]  # [i, j] is True if metric i is significantly better than metric j


def holm(p: npt.ArrayLike) -> Array:
    return _adjusted(p, lambda ordered, rank: np.maximum.accumulate((len(ordered) + 1 - rank) * ordered))


def benjamini_hochberg(p: npt.ArrayLike) -> Array:
    return _adjusted(p, lambda ordered, rank: np.minimum.accumulate((len(ordered) / rank * ordered)[::-1])[::-1])


def benjamini_yekutieli(p: npt.ArrayLike) -> Array:
    return _adjusted(p, lambda ordered, rank: (1 / rank).sum() * np.minimum.accumulate(
        (len(ordered) / rank * ordered)[::-1])[::-1])


def over_pairs(p: Array, adjust: Callable[[Array], Array] = holm) -> Array:
    """Adjust a symmetric matrix of p-values: each pair counts once, the diagonal is unchanged."""
    above = np.triu_indices(len(p), 1)
    adjusted = p.copy()
    adjusted[above] = adjusted.T[above] = adjust(p[above])
    return adjusted


def clusters(values: Vector, is_better: Callable[[int, int], bool], rule: str = "every") -> tuple[int, ...]:
    """Return the cluster of each metric by rule `every` or `wmt`: 1 the best, 0 without a value.

    `is_better(i, j)` is only called for the pairs that decide.
    """
    order, numbers = _ranking(values), [0] * len(values)
    start, number = 0, 1
    for place, metric in enumerate(order):
        if place and (any(is_better(above, metric) for above in order[start:place]) if rule == "wmt" else
                      all(is_better(above, below) for above in order[:place][::-1] for below in order[place:])):
            start, number = place, number + 1
        numbers[metric] = number
    return tuple(numbers)


def letters(values: Vector, better: Better) -> tuple[str, ...]:
    """Return the letters of each metric, `a` for the best; empty without a value."""
    order = _ranking(values)
    similar = ~(better | better.T)[np.ix_(order, order)]
    covered = np.zeros_like(similar)
    groups: list[npt.NDArray[np.int64]] = []
    for row in range(len(order)):
        while (uncovered := np.flatnonzero(similar[row, row:] & ~covered[row, row:])).size:
            groups.append(_clique(row, row + int(uncovered[0]), similar))
            covered[np.ix_(groups[-1], groups[-1])] = True
    labels = [""] * len(values)
    for number, group in enumerate(groups):
        for member in group:
            labels[order[member]] += ascii_letters[number % 52] + "'" * (number // 52)
    return tuple(labels)


def _clique(row: int, other: int, similar: Better) -> npt.NDArray[np.int64]:
    """Extend two metrics to a clique by each metric, from the best on, that is similar to all members."""
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


@dataclass(frozen=True, slots=True)
class AccuracyTest:
    """Two accuracies, 0 to 1, and a two-sided test of their difference; NaN without items."""

    first: float = math.nan
    second: float = math.nan
    statistic: float = math.nan
    p: float = math.nan
    method: str = "none"


def mcnemar(first: npt.ArrayLike, second: npt.ArrayLike) -> AccuracyTest:
    """Test two metrics on the same items: 1 where right, 0 where wrong, NaN where missing."""
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    has_both = np.isfinite(a) & np.isfinite(b)
    a, b = a[has_both], b[has_both]
    if not len(a):
        return AccuracyTest()
    only_first, only_second = int((a > b).sum()), int((b > a).sum())
    discordant = only_first + only_second
    if discordant < MIN_CHI_SQUARED:
        statistic = float(min(only_first, only_second))
        p, method = min(1.0, 2 * scipy.special.bdtr(statistic, discordant, 0.5)), "McNemar, exact binomial"
    else:
        statistic = max(abs(only_first - only_second) - 1, 0) ** 2 / discordant
        p, method = scipy.special.chdtrc(1, statistic), "McNemar, chi-squared with continuity correction"
    return AccuracyTest(float(a.mean()), float(b.mean()), statistic, float(p), method)


def chi_squared(right: int, total: int, other_right: int, other_total: int) -> AccuracyTest:
    """Test two accuracies from independent items."""
    first, second = right / total if total else math.nan, other_right / other_total if other_total else math.nan
    if not total or not other_total:
        return AccuracyTest(first, second, method="chi-squared")
    difference = right * (other_total - other_right) - other_right * (total - right)
    product = total * other_total * (right + other_right) * (total + other_total - right - other_right)
    statistic = (total + other_total) * difference**2 / product if product else 0.0
    return AccuracyTest(first, second, statistic, float(scipy.special.chdtrc(1, statistic)), "chi-squared")
