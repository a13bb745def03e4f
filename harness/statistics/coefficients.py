"""Correlations of metrics with people over the rows of a panel, each with its p.

    r       sum (x - mean x)(y - mean y) / sqrt(sum (x - mean x)^2 * sum (y - mean y)^2)
    rho     r of the ranks, ties sharing their mean rank (Spearman 1904; Kendall & Gibbons 1990, ch. 3)
    tau-b   (C - D) / sqrt((N - ties of people)(N - ties of metric)), of N pairs C ordered alike and D oppositely
    tau-c   2 (C - D) / (n^2 (m - 1) / m), m the smaller number of distinct values of the two sides (Stuart)
    partial (r_hm - r_hc r_mc) / sqrt((1 - r_hc^2)(1 - r_mc^2)), each r a rho (Fisher 1924); h human, m metric,
            c control: the correlation of the ranks after their linear dependence on the control's ranks, such as
            the length of the response, is removed from both

    pdp     sum (x - x')(y - y') / sqrt(sum (x - x')^2 * sum (y - y')^2), over all pairs of rows of the same context
            (pairwise difference Pearson; DiIanni & Deutsch 2025). Both orders of a pair count, so the mean difference
            is 0; each sum is twice the sum over contexts of n times the co-moment of the context's n rows

    auc     the share of pairs of a positive and a negative item in which the positive one has the higher score, ties
            half; ratings above the midpoint of the lowest and the highest are positive, those below it negative, and
            those at it do not count; from 0 to 1, chance is 0.5

Other values are from -1 to 1, higher is better; NaN where a side is constant. Values and two-sided p are those of scipy
with its defaults: r by the beta distribution, exact for normal data; rho by Student's t with n - 2 degrees of freedom,
a partial rho with n - 3; tau exact without ties if there are at most 33 rows or at most one pair breaks a perfect
order, else normal with the variance corrected for ties; tau-c has the p of tau-b, auc that of Mann and Whitney's test.
All assume independent rows. Departure: with at most 9 rows, p of rho is exact, as scipy's documentation advises.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

import numpy as np
import scipy

from harness.statistics.panel import Array, Panel, Vector, by_known_rows, why_undefined
from harness.statistics.ranks import ranks, standardised

Variant: TypeAlias = Literal["b", "c"]

TOLERANCE = 1e-12  # unexplained shares of variance, and deviations of standardised values, up to this size count as 0
MAX_EXACT_ROWS = 9  # largest number of rows for which p of rho is exact, also with ties; 9 rows have 362,880 orders


def pearson(panel: Panel) -> float:
    return float(pearsons(panel.human, panel.metric[None])[0])


def spearman(panel: Panel) -> float:
    return float(spearmans(panel.human, panel.metric[None])[0])


def kendall(panel: Panel, variant: Variant = "b") -> float:
    """Return Kendall's tau-b, or Stuart's tau-c for scales of different lengths, such as five ratings and any score."""
    if why_undefined(panel):
        return math.nan
    return float(_kendall(panel.human.tobytes(), panel.metric.tobytes(), variant)[0])


def kendall_p(_: float, panel: Panel, variant: Variant = "b") -> float:
    return float(_kendall(panel.human.tobytes(), panel.metric.tobytes(), variant)[1])


@functools.lru_cache(10)  # value and p need the same computation
def _kendall(human: bytes, metric: bytes, variant: Variant) -> Any:
    return scipy.stats.kendalltau(np.frombuffer(human), np.frombuffer(metric), variant=variant)


def pearsons(human: Array, metrics: Array) -> Vector:
    """Return Pearson's r of each row of scores (rows, n) with the ratings, (n,) for all rows or (rows, n)."""
    return _of_rows(human, metrics, lambda x, y: product_moments(standardised(x), standardised(y)))


def spearmans(human: Array, metrics: Array) -> Vector:
    return _of_rows(human, metrics, lambda x, y: product_moments(ranks(x), ranks(y)))


OF_ROWS: dict[str, Callable[[Array, Array], Vector]] = {"spearman": spearmans, "pearson": pearsons}
"""Statistics that are computed for many metrics at once."""


def where_known(human: Vector, metrics: Array, statistic: str = "spearman") -> Vector:
    """Return the statistic of each row of scores on the items that have a rating and a score; NaN if undefined."""
    values = np.full(len(metrics), math.nan)
    for rows, columns in by_known_rows(np.isfinite(metrics) & np.isfinite(human)):
        values[columns] = OF_ROWS[statistic](human[rows], metrics[columns][:, rows])
    return values


def _of_rows(human: Array, metrics: Array, coefficient: Callable[[Array, Array], Array]) -> Vector:
    """Apply the coefficient to the rows in which neither side is constant."""
    values = np.full(len(metrics), math.nan)
    if metrics.shape[1] >= 3:
        varies = (np.ptp(human, axis=-1) > 0) & (np.ptp(metrics, axis=-1) > 0)
        if varies.any():
            values[varies] = coefficient(human if human.ndim == 1 else human[varies], metrics[varies])
    return values


