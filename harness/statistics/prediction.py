"""Mean ratings of systems from few ratings and many scores: prediction-powered inference with a tuned weight (PPI++).

With y the ratings and f the scores of n rated items, g the scores of N others (Angelopoulos, Duchi & Zrnic 2023):

    mean     ȳ + w (ḡ - f̄),   w = b / (1 + n / N),   b = cov(y, f) / var(f and g)
    error²   Σ (u / h)² over contexts, or conversations,   u the sum over a context's items of
             (y - ȳ - w (f - f̄)) / n   or   w (g - ḡ) / N,   with w estimated from the other contexts
             h = (1 - n_context / n)^((1 + s) / 2), s the share of this system in all ratings, or 0 where w is 0;
             CR2 without a slope, CR3 for one system with it (Bell & McCaffrey 2002)
    ends     of the interval: x with (mean - x)² = t² error² (x - low)(high - x) / ((mean - low)(high - mean))

The slope b is estimated within systems and shared by them, so it needs few ratings of each; since it is a slope, scores
need not be on the rating scale. The quantile t has n² / Σ n_context² - 1 degrees of freedom, fewer if contexts differ
in size; the slope costs s of them where w is not 0, unless less than 1 would be left. For one system whose items share
no contexts, mean, weight and Σ u² with the w of all are those of `ppi-python`, except that the weight is not limited to
0 to 1. w is 0 if scores would increase t times the error. This happens if scores correlate with ratings within contexts
but not between them, or if contexts are so few that estimating the slope costs more than it gains.

The ends are those of Wilson (1927) for ratings of two values, and extend his variance to other bounded scales: means
near an end of the scale have a skewed distribution, for which the coverage of a symmetric interval is too low. With
fewer than MIN_RATINGS ratings, the interval is symmetric; for a mean at an end of the scale, also, but cut off there.
Items are treated as a sample: the mean of the population from which they were drawn is estimated.

The worth of a metric is the number of ratings that one rating together with plentiful scores replaces: with weight l,
the variance of the estimate is that of y - l f over the rated items of the system, so

    worth = Σ (y - ȳ)² / Σ (y - ȳ - l (f - f̄))²,   means by system

which is 1 / (1 - r²) for the best l, r being Pearson's correlation within systems. Here l is 0 or more and tuned on the
other contexts, so a useless metric is worth slightly less than 1. The 95 % interval is that of r by Fisher's z, with
the standard error from the influence of whole contexts; a negative r counts as 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from harness.statistics.panel import Array, Codes, Mask, Vector, centred, sums
from harness.statistics.ranks import pearson_influence, standardised
from harness.statistics.significance import over_pairs

MIN_RATINGS = 10  # with fewer ratings, their range says too little about the scale


@dataclass(frozen=True, slots=True)
class Means:
    """The mean rating of each system; NaN without ratings.

    `contributions` (contexts, systems) has u with the w of all contexts, `corrected` has u / h.
    """

    values: Vector
    weights: Vector
    contributions: Array
    corrected: Array
    degrees_of_freedom: Vector
    scale: tuple[float, float] | None

    @property
    def intervals(self) -> tuple[Vector, Vector]:
        """The ends of the 95 % intervals; NaN for a system whose error is 0, or with too few rated contexts."""
        error = np.sqrt((self.corrected**2).sum(axis=0))
        reach = np.where(error > 0, scipy.special.stdtrit(self.degrees_of_freedom, 0.975) * error, np.nan)
        if self.scale is None:
            return self.values - reach, self.values + reach
        low, high = self.scale
        values = np.clip(self.values, low, high)
        with np.errstate(invalid="ignore", divide="ignore"):
            k = reach**2 / ((values - low) * (high - values))
            middle, product = values + k * (low + high) / 2, values**2 + k * low * high
            half = np.sqrt(np.maximum(middle**2 - (1 + k) * product, 0))
            ends = [np.where(np.isinf(k), np.clip(values + sign * reach, low, high), (middle + sign * half) / (1 + k))
                    for sign in (-1, 1)]
        return ends[0], ends[1]

    def pairs(self) -> Array:
        """Return p of the difference of each pair of means, adjusted over the pairs by Holm's method."""
        square = ((self.corrected[:, :, None] - self.corrected[:, None]) ** 2).sum(axis=0)
        freedom = np.minimum(self.degrees_of_freedom[:, None], self.degrees_of_freedom)
        with np.errstate(invalid="ignore", divide="ignore"):
            t = (self.values[:, None] - self.values) / np.sqrt(square)
        return over_pairs(np.asarray(2 * scipy.special.stdtr(freedom, -np.abs(t))))


