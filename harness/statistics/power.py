"""Power: the smallest difference that can be detected, and the contexts and raters needed to detect a difference.

    error²      V / m for m contexts; V is m times the variance of a difference, estimated from whole contexts
    power       P(|t| > t(.975)) of a non-central t with m - 1 degrees of freedom and non-centrality difference / error
    detectable  the difference with a power of 80 %;  needed: the fewest contexts with a power of 80 %
    raters      reliability of the mean of s times as many votes: R' = s R / (1 + (s - 1) R) (Spearman 1910, Brown 1910)

The difference is between two columns' correlations with people (its parts by context: ranks.py) or between two systems'
mean ratings (prediction.py, without scores). With another number of raters:

    columns     r becomes r √(R' / R); V becomes (V_rows + (V - V_rows) R' / R) g' / g, V_rows by single items, since
                raters err independently, and g the variance of r12 - r13 for normal data (Olkin & Siotani 1976).
                Differences are stated for the data's raters, so V is also divided by R' / R
    systems     the raters' part of V, estimated by the share 1 - R of the variance of ratings, is divided by s

Verdicts on correlations are by PERM-BOTH, which establishes nothing on fewer than MIN_CONTEXTS contexts: there, their
power is 0.

Predictions are for contexts with as many items as those of the data, and for raters like those of the data, different
raters for each item.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass, replace

import numpy as np
import scipy

from harness.statistics.panel import Array, Codes, Vector, sums
from harness.statistics.pooled import MIN_CONTEXTS
from harness.statistics.prediction import means
from harness.statistics.ranks import spearman_influence
from harness.statistics.reliability import PeopleAgreement, stepped_up
from harness.statistics.williams import correlation_matrix

ALPHA, POWER = 0.05, 0.8
MAX_CONTEXTS = 1_000_000  # a difference that needs more contexts counts as undetectable
CERTAIN = 30
"""Non-centrality above which the power is taken as 1, since scipy may return NaN; the lower tail may be NaN earlier."""

TYPICAL_SPREAD = 1.7
"""Variance of a difference of correlations, times the number of items: the median over real ratings is 1.77."""
LARGE_DIFFERENCE = 0.5  # a difference of correlations that is larger than those between most metrics


@dataclass(frozen=True, slots=True)
class Contrast:
    """A difference and its V, `spread`; for correlations V_rows, `rows`; for means the raters' part of V, `noise`."""

    difference: float
    spread: float
    rows: float = math.nan
    correlations: tuple[float, float, float] | None = None
    noise: float = 0.0

    @property
    def least(self) -> int:
        """The fewest contexts on which a difference can be significant."""
        return MIN_CONTEXTS if self.correlations else 2

    def at(self, reliability: float, times: float) -> Contrast:
        """Return the contrast with `times` as many raters, given the reliability with the data's raters.

        Its `spread` is NaN if the raters' part, estimated from all ratings, is not below the spread of this pair.
        """
        if times == 1 or not self.spread > 0:
            return self
        if self.correlations is None:
            return replace(self, spread=self.spread - self.noise * (1 - 1 / times)
                           if self.noise < self.spread else math.nan)
        ratio = stepped_up(PeopleAgreement(reliability, 0), times).value / reliability
        first, second, between = self.correlations
        if (normal := _normal_spread(*self.correlations)) <= 0:  # columns that order the items identically
            return self
        scaled = first * math.sqrt(ratio), second * math.sqrt(ratio), between
        spread = (self.rows + (self.spread - self.rows) * ratio) * _normal_spread(*scaled) / normal
        return replace(self, spread=spread / ratio if spread > 0 else math.nan)

    def power(self, contexts: int) -> float:
        """Return the probability that the difference is significant at 5 % on this many contexts like these."""
        if not self.spread > 0:
            return math.nan
        if contexts < self.least:
            return 0.0
        limit = scipy.special.stdtrit(contexts - 1, 1 - ALPHA / 2)
        shift = abs(self.difference) / math.sqrt(self.spread / contexts)
        below, above = (scipy.special.nctdtr(contexts - 1, shift, end) for end in (-limit, limit))
        return 1.0 if shift > CERTAIN else float(np.nan_to_num(below) + 1 - above)

    def needed(self) -> float:
        """Return the fewest contexts with a power of 80 %; infinite beyond MAX_CONTEXTS, NaN for an unknown spread."""
        if math.isnan(self.spread) and self.difference:
            return math.nan
        counts, size = range(self.least, MAX_CONTEXTS + 1), abs(self.difference)
        index = bisect_left(counts, True, key=lambda contexts: self.detectable(contexts) <= size)
        return counts[index] if size and index < len(counts) else math.inf

    def detectable(self, contexts: int) -> float:
        return detectable(self.spread, contexts, self.least)


