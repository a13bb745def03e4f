"""Five statistics at every level on many resamples at once: the values of `estimates`, as products of matrices.

A resample is a row of counts w, how often it holds each row of a group; N = Σ w. With S the signs of all differences
within a group, S_ij = sign(x_i - x_j), and T that of the ratings, all but Pearson's r are matrix products:

    ranks            (w S)_j is minus twice the rank of j in the resample less the middle rank, ties sharing theirs
    τ-b              w (S∘T) w' / √(w |S| w' · w |T| w')
    τ-c              w (S∘T) w' m / (N² (m - 1)), m the fewer distinct values of the two sides
    accuracy         (w R w' - Σ w²) / (N² - Σ w²), R_ij being whether the pair is right; a row and its copy are no pair

The threshold below which a metric ties two rows is that of the whole data, and then held. A level for which the data
has no room is left out: within needs groups of three rows or more that hold half of the rows (two systems, or as many
contexts as can be resampled), over systems needs three systems. Within contexts, a context is drawn with all its rows,
so that its own value stays as it is and only its weight changes. Over systems, the systems stay and their means move
with the rows drawn; means that differ by rounding are tied.

Shapes: G groups of s rows, r resamples. Signs and counts are small whole numbers, exact in single precision.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from harness.statistics.pairwise import shared_threshold
from harness.statistics.panel import LEVELS, Array, Codes, Vector

COEFFICIENTS = ("pearson", "spearman", "kendall", "kendall-c", "pairwise-accuracy")
LEAST = 3
"""Rows a group needs to have a value."""

FEW = 5
"""Contexts that can be resampled."""

Single: TypeAlias = npt.NDArray[np.float32]
Measure: TypeAlias = tuple[str, str]
"""Level and statistic."""

Values: TypeAlias = Mapping[Measure, Array]
"""Of each measure that exists, its value on every resample for every column: (r, columns)."""

MEASURES: tuple[Measure, ...] = tuple((level, name) for level in LEVELS for name in COEFFICIENTS)


@dataclass(frozen=True, slots=True)
class ScoredRows:
    """Columns that have a score on the same rows, on those rows: scores (columns, rows), counts (r, rows)."""

    human: Vector
    scores: Array
    system: Codes
    context: Codes
    counts: Single


def values(human: Vector, scores: Array, system: Codes, context: Codes, counts: Single) -> Values:
    """Every measure of ratings (rows,) and scores (columns, rows), resampled by counts (r, rows), first the whole."""
    whole = ScoredRows(human, scores, system, context, counts)
    levels = [level for level in LEVELS if has_room(level, system, context)]
    tables = {level: np.full((len(COEFFICIENTS), len(counts), len(scores)), np.nan) for level in levels}
    for columns, part in _alike(whole):
        for level in levels:
            tables[level][..., columns] = _AT_LEVEL[level](part)
    every = {(level, name): tables[level][number] for level in levels for number, name in enumerate(COEFFICIENTS)}
    return {measure: value for measure, value in every.items() if np.isfinite(value[0]).any()}


def has_room(level: str, system: Codes, context: Codes) -> bool:
    """Whether these rows have room for a level."""
    systems, contexts = (np.unique(codes, return_counts=True)[1] for codes in (system, context))
    if level == "over-systems":
        return len(systems) >= LEAST
    if level == "items":
        return len(system) >= LEAST
    groups, least = (systems, 2) if level == "within-systems" else (contexts, FEW)
    large = groups[groups >= LEAST]
    return len(large) >= least and 2 * int(large.sum()) >= len(system)


def _alike(whole: ScoredRows) -> Iterator[tuple[Codes, ScoredRows]]:
    """The columns, gathered by the rows on which they have a score."""
    kinds, kind = np.unique(np.isfinite(whole.scores), axis=0, return_inverse=True)
    for number, scored in enumerate(kinds):
        if scored.any():
            columns = np.flatnonzero(kind.ravel() == number)
            yield columns, ScoredRows(whole.human[scored], whole.scores[columns][:, scored], whole.system[scored],
                                      whole.context[scored], whole.counts[:, scored])


def _over_systems(part: ScoredRows) -> Array:
    """Every coefficient over the means of systems: (5, r, columns); a system of which nothing is drawn is left out."""
    codes = np.unique(part.system, return_inverse=True)[1].ravel()
    members = np.equal.outer(codes, np.arange(codes.max() + 1)).astype(np.float64)  # (rows, systems)
    weights = part.counts.astype(np.float64)
    size = weights @ members
    present = (size > 0).astype(np.float32)[:, None]  # (r, 1, systems)

    def means(column: Vector) -> Array:
        largest = float(np.abs(column).max()) or 1.0
        return np.round((weights * (column / largest)) @ members / np.maximum(size, 1), 12)

    rated = means(part.human)
    judged = side(rated, present)
    by_column = []
    for column in map(means, part.scores):
        best = shared_threshold([(rated[:1], column[:1])])
        by_column.append(agreement(judged, side(column, present), present, best)[:, :, 0])
    return np.stack(by_column, axis=-1)


def _grouped(part: ScoredRows, groups: Codes, *, together: bool = False) -> Array:
    """The mean over groups of every coefficient: (5, r, columns); `together`: a group is drawn with all its rows."""
    total, number = np.zeros((2, len(COEFFICIENTS), len(part.counts), len(part.scores)))
    buckets = list(_by_size(groups))
    best = [shared_threshold((part.human[rows], column[rows]) for rows in buckets) for column in part.scores]
    for rows in buckets:
        drawn = np.ascontiguousarray(part.counts[:, rows].swapaxes(0, 1))  # (G, r, s)
        inside, weights = (np.ones_like(drawn[:, :1]), drawn[..., 0]) if together else (drawn, np.ones(drawn.shape[:2]))
        judged = side(part.human[rows], inside)
        for place, column in enumerate(part.scores):
            values = agreement(judged, side(column[rows], inside), inside, best[place])
            known = np.isfinite(values)
            total[..., place] += (np.where(known, values, 0) * weights).sum(axis=1)
            number[..., place] += (known * weights).sum(axis=1)
    return np.divide(total, number, out=np.full_like(total, np.nan), where=number > 0)


def _by_size(groups: Codes) -> Iterator[Codes]:
    """The rows of each group, groups of one size together: (G, s)."""
    order = np.argsort(groups, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(groups[order])) + 1)
    for size in sorted({len(part) for part in parts}):
        if size >= LEAST:
            yield np.stack([part for part in parts if len(part) == size])


@dataclass(frozen=True, slots=True)
class ResampledSide:
    """The ratings, or the scores of one metric, of G groups, and what follows from them on every resample."""

    values: Array  # (G, s)
    signs: Single  # (G, s, s)
    ranks: Array  # (G, r, s), up to sign and factor
    untied: Array  # (G, r): ordered pairs that are not tied
    distinct: Array  # (G, r): how many values there are
    scaled: Array  # (G, s): centred, at most 1


def side(values: Array, counts: Single) -> ResampledSide:
    """One side of a comparison: values (G, s), counts (G, r, s)."""
    signs = np.subtract(values[:, :, None] > values[:, None], values[:, :, None] < values[:, None], dtype=np.float32)
    untied = _both(counts, np.abs(signs))
    present = (counts > 0).astype(np.float32)
    alike = present @ (signs == 0).astype(np.float32)
    shares = np.divide(present, alike, out=np.zeros_like(present), where=present > 0)
    distinct = np.rint(shares.sum(axis=-1, dtype=np.float64))
    return ResampledSide(values, signs, (counts @ signs).astype(np.float64), untied, distinct, _scaled(values))


def agreement(human: ResampledSide, metric: ResampledSide, counts: Single, threshold: float) -> Array:
    """Every coefficient in the order of COEFFICIENTS: (5, G, r); NaN where there is none."""
    weights = counts.astype(np.float64)
    size = weights.sum(axis=-1)
    fewer = np.minimum(human.distinct, metric.distinct)
    ordered = _both(counts, human.signs * metric.signs)
    with np.errstate(invalid="ignore", divide="ignore"):
        values = np.stack([
            _pearson(human.scaled, metric.scaled, weights),
            _product_moment(weights, human.ranks, metric.ranks),
            ordered / np.sqrt(human.untied * metric.untied),
            np.where(fewer > 1, ordered * fewer / (size**2 * (fewer - 1)), np.nan),
            _accuracy(human, metric, counts, threshold),
        ])
    return np.where(size >= LEAST, values, np.nan)


def _both(counts: Single, pairs: Single) -> Array:
    """The sum over ordered pairs of rows, each as often as a resample holds it: (G, r)."""
    return np.asarray((counts * (counts @ pairs)).sum(axis=-1, dtype=np.float64))


def _accuracy(human: ResampledSide, metric: ResampledSide, counts: Single, threshold: float) -> Array:
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


_AT_LEVEL: dict[str, Callable[[ScoredRows], Array]] = {
    "items": lambda part: _grouped(part, np.zeros_like(part.system)),
    "within-contexts": lambda part: _grouped(part, part.context, together=True),
    "within-systems": lambda part: _grouped(part, part.system),
    "over-systems": _over_systems,
}
