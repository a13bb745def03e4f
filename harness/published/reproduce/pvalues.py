"""The p-value that belongs to a printed correlation, two-sided, for what rounding leaves open."""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction
from itertools import combinations, permutations

from harness.published.reproduce.rounding import Number, exact

SIGNIFICANT = Decimal("0.05")
SMALL = 7
"""Up to this many, the test of Kendall's tau goes through all orders."""


def pearson_p(correlation: Number, n: int) -> Number:
    """By Student's t with n − 2 degrees of freedom, which papers also take for Spearman's correlation."""
    from scipy.special import stdtr

    def p(size: float) -> float:
        if size >= 1:
            return 0.0
        return float(2 * stdtr(n - 2, -size * math.sqrt((n - 2) / (1 - size * size))))

    return _falling(p, correlation)


def kendall_p(correlation: Number, n: int) -> Number:
    """Exact for a few, by the normal approximation without ties for many."""
    if n <= SMALL:
        pairs = math.comb(n, 2)
        discordant = round((1 - abs(correlation.value)) * pairs / 2)
        return exact(exact_tail(n, pairs - 2 * discordant))
    spread = math.sqrt(2 * (2 * n + 5) / (9 * n * (n - 1)))
    return _falling(lambda size: math.erfc(size / spread / math.sqrt(2)), correlation)


def exact_tail(n: int, surplus: int) -> Fraction:
    """The share of all orders of n with at least this surplus of concordant or discordant pairs."""
    sums = [sum(1 if order[i] < order[j] else -1 for i, j in combinations(range(n), 2))
            for order in permutations(range(n))]
    return Fraction(sum(abs(value) >= surplus for value in sums), len(sums))


def _falling(p: Callable[[float], float], correlation: Number) -> Number:
    low, high = sorted((abs(correlation.low), abs(correlation.high)))
    least = Fraction() if correlation.low < 0 < correlation.high else low
    return Number(*(Fraction(p(float(size))) for size in (abs(correlation.value), high, least)))
