"""How well a metric agrees with people over the rows of a panel: the table of measures, each with p and interval.

Values and two-sided p-values are scipy's, as its functions give them by default:

    pearson, point-biserial   p by the beta distribution, exact for normal data (scipy.stats.pearsonr)
    spearman                  p by Student's t with n - 2 degrees of freedom (spearmanr); scipy has no exact one
    kendall, kendall-c        without ties, p exact up to 33 rows or beside perfect order; else normal, with the
                              variance corrected for ties (kendalltau); tau-c has tau-b's p
    partial-*                 p by Student's t with n - 3 degrees of freedom
    pairwise-accuracy, soft   no p of their own (NaN): compare them by permutation

All assume independent rows. The interval is Fisher's z (intervals.py) where a variance is known, else NaN; bootstrap.py
gives one for any measure.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from scipy import special, stats

from harness.statistics import intervals, pairwise, partial, soft
from harness.statistics.bootstrap import Resampled
from harness.statistics.intervals import Variance
from harness.statistics.panel import Panel, Statistic, Vector, undefined
from harness.statistics.product_moment import pearson, pearson_resampled, spearman, spearman_resampled


@dataclass(frozen=True, slots=True)
class Estimate:
    """A correlation; NaN throughout where `note` says why there is none."""

    value: float
    p: float
    low: float
    high: float
    note: str = ""


@dataclass(frozen=True, slots=True)
class Measure:
    """A measure of agreement; higher is better for all.

    `p` takes the value and its panel; `variance` is that of its Fisher z where known; `resampled` is the measure on
    many resamples at once where there is a faster way; `why_not` says why there is no value on a panel.
    """

    name: str
    title: str
    value: Statistic
    p: Callable[[float, Panel], float]
    variance: Variance | None = None
    resampled: Resampled | None = None
    why_not: Callable[[Panel], str] = undefined

    def with_p(self, given: Panel) -> tuple[float, float]:
        """The value and its p; NaN twice where there is no value."""
        value = self.value(given)
        return value, math.nan if math.isnan(value) else self.p(value, given)


def kendall(given: Panel) -> float:
    """Kendall's tau-b = (C - D) / sqrt((N - ties of people)(N - ties of metric)), N all pairs; -1 to 1."""
    return math.nan if undefined(given) else float(stats.kendalltau(given.human, given.metric).statistic)


def kendall_c(given: Panel) -> float:
    """Stuart's tau-c = 2 (C - D) / (n^2 (m - 1) / m), m the fewer distinct values of the two sides; -1 to 1.

    For scales of different length, such as five ratings and a continuous score, of which tau-b cannot reach 1.
    """
    return math.nan if undefined(given) else float(stats.kendalltau(given.human, given.metric, variant="c").statistic)


def point_biserial(given: Panel) -> float:
    """Pearson's r of scores with ratings of exactly two values, -1 to 1; NaN for any other ratings."""
    return math.nan if not_binary(given) else pearson(given)


def not_binary(given: Panel) -> str:
    """Why there is no point-biserial correlation; empty where there is."""
    distinct = len(np.unique(given.human))
    return undefined(given) or ("" if distinct == 2 else f"the ratings have {distinct} values, not two")


def pearson_p(r: float, given: Panel) -> float:
    """Two-sided p of r: (1 + r) / 2 has the beta distribution of n / 2 - 1 twice where there is no correlation."""
    half = given.n / 2 - 1
    return float(2 * special.betainc(half, half, (1 - abs(r)) / 2))


def spearman_p(rho: float, given: Panel) -> float:
    """Two-sided p of rho: t = rho sqrt((n - 2) / (1 - rho^2)) with n - 2 degrees of freedom."""
    if abs(rho) == 1:
        return 0.0
    freedom = given.n - 2
    t = rho * math.sqrt(freedom / ((1 + rho) * (1 - rho)))
    return float(2 * special.stdtr(freedom, -abs(t)))


