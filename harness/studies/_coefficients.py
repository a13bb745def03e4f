"""Five coefficients on many groups and many resamples at once: Pearson's r, Spearman's ρ, Kendall's τ-b, Stuart's τ-c
and pairwise accuracy with ties (see `statistics.correlations` and `statistics.pairwise` for what each is).

A resample is a row of counts w, how often it holds each row of a group; N = Σ w. With S the signs of all differences
within a group, S_ij = sign(x_i - x_j), and T that of the ratings, all but Pearson's r are matrix products:

    ranks            (w S)_j is minus twice the rank of j in the resample less the middle rank, ties sharing theirs
    τ-b              w (S∘T) w' / √(w |S| w' · w |T| w')
    τ-c              w (S∘T) w' m / (N² (m - 1)), m the fewer distinct values of the two sides
    accuracy         (w R w' - Σ w²) / (N² - Σ w²), R_ij being whether the pair is right; a row and its copy are no pair

The threshold below which a metric ties two rows is given: it is found once, on the whole data, and then held.
Shapes: G groups of s rows, r resamples. Signs and counts are small whole numbers, exact in single precision.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from harness.statistics.williams import Array

COEFFICIENTS = ("pearson", "spearman", "kendall", "kendall-c", "pairwise-accuracy")
LEAST = 3
"""Rows a group needs to have a value."""

Single: TypeAlias = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class Side:
    """The ratings, or the scores of one metric, of G groups, and what follows from them on every resample."""

    values: Array  # (G, s)
    signs: Single  # (G, s, s)
    ranks: Array  # (G, r, s), up to sign and factor
    untied: Array  # (G, r): ordered pairs that are not tied
    distinct: Array  # (G, r): how many values there are
    scaled: Array  # (G, s): centred, at most 1


def side(values: Array, counts: Single) -> Side:
    """One side of a comparison: values (G, s), counts (G, r, s)."""
    signs = np.subtract(values[:, :, None] > values[:, None], values[:, :, None] < values[:, None], dtype=np.float32)
    untied = _both(counts, np.abs(signs))
    present = (counts > 0).astype(np.float32)
    alike = present @ (signs == 0).astype(np.float32)
    shares = np.divide(present, alike, out=np.zeros_like(present), where=present > 0)
    distinct = np.rint(shares.sum(axis=-1, dtype=np.float64))
    return Side(values, signs, (counts @ signs).astype(np.float64), untied, distinct, _scaled(values))


def agreement(human: Side, metric: Side, counts: Single, threshold: float) -> Array:
    """Every coefficient in the order of COEFFICIENTS: (5, G, r); NaN where there is none."""
    weights = counts.astype(np.float64)
    size = weights.sum(axis=-1)
    fewer = np.minimum(human.distinct, metric.distinct)
    ordered = _both(counts, human.signs * metric.signs)
    with np.errstate(invalid="ignore", divide="ignore"):
        found = np.stack([
            _pearson(human.scaled, metric.scaled, weights),
            _product_moment(weights, human.ranks, metric.ranks),
            ordered / np.sqrt(human.untied * metric.untied),
            np.where(fewer > 1, ordered * fewer / (size**2 * (fewer - 1)), np.nan),
            _accuracy(human, metric, counts, threshold),
        ])
    return np.where(size >= LEAST, found, np.nan)


def threshold(groups: Iterable[tuple[Array, Array]]) -> float:
    """The smallest threshold of ties with the best mean accuracy over groups: ratings and scores (G, s), (G, s)."""
    gaps, steps = [np.zeros(1)], [np.zeros(1)]
    for human, metric in groups:
        first, second = np.triu_indices(human.shape[1], 1)
        rated, apart = human[:, first] - human[:, second], metric[:, first] - metric[:, second]
        gained = (rated == 0).astype(np.float64) - (np.sign(rated) * np.sign(apart) > 0)
        there = apart != 0
        gaps.append(np.abs(apart[there]))
        steps.append(gained[there] / len(first))
    order = np.argsort(flat := np.concatenate(gaps), kind="stable")
    ordered, reached = flat[order], np.round(np.cumsum(np.concatenate(steps)[order]), 10)
    last = np.append(ordered[1:] != ordered[:-1], True)
    return float(ordered[last][np.argmax(reached[last])])


def _both(counts: Single, pairs: Single) -> Array:
    """The sum over ordered pairs of rows, each as often as a resample holds it: (G, r)."""
    return np.asarray((counts * (counts @ pairs)).sum(axis=-1, dtype=np.float64))


def _accuracy(human: Side, metric: Side, counts: Single, threshold: float) -> Array:
    tied = np.abs(metric.values[:, :, None] - metric.values[:, None]) <= threshold
    right = np.where(tied, human.signs == 0, human.signs == metric.signs).astype(np.float32)
    size, copies = counts.sum(axis=-1, dtype=np.float64), (counts**2).sum(axis=-1, dtype=np.float64)
    return np.asarray((_both(counts, right) - copies) / (size**2 - copies))


def _pearson(x: Array, y: Array, weights: Array) -> Array:
    moments = weights @ np.stack([np.ones_like(x), x, y, x * x, y * y, x * y], axis=-1)  # (G, r, 6)
    x1, y1, xx, yy, xy = np.moveaxis(moments[..., 1:] / moments[..., :1], -1, 0)
    across, down = (np.where(spread > 1e-12, spread, np.nan) for spread in (xx - x1**2, yy - y1**2))
    return np.asarray((xy - x1 * y1) / np.sqrt(across * down))


def _product_moment(weights: Array, x: Array, y: Array) -> Array:
    """The correlation of what is centred already."""
    weighted = weights * x
    top, across, down = (part.sum(axis=-1) for part in (weighted * y, weighted * x, weights * y * y))
    return np.asarray(top / np.sqrt(across * down))


def _scaled(values: Array) -> Array:
    """Each group centred and at most 1; zeros where it is constant."""
    largest = np.abs(values).max(axis=-1, keepdims=True)
    moved = np.divide(values, largest, out=np.zeros_like(values), where=largest > 0)
    moved = np.where(np.ptp(moved, axis=-1, keepdims=True) > 0, moved - moved.mean(axis=-1, keepdims=True), 0)
    width = np.abs(moved).max(axis=-1, keepdims=True)
    return np.asarray(np.divide(moved, width, out=np.zeros_like(moved), where=width > 0))
