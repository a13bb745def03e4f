"""The table of statistics, and the estimate of each at each level: a value with its p and 95 % interval.

At the levels `items` and `over-systems` p is that of the coefficient, and the interval is Fisher's z where a variance
is known:

    z = artanh(value);   interval = tanh(z -+ q * sqrt(variance)),   q the normal quantile of 0.975

    Pearson    1 / (n - 3)                    Fisher (1921); assumes that both are normal
    Spearman   (1 + rho^2 / 2) / (n - 3)      Bonett & Wright (2000); holds up to |rho| = 0.95
    Kendall    0.437 / (n - 4)                Fieller, Hartley & Pearson (1957), Bonett & Wright (2000); |tau| < 0.8
    partial    as Spearman, with n - 1 for n, since one control costs one row (Fisher 1924)

All assume independent rows. Means within groups, pairwise accuracies and pairwise differences have neither p nor
interval. The bootstrap (bootstrap.py) gives an interval for every statistic, and is safer where rows share contexts or
ratings have few values.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import scipy

from harness.statistics import coefficients, pairwise
from harness.statistics.panel import LEVELS, Panel, Statistic, why_undefined

ITEMS = "items"

Variance: TypeAlias = Callable[[float, int], float]  # the variance of artanh(value) at n rows


@dataclass(frozen=True, slots=True)
class Estimate:
    """A value over `n` rows or systems; NaN with the reason in `note`. `epsilon` is the calibrated tie threshold."""

    value: float
    p: float
    low: float
    high: float
    n: int
    note: str = ""
    epsilon: float = math.nan


@dataclass(frozen=True, slots=True)
class NamedStatistic:
    """A statistic of the table; higher values are better.

    `p` takes the value and its panel; `variance` returns the variance of Fisher's z; `why_not` returns the reason for a
    missing value; `threshold` returns the tie threshold shared by all parts.
    """

    value: Statistic
    p: Callable[[float, Panel], float] | None = None
    variance: Variance | None = None
    why_not: Callable[[Panel], str] = why_undefined
    threshold: Callable[[Sequence[Panel]], float] | None = None


STATISTICS: dict[str, NamedStatistic] = {
    "spearman": NamedStatistic(coefficients.spearman, coefficients.spearman_p,
                               lambda rho, n: (1 + rho**2 / 2) / (n - 3)),
    "pearson": NamedStatistic(coefficients.pearson, coefficients.pearson_p, lambda r, n: 1 / (n - 3)),
    "kendall": NamedStatistic(coefficients.kendall, coefficients.kendall_p, lambda tau, n: 0.437 / (n - 4)),
    "kendall-c": NamedStatistic(functools.partial(coefficients.kendall, variant="c"),
                                functools.partial(coefficients.kendall_p, variant="c")),
    "point-biserial": NamedStatistic(coefficients.point_biserial, coefficients.pearson_p, lambda r, n: 1 / (n - 3),
                                     coefficients.why_not_binary),
    "roc-auc": NamedStatistic(coefficients.roc_auc, coefficients.roc_auc_p),
    "pairwise-accuracy": NamedStatistic(lambda panel: pairwise.calibrated(panel).value, why_not=pairwise.why_not,
                                        threshold=pairwise.threshold),
    "soft-pairwise-accuracy": NamedStatistic(pairwise.soft_pairwise_accuracy, why_not=pairwise.why_not_soft),
    "pairwise-difference-pearson": NamedStatistic(
        coefficients.pairwise_difference_pearson,
        why_not=lambda panel: why_undefined(panel) or "ratings or scores do not differ within any context"),
    "partial": NamedStatistic(coefficients.partial, lambda rho, panel: coefficients.student_p(rho, panel.n - 3),
                              lambda rho, n: (1 + rho**2 / 2) / (n - 4), coefficients.why_not_partial),
}

DEFAULT = ("spearman", "pearson", "kendall")  # statistics that every run computes


def fisher(value: float, n: int, variance: Variance) -> tuple[float, float]:
    """Return the 95 % interval around a correlation; its width is 0 at -1 and 1, and it is NaN below five rows."""
    if math.isnan(value) or n <= 4:
        return math.nan, math.nan
    if abs(value) >= 1:
        return value, value
    reach = float(scipy.special.ndtri(0.975)) * math.sqrt(variance(value, n))
    return math.tanh(math.atanh(value) - reach), math.tanh(math.atanh(value) + reach)


def full_name(statistic: str, level: str) -> str:
    """Return the name in the results: `spearman`, `spearman within-contexts`."""
    return statistic if level == ITEMS else f"{statistic} {level}"


def at_level(statistic: str, level: str) -> Statistic:
    return lambda panel: _value(STATISTICS[statistic], LEVELS[level](panel))[0]


def _value(entry: NamedStatistic, parts: Sequence[Panel]) -> tuple[float, float]:
    """Return the mean over the parts in which the statistic exists, and the tie threshold."""
    epsilon = entry.threshold(parts) if entry.threshold else math.nan
    statistic = functools.partial(pairwise.accuracy, epsilon=epsilon) if entry.threshold else entry.value
    values = [value for value in map(statistic, parts) if math.isfinite(value)]
    return float(np.mean(values)) if values else math.nan, epsilon


def estimate(panel: Panel, statistic: str, level: str = ITEMS, value: float | None = None) -> Estimate:
    """Return a statistic on a panel with p and 95 % interval; `value` is its value over items if already known."""
    entry, parts, epsilon = STATISTICS[statistic], LEVELS[level](panel), math.nan
    if value is None:
        value, epsilon = _value(entry, parts)
    if level.startswith("within"):
        note = f"no {level[7:-1]} has a value; {entry.why_not(panel)}".rstrip("; ") if math.isnan(value) else ""
        return Estimate(value, math.nan, math.nan, math.nan, panel.n, note, epsilon)
    (part,) = parts
    if math.isnan(value):
        note = ("" if level == ITEMS else "means of systems: ") + (entry.why_not(part) or "there is no value")
        return Estimate(math.nan, math.nan, math.nan, math.nan, part.n, note)
    low, high = fisher(value, part.n, entry.variance) if entry.variance else (math.nan, math.nan)
    return Estimate(value, entry.p(value, part) if entry.p else math.nan, low, high, part.n, "", epsilon)