def detectable(spread: float, contexts: int, least: int = 2) -> float:
    """Return the difference that is significant at 5 % with a power of 80 %, infinite below `least` contexts."""
    if contexts < least:
        return math.inf + spread  # NaN if `spread` is NaN
    limit = scipy.special.stdtrit(contexts - 1, 1 - ALPHA / 2)
    return float(scipy.special.nctdtrinc(contexts - 1, 1 - POWER, limit)) * math.sqrt(spread / contexts)


@dataclass(frozen=True, slots=True)
class Contrasts:
    """The contrasts of each pair of columns or systems; `spread` is V, `rows` and `between` exist for columns only."""

    values: Vector
    spread: Array
    rows: Array | None = None
    between: Array | None = None
    noise: Array | None = None

    def pair(self, first: int, second: int) -> Contrast:
        difference, spread = float(self.values[first] - self.values[second]), float(self.spread[first, second])
        if self.rows is None or self.between is None:
            return Contrast(difference, spread, noise=math.nan if self.noise is None else float(
                self.noise[first, second]))
        correlations = float(self.values[first]), float(self.values[second]), float(self.between[first, second])
        return Contrast(difference, spread, float(self.rows[first, second]), correlations)


def of_columns(human: Vector, scores: Array, unit: Codes) -> Contrasts:
    """Return the contrasts of columns' Spearman correlations; no rating or score (columns, items) may be missing."""
    r, influence = spearman_influence(scores, human)
    by_unit = sums(influence, np.unique(unit, return_inverse=True)[1])
    size = by_unit.shape[1]
    return Contrasts(r, _squares(by_unit) * size**2 / max(size - 1, 1), _squares(influence) * size,
                     correlation_matrix(scores, "spearman"))


def of_systems(human: Vector, system: Codes, unit: Codes, reliability: float = math.nan) -> Contrasts:
    """Return the contrasts of systems' mean ratings; no rating may be missing."""
    systems = means(human, None, system, unit)
    size, counts = len(systems.contributions), np.bincount(system)
    noise = (1 - reliability) * human.var() * size * (1 / counts[:, None] + 1 / counts)
    return Contrasts(systems.values, _squares(systems.corrected.T) * size, noise=noise)


def detectable_text(items: int, contexts: int, difference: float | None = None, compared: str = "correlations",
                    unit: str = "context") -> str:
    """State the difference that can be detected, by default a difference of correlations with a typical variance."""
    if difference is None:
        difference = detectable(TYPICAL_SPREAD * contexts / max(items, 1), contexts, MIN_CONTEXTS)
    source = f"{items} item{'s' * (items != 1)}"
    if contexts < items:
        source += f" from {contexts} {unit}{'s' * (contexts != 1)}"
    if not math.isfinite(difference) or (compared == "correlations" and difference >= 1):
        return f"{source} {'is' if items == 1 else 'are'} too few to tell {compared} apart"
    only_large = "only " if compared == "correlations" and difference >= LARGE_DIFFERENCE else ""
    return f"{source} can {only_large}tell {compared} {difference:.2g} apart".replace(" 0.", " .")


def _squares(parts: Array) -> Array:
    """Return the sum of squared differences of each pair of rows."""
    products = parts @ parts.T
    squares = np.diag(products)
    return np.asarray(np.maximum(squares[:, None] + squares - 2 * products, 0.0))


def _normal_spread(r12: float, r13: float, r23: float) -> float:
    """Return n times the variance of r12 - r13 for normal data."""
    shared = r23 * (1 - r12 * r12 - r13 * r13) - r12 * r13 * (1 - r12 * r12 - r13 * r13 - r23 * r23) / 2
    return (1 - r12 * r12) ** 2 + (1 - r13 * r13) ** 2 - 2 * shared
