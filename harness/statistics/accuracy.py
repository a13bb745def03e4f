"""Tests of two accuracies: is one metric right more often than another?

Two metrics on the same items: McNemar's test (1947) of the b items that only the first gets right and the c items that
only the second does. Under the null hypothesis b is binomial with b + c trials and probability 1/2. For MANY or more
discordant items, (|b - c| - 1)² / (b + c), with Edwards' continuity correction (1948), is chi-squared with 1 degree of
freedom.

Two accuracies on different items, or of which only the counts are known: the chi-squared test of the table of right and
wrong, as Sai et al. (2020) report it for DEB,

    N (ad - bc)² / ((a+b)(c+d)(a+c)(b+d)),    1 degree of freedom.

It assumes independent samples and has less power on the same items, where McNemar's test is the right one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy

MANY = 25


@dataclass(frozen=True, slots=True)
class AccuracyTest:
    """Two accuracies, 0 to 1, and a two-sided test of their difference; NaN without items."""

    first: float = math.nan
    second: float = math.nan
    statistic: float = math.nan
    p: float = math.nan
    method: str = "none"


def mcnemar(first: npt.ArrayLike, second: npt.ArrayLike) -> AccuracyTest:
    """Test two metrics on the same items: 1 where right, 0 where wrong, NaN where not judged."""
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    judged = np.isfinite(a) & np.isfinite(b)
    a, b = a[judged], b[judged]
    if not len(a):
        return AccuracyTest()
    only_first, only_second = int((a > b).sum()), int((b > a).sum())
    discordant = only_first + only_second
    if discordant < MANY:
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
