"""The worth of a metric in ratings: how many ratings one rating together with the scores replaces.

Prediction-powered inference (Angelopoulos et al. 2023), with the weight tuned as in PPI++ (Angelopoulos, Duchi & Zrnic
2023), estimates a system's mean rating from rated items and many more scores. With plentiful scores f, weight l and
ratings y, the variance of the estimate is that of y - l f over the rated items of the system:

    worth = sum (y - mean y)^2 / sum (y - mean y - l (f - mean f))^2,   means by system

which is 1 / (1 - r^2) for the best weight, r being Pearson's correlation within systems. Weights are 0 or more, and
tuned on the other folds of contexts, so a useless metric is worth slightly less than 1. The 95 % interval is that of r
by Fisher's z, with the standard error from the influence of whole contexts; a negative r counts as 0.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy

from harness.statistics.influence import of_pearson
from harness.statistics.panel import Array, Codes, Vector, centred, sums
from harness.statistics.ranks import standardised


@dataclass(frozen=True, slots=True)
class Worth:
    """The worth of each column with its 95 % interval; NaN if ratings or scores do not differ within systems."""

    value: Vector
    low: Vector
    high: Vector


def worth(human: Vector, scores: Array, system: Codes, units: Codes, fold: Codes) -> Worth:
    """Return the worth of scores (columns, items) with mean ratings; `units` are contexts, `fold` their folds."""
    ratings, scores = standardised(centred(human[None], system))[0], standardised(centred(scores, system))
    residuals = np.repeat(ratings[None], len(scores), axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        for held in np.unique(fold):
            rows, others = fold == held, fold != held
            weight = scores[:, others] @ ratings[others] / (scores[:, others] ** 2).sum(axis=1)
            residuals[:, rows] -= np.maximum(weight, 0)[:, None] * scores[:, rows]
        value = (ratings**2).sum() / (residuals**2).sum(axis=1)
        r, influence = of_pearson(scores, ratings)
        by_context = sums(influence, units)
        contexts = len(np.unique(units))
        error = np.sqrt((by_context**2).sum(axis=1) * contexts / (contexts - 1)) / (1 - r**2)
        reach = scipy.special.stdtrit(contexts - 1, 0.975) * error
        low, high = (1 / (1 - np.maximum(np.tanh(np.arctanh(r) + side * reach), 0) ** 2) for side in (-1, 1))
    return Worth(value, np.minimum(low, value), np.maximum(high, value))
