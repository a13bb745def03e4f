"""The rule of WMT25's metrics task: the mean of two accuracies over all tasks, tested by PERM-BOTH.

    soft     soft pairwise accuracy over systems (pairwise.py): a task per target with two or more systems
    ties     mean over contexts of acc_eq with one calibrated threshold: a task per target in which some context has two
             or more responses
    value    mean over the tasks, all of equal weight

Metrics form clusters by one-sided p below 5 %, unadjusted (significance.py, `wmt`). In a draw each context swaps the
two standardised metrics with probability 1/2, in all tasks of its dataset, and the differences of the tasks add up.
Tie thresholds are not recalibrated, and p(i, j) is approximated by Phi(-z), where z is the sum over the strata of
pairwise.py, divided by its standard deviation over all permutations. With one response to each context, this is
z = sum d / sqrt(sum d^2) over the differences d of two systems.

Departures from mt-metrics-eval, which the task uses: it swaps single responses, or pairs of them; it tries a sample of
thresholds; it stops its draws early; it computes p(i, j) in a draw without approximation.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from harness.statistics import pairwise, significance
from harness.statistics.panel import Array, Codes, Panel, Vector, by_known_rows, centred

ALPHA = 0.05
TOLERANCE = 1e-6  # differences in single precision that are this close count as equal
KINDS = SOFT, TIES = "soft", "ties"
Table = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """The accuracy of each metric on a target, and the difference of two metrics: the observed one, then its draws."""

    kind: str
    values: Vector
    differences: Callable[[int, int], Vector]


def tasks(panel: Panel, scores: Array, draws: int, rng: np.random.Generator) -> list[Task]:
    """Return the tasks of a target for scores (metrics, rows), NaN if missing; equal generators share draws."""
    unit, size = panel.units, int(panel.units.max()) + 1
    is_kept = np.vstack([np.ones((1, size)), rng.integers(2, size=(draws, size))]).astype(np.float32)
    soft, ties = np.full((2, len(scores)), math.nan)
    sums = np.zeros((len(scores), size))
    for rows, metrics in by_known_rows(np.isfinite(scores) & np.isfinite(panel.human)):
        part, table = panel.take(rows), scores[metrics][:, rows]
        if not pairwise.why_not_soft(part):
            soft[metrics] = pairwise.soft_pairwise_accuracies(part, table)
        if part.n > len(np.unique(part.context)):
            ties[metrics], sums[metrics] = _with_ties(part, table, unit[rows], size)
    result = []
    if np.isfinite(soft).any():
        result.append(Task(SOFT, soft, _soft_draws(panel, scores, unit, is_kept)))
    if np.isfinite(ties).any():
        drawn = sums @ (2.0 * is_kept.T - 1)
        result.append(Task(TIES, ties, lambda first, second: drawn[first] - drawn[second]))
    return result


def mean(all_tasks: Sequence[Task], kind: str = "") -> Vector:
    """Return the mean of each metric over the tasks, or over those of a kind; NaN if there are none."""
    values = [task.values for task in all_tasks if kind in ("", task.kind)]
    return np.asarray(np.mean(values, axis=0) if values else np.full(len(all_tasks[0].values), math.nan))


def clusters(all_tasks: Sequence[Task], count: int) -> tuple[int, ...]:
    """Return the clusters of the first `count` metrics, 1 the best; 0 if a task lacks a value, and for the others."""
    values = mean(all_tasks)
    values[count:] = math.nan

    def is_better(metric: int, other: int) -> bool:
        drawn = np.mean([task.differences(metric, other) for task in all_tasks], axis=0)
        return float(np.mean(drawn >= drawn[0] - TOLERANCE)) < ALPHA

    return significance.clusters(values, is_better, "wmt")


def _with_ties(panel: Panel, scores: Array, unit: Codes, units: int) -> tuple[Vector, Array]:
    """Return accuracies with calibrated ties, and each unit's contribution to them (metrics, units)."""
    first, second = _pairs(panel.context)
    _, context, pairs = np.unique(panel.context[first], return_inverse=True, return_counts=True)
    order, share = np.sign(panel.human[first] - panel.human[second]), 1 / pairs[context] / len(pairs)
    contributions = np.empty((len(scores), units))
    for row, values in enumerate(scores):
        difference = values[first] - values[second]
        gaps, agree = np.abs(difference), np.sign(difference) == order
        steps = np.argsort(gaps, kind="stable")
        gained = np.cumsum((share * (gaps > 0) * ((order == 0) * 1.0 - agree))[steps])
        is_last = np.append(gaps[steps][1:] != gaps[steps][:-1], True)
        best = np.argmax(np.round(np.append(0, gained[is_last]), 10))
        tied = gaps <= np.append(0, gaps[steps][is_last])[best]
        contributions[row] = np.bincount(unit[first], share * np.where(tied, order == 0, agree), units)
    return contributions.sum(axis=1), contributions