def point_biserial(panel: Panel) -> float:
    """Return Pearson's r with ratings of exactly two values; NaN for any other ratings."""
    return math.nan if why_not_binary(panel) else pearson(panel)


def why_not_binary(panel: Panel) -> str:
    distinct = len(np.unique(panel.human))
    return why_undefined(panel) or ("" if distinct == 2 else f"the ratings have {distinct} values, not two")


def pairwise_difference_pearson(panel: Panel) -> float:
    """Return the correlation of differences within contexts; NaN if a side is constant within every context."""
    if why_undefined(panel):
        return math.nan
    context = np.unique(panel.context, return_inverse=True)[1].ravel()
    sizes = np.bincount(context)
    sides = [side - (np.bincount(context, side) / sizes)[context]
             for side in map(standardised, (panel.human, panel.metric))]
    h, m = (np.where(np.abs(side) > TOLERANCE, side, 0.0) for side in sides)
    length = math.sqrt(sizes[context] @ h**2) * math.sqrt(sizes[context] @ m**2)
    return float(np.clip(sizes[context] @ (h * m) / length, -1.0, 1.0)) if length else math.nan


def roc_auc(panel: Panel) -> float:
    """Return the area under the ROC curve, for ratings such as safe or unsafe."""
    if why_undefined(panel):
        return math.nan
    positive, negative = _by_rating(panel)
    return float(scipy.stats.mannwhitneyu(positive, negative).statistic) / (len(positive) * len(negative))


def roc_auc_p(_: float, panel: Panel) -> float:
    return float(scipy.stats.mannwhitneyu(*_by_rating(panel)).pvalue)


def _by_rating(panel: Panel) -> tuple[Vector, Vector]:
    """Return the scores of positive and of negative items."""
    middle = round((panel.human.min() + panel.human.max()) / 2, 12)
    return panel.metric[panel.human > middle], panel.metric[panel.human < middle]


def partial(panel: Panel) -> float:
    """Return Spearman's rho given the control; NaN if the control explains a side completely."""
    if panel.control is None or why_not_partial(panel):
        return math.nan
    human, metric, control = (ranks(side) for side in (panel.human, panel.metric, panel.control))
    return partial_correlation(*(float(product_moments(*sides)) for sides in (
        (human, metric), (human, control), (metric, control))))


def why_not_partial(panel: Panel) -> str:
    if panel.control is None:
        return why_undefined(panel) or "no control is given"
    return why_undefined(panel) or (
        f"{panel.n} rows are too few for a control" if panel.n < 4 else
        "every value of the control is the same" if np.ptp(panel.control) == 0 else "")


def partial_correlation(both: float, human: float, metric: float) -> float:
    """Return the partial correlation, given the correlations of human and metric (`both`) and each with the control."""
    unexplained = (1 - human * human, 1 - metric * metric)
    if min(unexplained) < TOLERANCE:
        return math.nan
    return float(np.clip((both - human * metric) / math.sqrt(unexplained[0] * unexplained[1]), -1.0, 1.0))


def pearson_p(r: float, panel: Panel) -> float:
    """Return p of r: without correlation, (1 + r) / 2 has a beta distribution, both parameters being n / 2 - 1."""
    half = panel.n / 2 - 1
    return float(2 * scipy.special.betainc(half, half, (1 - abs(r)) / 2))


def spearman_p(rho: float, panel: Panel) -> float:
    """Return the share of all orders of the rows with a rho at least as far from 0; with more rows, Student's p."""
    if panel.n > MAX_EXACT_ROWS:
        return student_p(rho, panel.n - 2)
    human, metric = (ranks(side) - (panel.n + 1) / 2 for side in (panel.human, panel.metric))
    sums = _sums_of_all_orders(np.sort(human).tobytes(), np.sort(metric).tobytes())
    return float(np.mean(sums >= abs(human @ metric)))


@functools.lru_cache(10)  # columns without ties share the result
def _sums_of_all_orders(human: bytes, metric: bytes) -> Vector:
    """Return the absolute sum of products of centred ranks for every order of the rows; these sums are exact."""
    return np.abs(np.array(list(itertools.permutations(np.frombuffer(human)))) @ np.frombuffer(metric))


def student_p(rho: float, freedom: int) -> float:
    """Return p of t = rho sqrt(f / (1 - rho^2)) with f degrees of freedom."""
    if abs(rho) >= 1:
        return 0.0
    t = rho * math.sqrt(freedom / ((1 + rho) * (1 - rho)))
    return float(2 * scipy.special.stdtr(freedom, -abs(t)))


def product_moments(x: Array, y: Array) -> Array:
    """Return the correlations of vectors along the last axis; for ranks, perfect agreement is exactly 1."""
    x, y = x - x.mean(axis=-1, keepdims=True), y - y.mean(axis=-1, keepdims=True)
    return np.clip(_dot(x, y) / np.sqrt(_dot(x, x) * _dot(y, y)), -1.0, 1.0)


def _dot(x: Array, y: Array) -> Array:
    """Return the dot products of vectors along the last axis; each is rounded independently of other vectors."""
    products: Array = np.matmul(x[..., None, :], y[..., :, None])[..., 0, 0]
    return products
