"""What many comparisons together say: adjusted p-values, clusters of metrics, and letters.

With p(1) <= ... <= p(k) the p-values that exist (a NaN stays one and counts for nothing):

    Holm (1979)                     max over j <= i of min(1, (k - j + 1) p(j)); bounds the chance of any false finding
    Benjamini & Hochberg (1995)     min over j >= i of min(1, k p(j) / j); bounds the share of false findings

Clusters, metrics being in the order of their values, are those of WMT's translation tasks: parted wherever every metric
above is significantly better than every metric below. By the rule of WMT's metrics task a new one begins where any
member of the current one is significantly better; a later member may then tie with one above. Letters are a compact
letter display (Piepho 2004): metrics that share a letter are not significantly different, and every two that are not
share one. The letters are a cover by cliques, taken greedily from the best metric on (Gramm et al. 2007): not always
the fewest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from string import ascii_letters
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from harness.statistics.panel import Array, Vector

Better: TypeAlias = npt.NDArray[np.bool_]
"""[i, j] where metric i is significantly better than metric j."""


def holm(p: npt.ArrayLike) -> Array:
    """Adjusted p-values by Holm's step-down method, in the shape given."""
    return _adjusted(p, lambda ordered, rank: np.maximum.accumulate((len(ordered) + 1 - rank) * ordered))


def benjamini_hochberg(p: npt.ArrayLike) -> Array:
    """Adjusted p-values by the step-up method of Benjamini and Hochberg, in the shape given."""
    return _adjusted(p, lambda ordered, rank: np.minimum.accumulate((len(ordered) / rank * ordered)[::-1])[::-1])


def over_pairs(p: Array, adjust: Callable[[Array], Array] = holm) -> Array:
    """Adjust a symmetric matrix of two-sided p-values: each pair counts once, the diagonal is kept."""
    above = np.triu_indices(len(p), 1)
    adjusted = p.copy()
    adjusted[above] = adjusted.T[above] = adjust(p[above])
    return adjusted


def clusters(values: Vector, better: Better, rule: str = "every") -> tuple[tuple[int, ...], ...]:
    """The metrics by number, best cluster first; a metric without a value is in none. The rule is every or wmt."""
    order = _ranking(values)
    parted: list[tuple[int, ...]] = []
    start = 0
    for end in range(1, len(order) + 1):
        if end == len(order) or (better[order[start:end], order[end]].any() if rule == "wmt" else
                                 better[np.ix_(order[:end], order[end:])].all()):
            parted.append(tuple(order[start:end]))
            start = end
    return tuple(parted)


def letters(values: Vector, better: Better) -> tuple[str, ...]:
    """The letters of each metric, `a` being that of the best; none without a value.

    Sets of metrics are bits of a number: a site has some thousand pairs on each of some fifty targets.
    """
    order = _ranking(values)
    differ = (better | better.T)[np.ix_(order, order)]
    alike = [int.from_bytes(row.tobytes(), "little") for row in np.packbits(~differ, axis=1, bitorder="little")]
    covered = [0] * len(order)
    groups: list[int] = []
    for row, own in enumerate(alike):
        while uncovered := (own & ~covered[row]) >> row:
            groups.append(_grown(row, row + next(_members(uncovered)), alike))
            for member in _members(groups[-1]):
                covered[member] |= groups[-1]
    names = [ascii_letters[number % 52] + "'" * (number // 52) for number in range(len(groups))]
    lettered = {metric: "".join(name for name, group in zip(names, groups, strict=True) if group >> place & 1)
                for place, metric in enumerate(order)}
    return tuple(lettered.get(metric, "") for metric in range(len(values)))


def cluster_numbers(values: Vector, better: Better, rule: str) -> tuple[int, ...]:
    """Return the cluster of each metric, 1 the best."""
    numbers = np.zeros(len(values), dtype=np.int64)
    for number, members in enumerate(clusters(values, better, rule), start=1):
        numbers[list(members)] = number
    return tuple(numbers.tolist())


def _grown(row: int, other: int, alike: list[int]) -> int:
    """The two metrics, and from the best on every other that is like all in the group so far."""
    group, possible = 1 << row | 1 << other, alike[row] & alike[other]
    while rest := possible & ~group:
        member = (rest & -rest).bit_length() - 1
        group |= 1 << member
        possible &= alike[member]
    return group


def _members(group: int) -> Iterator[int]:
    while group:
        yield (group & -group).bit_length() - 1
        group &= group - 1


def _ranking(values: Vector) -> list[int]:
    return [int(metric) for metric in np.argsort(-values, kind="stable") if np.isfinite(values[metric])]


def _adjusted(p: npt.ArrayLike, step: Callable[[Array, Array], Array]) -> Array:
    adjusted = np.array(p, dtype=np.float64)
    flat = adjusted.ravel()
    known = np.flatnonzero(~np.isnan(flat))
    order = known[np.argsort(flat[known], kind="stable")]
    if len(order):
        flat[order] = np.minimum(step(flat[order], np.arange(1.0, len(order) + 1)), 1)
    return flat.reshape(adjusted.shape)