def _pairs(context: Codes) -> tuple[Codes, Codes]:
    """Return the rows of each pair of the same context, sorted."""
    rows = np.argsort(context, kind="stable")
    _, starts, sizes = np.unique(context[rows], return_index=True, return_counts=True)
    later = np.repeat(starts + sizes, sizes) - np.arange(len(rows)) - 1  # rows of the context after each row
    first = np.repeat(np.arange(len(rows)), later)
    second = first + 1 + np.arange(len(first)) - np.repeat(np.cumsum(later) - later, later)
    order = np.lexsort((rows[second], rows[first]))
    return rows[first][order], rows[second][order]


def _soft_draws(panel: Panel, scores: Array, unit: Codes, is_kept: Table) -> Callable[[int, int], Vector]:
    """Return the function that draws the difference of two metrics; a missing score counts as the mean."""
    rated = np.isfinite(panel.human)
    known = np.where(np.isfinite(scores), scores, np.nan)[:, rated]
    deviations = np.nan_to_num(known - np.nan_to_num(known).sum(axis=1, keepdims=True) / np.maximum(
        np.isfinite(known).sum(axis=1, keepdims=True), 1))
    spread = np.sqrt((deviations**2).mean(axis=1, keepdims=True))
    values = np.vstack([panel.human[rated], deviations / np.where(spread > 0, spread, 1)])
    features = _features(panel.take(rated), values, unit[rated], is_kept.shape[1])
    totals = features.sum(axis=1)  # (1 + metrics, 2, pairs of systems)
    human_p = _approximate_p(totals[0])
    drawn = functools.cache(lambda metric: np.tensordot(is_kept, features[1 + metric], 1))

    def differences(first: int, second: int) -> Vector:
        drawn_difference = drawn(first) - drawn(second)
        errors = [np.abs(human_p - _approximate_p(sums)).mean(axis=-1)
                  for sums in (totals[1 + second] + drawn_difference, totals[1 + first] - drawn_difference)]
        return np.asarray(errors[1] - errors[0], dtype=np.float64)

    return differences


def _features(panel: Panel, values: Array, unit: Codes, units: int) -> Table:
    """Return the sums of d and d^2 of each unit for each pair of systems (rows, units, 2, pairs of systems)."""
    pairs = []
    for (first, second), others in pairwise.strata(panel):
        pairs.append(np.zeros((units, 2, len(values))))
        d = (values[:, first] - values[:, second]).T
        np.add.at(pairs[-1], unit[first], np.stack([d, d**2], axis=1))
        for items, weights in others:
            scale = weights @ weights / max(1, len(items) - 1)
            d, part = weights[:, None] * values[:, items].T, centred(values[:, items], np.zeros_like(items)).T
            np.add.at(pairs[-1], unit[items], np.stack([d, scale * part**2], axis=1))
    return np.stack(pairs, axis=-1).transpose(2, 0, 1, 3).astype(np.float32)


def _approximate_p(features: Table) -> Table:
    """Return Phi(-z) of the two sums (..., 2, pairs of systems), accurate to 3e-4; 1/2 without variance."""
    z = features[..., 0, :] / np.sqrt(np.maximum(features[..., 1, :], TOLERANCE))
    return np.asarray(0.5 - np.tanh(z * (0.797885 + 0.035677 * z * z)) / 2)