def means(human: Vector, scores: Vector | None, system: Codes, unit: Codes,
          scale: tuple[float, float] | None = None) -> Means:
    """Estimate the mean rating of each system from ratings (NaN if missing) and scores, or from ratings alone.

    Items without a score are left out. `unit` numbers contexts, or conversations; `scale` has the ends of the rating
    scale, by default those of the ratings.
    """
    rows = np.isfinite(human if scores is None else scores)
    y, x = human[rows], np.zeros(len(human)) if scores is None else scores
    x = x[rows] - x[rows].mean() if rows.any() and np.ptp(x[rows]) else np.zeros(len(y))
    exponent = np.frexp(np.abs(x).max(initial=0))[1]
    x = np.ldexp(x, -exponent)  # at most 1, so that squares neither under- nor overflow
    rated = np.isfinite(y)
    ends = scale or (float(y[rated].min(initial=np.inf)), float(y[rated].max(initial=-np.inf)))
    centre = float(y[rated].mean()) if rated.any() else np.nan
    y, size = np.where(rated, y - centre, 0.0), int(system.max(initial=-1)) + 1
    system, unit = system[rows], np.unique(unit[rows], return_inverse=True)[1].ravel()

    def by_cell(values: Vector) -> Array:
        """Sum values by context and system."""
        cells = (int(unit.max(initial=-1)) + 1) * size
        table = np.bincount(unit * size + system, weights=values, minlength=cells)
        return np.asarray(table, dtype=np.float64).reshape(-1, size)

    n_unit, y_unit, f_unit, unrated_unit, g_unit = map(by_cell, (1.0 * rated, y, rated * x, 1.0 * ~rated, ~rated * x))
    n, n_unrated = n_unit.sum(axis=0), unrated_unit.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean, f_mean = y_unit.sum(axis=0) / n, f_unit.sum(axis=0) / n
        g_mean = g_unit.sum(axis=0) / np.maximum(n_unrated, 1)
        rating_part = (y_unit - n_unit * mean) / n
        score_part = (g_unit - unrated_unit * g_mean) / np.maximum(n_unrated, 1) - (f_unit - n_unit * f_mean) / n
        b, b_without = _slopes(y, x, system, unit, rated)
        share, freedom_without_slope = n_unrated / (n + n_unrated), n**2 / (n_unit**2).sum(axis=0) - 1
        sloped = (b * share != 0) * n / n.sum()
        freedom = np.maximum(freedom_without_slope - sloped, np.minimum(freedom_without_slope, 1))
        quantile_ratio = scipy.special.stdtrit(freedom, 0.975) / scipy.special.stdtrit(freedom_without_slope, 0.975)
        corrected = (rating_part + b_without[:, None] * share * score_part) / (1 - n_unit / n) ** ((1 + sloped) / 2)
        without_scores = rating_part / np.sqrt(1 - n_unit / n)
        scores_help = quantile_ratio**2 * (corrected**2).sum(axis=0) <= (without_scores**2).sum(axis=0)
        corrected = np.where(scores_help, corrected, without_scores)
        share, freedom = share * scores_help, np.where(scores_help, freedom, freedom_without_slope)
    weight = b * share
    return Means(centre + mean + weight * (g_mean - f_mean), np.ldexp(weight, -exponent),
                 rating_part + weight * score_part, corrected, np.where(freedom > 0, freedom, np.nan),
                 ends if rated.sum() >= MIN_RATINGS else None)


def _slopes(y: Vector, x: Vector, system: Codes, unit: Codes, rated: Mask) -> tuple[float, Vector]:
    """Return b, and b without each context; 0 where scores do not vary within systems."""
    variance = float(np.square(centred(x[None], system)).sum()) / max(len(x) - len(np.unique(system)), 1)
    products, counts = (np.bincount(unit[rated], values, int(unit.max(initial=-1)) + 1) for values in (
        centred(y[None, rated], system[rated])[0] * x[rated], np.ones(int(rated.sum()))))
    if not variance > 1e-20 * float(x @ x):
        return 0.0, np.zeros(len(counts))
    return (float(products.sum() / max(counts.sum(), 1) / variance),
            (products.sum() - products) / np.maximum(counts.sum() - counts, 1) / variance)


@dataclass(frozen=True, slots=True)
class Worth:
    """The worth of each column with its 95 % interval; NaN if ratings or scores do not differ within systems."""

    value: Vector
    low: Vector
    high: Vector


def worth(human: Vector, scores: Array, system: Codes, units: Codes) -> Worth:
    """Return the worth of scores (columns, items) with mean ratings; `units` are the contexts of the items."""
    ratings, scores = standardised(centred(human[None], system))[0], standardised(centred(scores, system))
    units = np.unique(units, return_inverse=True)[1]
    contexts = int(units.max()) + 1
    with np.errstate(divide="ignore", invalid="ignore"):
        products, squares = (by_unit.sum(axis=1, keepdims=True) - by_unit  # of the other contexts
                             for by_unit in (sums(scores * ratings, units), sums(scores**2, units)))
        weight = np.where(squares > 1e-9 * len(human), np.maximum(products / squares, 0), 0)
        value = (ratings**2).sum() / ((ratings - weight[:, units] * scores) ** 2).sum(axis=1)
        r, influence = pearson_influence(scores, ratings)
        by_context = sums(influence, units)
        error = np.sqrt((by_context**2).sum(axis=1) * contexts / (contexts - 1)) / (1 - r**2)
        reach = scipy.special.stdtrit(contexts - 1, 0.975) * error
        low, high = (1 / (1 - np.maximum(np.tanh(np.arctanh(r) + side * reach), 0) ** 2) for side in (-1, 1))
    return Worth(value, np.minimum(low, value), np.maximum(high, value))
