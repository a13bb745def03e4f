"""Is one metric right more often than another? Tests of two accuracies.

Two metrics on the same items: McNemar's test (1947), of the b items that only the first has right and the c that only
the second has. Under the hypothesis b is binomial of b + c with probability 1/2; from MANY discordant items on, with
Edwards' continuity correction (1948), (|b - c| - 1)² / (b + c) is chi-squared with 1 degree of freedom.

Two accuracies of which only the counts are known, or of different items: the chi-squared test of the table of right and
wrong, as Sai et al. (2020) report it for DEB,

    N (ad - bc)² / ((a+b)(c+d)(a+c)(b+d)),    1 degree of freedom.

It assumes independent samples. On the same items it wastes what the pairing tells, and McNemar's test is the right one.
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
    """Both accuracies, 0 to 1, and whether they differ; `method` says which test it was. NaN without items."""

    first: float
    second: float
    statistic: float
    p: float
    method: str


def mcnemar(first: npt.ArrayLike, second: npt.ArrayLike) -> AccuracyTest:
    """Two-sided test of two metrics on the same items: 1 where right, 0 where wrong, NaN where not judged."""
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    judged = np.isfinite(a) & np.isfinite(b)
    a, b = a[judged], b[judged]
    if not np.isin([a, b], [0, 1]).all():
        raise ValueError("an item is right (1), wrong (0) or not judged (NaN)")
    if not len(a):
        return AccuracyTest(math.nan, math.nan, math.nan, math.nan, "none")
    only_first, only_second = int((a > b).sum()), int((b > a).sum())
    few, discordant = min(only_first, only_second), only_first + only_second
    if discordant < MANY:
        p = min(1.0, float(2 * scipy.special.bdtr(few, discordant, 0.5)))
        return AccuracyTest(float(a.mean()), float(b.mean()), float(few), p, "McNemar, exact binomial")
    statistic = max(abs(only_first - only_second) - 1, 0) ** 2 / discordant
    return AccuracyTest(float(a.mean()), float(b.mean()), statistic, float(scipy.special.chdtrc(1, statistic)),
                        "McNemar, chi-squared with continuity correction")


def chi_squared(right: int, of: int, other_right: int, other_of: int) -> AccuracyTest:
    """Test of two accuracies from independent items."""
    if not (0 <= right <= of and 0 <= other_right <= other_of):
        raise ValueError(f"{right} of {of} and {other_right} of {other_of} are not accuracies")
    if not of or not other_of:
        return AccuracyTest(right / of if of else math.nan, other_right / other_of if other_of else math.nan,
                            math.nan, math.nan, "chi-squared")
    total = of + other_of
    apart = abs(right * (other_of - other_right) - other_right * (of - right))
    below = of * other_of * (right + other_right) * (total - right - other_right)
    statistic = total * apart**2 / below if below else 0.0
    return AccuracyTest(right / of, other_right / other_of, statistic, float(scipy.special.chdtrc(1, statistic)),
                        "chi-squared")