def kendall_p(tau: float, given: Panel) -> float:
    """Two-sided p of tau-b; with ties C - D is normal, with variance as in Kendall & Gibbons (1990), chapter 4."""
    human, metric, n = _ties(given.human), _ties(given.metric), float(given.n)
    if not human[0] and not metric[0]:
        return float(stats.kendalltau(given.human, given.metric).pvalue)
    ordered, pairs = n * (n - 1), n * (n - 1) / 2
    score = tau * math.sqrt((pairs - human[0]) * (pairs - metric[0]))
    variance = ((ordered * (2 * n + 5) - human[2] - metric[2]) / 18 + 2 * human[0] * metric[0] / ordered
                + human[1] * metric[1] / (9 * ordered * (n - 2)))
    return float(2 * special.ndtr(-abs(round(score)) / math.sqrt(variance)))


def _ties(values: Vector) -> tuple[float, float, float]:
    """Over runs of t equal values: the sums of t(t - 1)/2, t(t - 1)(t - 2) and t(t - 1)(2t + 5)."""
    t = np.unique(values, return_counts=True)[1].astype(np.float64)
    two = t * (t - 1)
    return float(two.sum() / 2), float((two * (t - 2)).sum()), float((two * (2 * t + 5)).sum())


def _kendall_c_p(_: float, given: Panel) -> float:
    return float(stats.kendalltau(given.human, given.metric, variant="c").pvalue)


def _no_p(_: float, __: Panel) -> float:
    return math.nan


MEASURES: dict[str, Measure] = {measure.name: measure for measure in (
    Measure("spearman", "Spearman's ρ", spearman, spearman_p, intervals.spearman_variance, spearman_resampled),
    Measure("pearson", "Pearson's r", pearson, pearson_p, intervals.pearson_variance, pearson_resampled),
    Measure("kendall", "Kendall's τ-b", kendall, kendall_p, intervals.kendall_variance),
    Measure("kendall-c", "Stuart's τ-c", kendall_c, _kendall_c_p),
    Measure("point-biserial", "Point-biserial r", point_biserial, pearson_p, intervals.pearson_variance,
            why_not=not_binary),
    Measure("pairwise-accuracy", "Pairwise accuracy", pairwise.pairwise_accuracy, _no_p, why_not=pairwise.why_not),
    Measure("partial-pearson", "Partial r", partial.partial_pearson, partial.partial_p,
            intervals.with_control(intervals.pearson_variance), why_not=partial.why_not),
    Measure("partial-spearman", "Partial ρ", partial.partial_spearman, partial.partial_p,
            intervals.with_control(intervals.spearman_variance), why_not=partial.why_not),
)}
"""Each measure by name. To add one, add a function and a row."""

NAMES = ("spearman", "pearson", "kendall")
"""What a report holds unless more is asked for."""

STATISTICS: dict[str, tuple[Callable[[Panel], tuple[float, float]], Variance]] = {
    "spearman": (MEASURES["spearman"].with_p, intervals.spearman_variance),
    "pearson": (MEASURES["pearson"].with_p, intervals.pearson_variance),
    "kendall": (MEASURES["kendall"].with_p, intervals.kendall_variance),
}
"""Of each statistic of the report: value and p on a panel, and the variance of its Fisher z."""


def measures(rng: np.random.Generator) -> dict[str, Measure]:
    """The table with what needs randomness as well: soft pairwise accuracy of systems."""
    drawn = Measure("soft-pairwise-accuracy", "Soft pairwise accuracy", soft.soft_pairwise_accuracy(rng), _no_p,
                    why_not=soft.why_not)
    return {**MEASURES, drawn.name: drawn}


def estimate(given: Panel, statistic: str, table: Mapping[str, Measure] = MEASURES) -> Estimate:
    """The measure of that name on a panel, with its p and its 95 % interval."""
    measure = table[statistic]
    value, p = measure.with_p(given)
    if math.isnan(value):
        return Estimate(math.nan, math.nan, math.nan, math.nan, measure.why_not(given) or "there is no value")
    low, high = intervals.fisher(value, given.n, measure.variance) if measure.variance else (math.nan, math.nan)
    return Estimate(value, p, low, high)
