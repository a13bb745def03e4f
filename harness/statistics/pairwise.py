"""Pairwise accuracy: the share of pairs of items that metric and raters order in the same way or both tie.

    acc_eq(e) = (C + T) / (n (n - 1) / 2)        Deutsch, Foster & Freitag (2023), with tie calibration

C counts the pairs that both order in the same way, T the pairs that both tie; the metric ties a pair if scores differ
by at most e. The threshold is the smallest that maximises acc_eq on the panel itself, as in the paper, so that metrics
that rarely tie and metrics that often do are compared fairly. Range 0 to 1, higher is better; no scale is assumed. A
constant metric ties every pair, so its accuracy is the share of pairs that raters tie, the lowest possible one. Groups
of items share one threshold, the smallest that maximises the mean over the groups.

All thresholds are tried. When e reaches the difference d of a pair, the pair becomes right if raters tie it, and wrong
if it was ordered correctly; so acc_eq(e) is a running sum of steps in order of d. With many rows, pairs are first
counted in bins of d, and only bins that can hold the maximum are searched: O(n^2) time, O(n) memory.

Soft pairwise accuracy: agreement of metric and raters on the certainty that one system is better than another.

    SPA = 1 - mean over pairs of systems i < j of |p_human(i, j) - p_metric(i, j)|       Thompson et al. (2024)

p(i, j) is the one-sided p of a permutation test that system i has a higher mean than j. Rows are permuted between the
two systems within strata. Each context that both answered is a stratum, in which two single rows are swapped at random;
all other rows are one more stratum. The difference of the means over all rows then varies in proportion to the sum of

    2 k_i k_j / (k_i + k_j) * (x_i - x_j)        over strata; k_i rows of system i in a stratum, x_i their mean

Range 0 to 1, higher is better; a random p scores 0.5 against raters who are always certain.

Departure: a permutation equal to the observed value counts half, but fully in the paper. Counting half makes
p(j, i) = 1 - p(i, j), so the order of systems does not matter. Raters and metric share their permutations, as in the
authors' program, so that a metric equal to the ratings scores exactly 1.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np

from harness.statistics.panel import Array, Codes, Panel, Vector, centred, why_undefined

MAX_ROWS_AT_ONCE = 2000  # largest number of rows whose pairs are all kept in memory

BIN_SHIFT = 12  # differences share a bin if they agree in all but the last 12 bits of single precision
BINS = 1 << 31 - BIN_SHIFT
DRAWS = 1000
ROUNDING = 1e-12  # sums of the same numbers in another order differ by less than this share of their absolute sum

Steps: TypeAlias = tuple[Vector, Any]
"""Differences of scores, and the number or share of pairs that become right (wrong if negative) at each threshold."""


@dataclass(frozen=True, slots=True)
class Calibration:
    """The best pairwise accuracy, and the smallest threshold that reaches it; NaN below two rows."""

    value: float
    epsilon: float


def why_not(panel: Panel) -> str:
    """Return the reason why there is no pairwise accuracy; a constant metric has an accuracy, but no correlation."""
    return "" if panel.n >= 2 else f"{panel.n} rows have both a rating and a score"


def accuracy(panel: Panel, epsilon: float) -> float:
    """Return acc_eq at a given threshold, such as one calibrated on other data."""
    return math.nan if why_not(panel) else _count_right(*_sorted(panel), epsilon) / math.comb(panel.n, 2)


def threshold(groups: Sequence[Panel]) -> float:
    """Return the smallest threshold of ties with the best mean accuracy over groups."""
    panels = [panel for panel in groups if not why_not(panel)]
    if len(panels) < 2:
        return calibrated(panels[0]).epsilon if panels else math.nan
    gaps, sizes = _merged([(np.zeros(1), np.zeros(1)), *(
        (gaps, sizes / math.comb(panel.n, 2)) for panel in panels for gaps, sizes in _blocks(*_sorted(panel)))])
    return float(gaps[np.argmax(np.round(np.cumsum(sizes), 10))])


def calibrated(panel: Panel) -> Calibration:
    if why_not(panel):
        return Calibration(math.nan, math.nan)
    human, metric = _sorted(panel)
    gaps, sizes = _merged(_blocks(human, metric) if panel.n <= MAX_ROWS_AT_ONCE else _promising_steps(human, metric))
    right, gained = _count_right(human, metric, 0.0), np.append(0, np.cumsum(sizes))
    best = int(np.argmax(gained))
    return Calibration((right + int(gained[best])) / math.comb(panel.n, 2), float(gaps[best - 1]) if best else 0.0)


def _sorted(panel: Panel) -> tuple[Vector, Vector]:
    """Return ratings and scores, sorted by score and then by rating."""
    order = np.lexsort((panel.human, panel.metric))
    return panel.human[order], panel.metric[order]


def _count_right(human: Vector, metric: Vector, epsilon: float) -> int:
    """Count the pairs that are right at a threshold; rows must be sorted by score."""
    count = 0
    for row in range(len(human) - 1):
        tied, later = metric[row + 1:] - metric[row] <= epsilon, human[row + 1:]
        count += int(np.count_nonzero(np.where(tied, later == human[row], later > human[row])))
    return count


def _promising_steps(human: Vector, metric: Vector) -> Iterator[Steps]:
    """Yield the steps in bins that can hold the maximum, and the sum of the steps in each other bin."""
    gained, net = np.zeros(BINS, dtype=np.int64), np.zeros(BINS, dtype=np.int64)
    for gaps, sizes in _blocks(human, metric):
        bins, ties = _bins(gaps), sizes > 0
        gains = np.bincount(bins[ties], minlength=BINS)
        gained += gains
        net += gains - np.bincount(bins[~ties], minlength=BINS)
    totals = np.cumsum(net)
    promising = (gained > 0) & (totals - net + gained >= max(0, int(totals.max())))
    for gaps, sizes in _blocks(human, metric):
        selected = promising[_bins(gaps)]
        yield _merged([(gaps[selected], sizes[selected])])
    summed = np.flatnonzero(~promising & (net != 0))
    yield (summed << BIN_SHIFT).astype(np.int32).view(np.float32).astype(np.float64), net[summed]


def _blocks(human: Vector, metric: Vector) -> Iterator[Steps]:
    """Yield the steps of each block of rows paired with all later rows, without pairs that are always wrong."""
    rows = max(1, MAX_ROWS_AT_ONCE**2 // len(human))
    for start in range(0, len(human) - 1, rows):
        stop = start + rows
        gaps = metric[start + 1:] - metric[start:stop, None]  # (rows, later); above 0 for pairs that are not tied
        row, later = human[start:stop, None], human[start + 1:]
        sizes = (later == row).astype(np.int8) - (later > row)
        is_step = (gaps > 0) & (sizes != 0)
        yield gaps[is_step], sizes[is_step].astype(np.int64)


def _merged(blocks: Iterable[Steps]) -> Steps:
    """Sort steps by difference, and sum those at the same difference."""
    gaps, sizes = (np.concatenate(part) for part in zip(*blocks, strict=True))
    distinct, index = np.unique(gaps, return_inverse=True)
    return distinct, np.bincount(index, sizes, len(distinct))


def _bins(gaps: Vector) -> Codes:
    """Return the bin of each difference: the leading bits in single precision, which sort like the differences."""
    with np.errstate(over="ignore"):
        return np.asarray(gaps.astype(np.float32).view(np.int32) >> BIN_SHIFT, dtype=np.int64)


def soft_pairwise_accuracy(panel: Panel) -> float:
    """Return soft pairwise accuracy by DRAWS permutations, the same for all metrics; accurate to 1 / sqrt(DRAWS)."""
    return math.nan if why_not_soft(panel) else float(soft_pairwise_accuracies(panel, panel.metric[None])[0])


def soft_pairwise_accuracies(panel: Panel, scores: Array) -> Vector:
    """Return the soft pairwise accuracy of every metric, scores (metrics, rows)."""
    p = np.array(list(_p_values(panel, np.vstack([panel.human, scores]))))
    return np.asarray(1 - np.abs(p[:, 1:] - p[:, :1]).mean(axis=0))


def why_not_soft(panel: Panel) -> str:
    """Return the reason why there is no soft pairwise accuracy, which also exists for a constant metric."""
    systems = len(np.unique(panel.system))
    return why_undefined(replace(panel, metric=panel.human)) or (
        "there are fewer than two systems" if systems < 2 else
        "each system has only one row" if systems == panel.n else "")


def _p_values(panel: Panel, values: Array) -> Iterator[Vector]:
    """Yield, for each pair of systems, its one-sided p for each row of values (rows, items)."""
    contexts, context = np.unique(panel.context, return_inverse=True)
    rng = np.random.default_rng(0)
    swaps = rng.choice([-1.0, 1.0], size=(DRAWS, len(contexts)))
    for (first, second), others in strata(panel):
        difference = (values[:, first] - values[:, second]).T
        chance, observed = swaps[:, context[first]] @ difference, difference.sum(axis=0)
        magnitude = np.abs(difference).sum(axis=0)
        for items, weights in others:
            part = centred(values[:, items], np.zeros_like(items)).T
            chance += rng.permuted(np.tile(weights, (DRAWS, 1)), axis=1) @ part
            observed += weights @ part
            magnitude += np.abs(part).sum(axis=0)
        excess = chance - observed  # ties count half
        yield np.where(np.abs(excess) <= ROUNDING * magnitude, 0.5, excess > 0).mean(axis=0)


def strata(panel: Panel) -> Iterator[tuple[Codes, list[tuple[Codes, Vector]]]]:
    """Yield the strata of each pair of systems, in two parts.

    The first has the two items of each context in which both systems have one item (2, contexts). The second has the
    items of every other stratum, with weights that sum to 0 and are positive for the first system.
    """
    context = np.unique(panel.context, return_inverse=True)[1].ravel()
    for i, j in itertools.combinations(np.unique(panel.system), 2):
        items = np.concatenate([np.flatnonzero(panel.system == system) for system in (i, j)])
        first, contexts = panel.system[items] == i, context[items]
        counts = np.array([np.bincount(contexts[side], minlength=len(context))[contexts] for side in (first, ~first)])
        one_each, stratum = (counts == 1).all(axis=0), np.where(counts.all(axis=0), contexts, -1)
        pairs = items[one_each][np.argsort(contexts[one_each], kind="stable")].reshape(-1, 2).T
        others = [stratum == index for index in np.unique(stratum[~one_each])]
        yield pairs, [(items[other], 2 * (first[other] - first[other].mean())) for other in others]
