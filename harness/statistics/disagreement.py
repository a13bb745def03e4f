"""Agreement of columns with people where raters disagree.

    spread       standard deviation of the votes on an item, for two or more votes
    thirds       items up to the first tercile of the spread, up to the second, and above; equal spreads stay together
    divergence   Jensen-Shannon divergence in bits, 0 to 1, between (1 - s, s) and (1 - q, q); s is the score, q the
                 share of votes for the higher of the two values of a quality; mean over items

The divergence takes scores as probabilities of the higher value, and exists if all of them are from 0 to 1.
"""

from __future__ import annotations

import math

import numpy as np
import scipy

from harness.statistics.coefficients import where_known
from harness.statistics.panel import Array, Codes, Vector


def spread(votes: Array) -> Vector:
    """Return the standard deviation of the votes (votes, items) on each item; NaN below two votes."""
    deviations = np.ma.masked_invalid(votes).std(axis=0).filled(math.nan).round(12)
    return np.where(np.isfinite(votes).sum(axis=0) > 1, deviations, math.nan)


def parts(values: Vector, number: int) -> Codes:
    """Divide values into parts of about equal size, numbered from 0; equal values share a part, NaN has -1."""
    known = np.sort(values[np.isfinite(values)])
    ends = [known[math.ceil(len(known) * part / number) - 1] for part in range(1, number)] if len(known) else []
    return np.where(np.isfinite(values), np.searchsorted(ends, values), -1)


def by_third(human: Vector, scores: Array, spreads: Vector) -> Array:
    """Return Spearman's rho of each column on each third of the spread (columns, thirds)."""
    third = parts(spreads, 3)
    return np.column_stack([where_known(np.where(third == number, human, np.nan), scores)
                            for number in range(3)])


def divergences(votes: Array, scores: Array) -> Vector:
    """Return the mean divergence of each column; NaN for votes of more than two values, or scores beyond 0 and 1."""
    values = np.full(len(scores), math.nan)
    levels = np.unique(votes[np.isfinite(votes)])
    if len(levels) != 2:
        return values
    counts = np.isfinite(votes).sum(axis=0)
    share = (votes == levels[1]).sum(axis=0) / np.maximum(counts, 1)
    for column, row in enumerate(scores):
        rows = np.isfinite(row) & (counts > 0)
        if rows.any() and row[rows].min() >= 0 and row[rows].max() <= 1:
            s, q = row[rows], share[rows]
            values[column] = np.mean(_entropy((s + q) / 2) - (_entropy(s) + _entropy(q)) / 2)
    return values


def _entropy(p: Vector) -> Vector:
    """Return the entropy of (1 - p, p) in bits."""
    return np.asarray((scipy.special.entr(p) + scipy.special.entr(1 - p)) / math.log(2))
