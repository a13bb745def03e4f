"""What is asked of a measure: does it tell metrics apart, does it say the same twice, does it say what another says?

    power         share of pairs of metrics that it separates at 5 %: paired bootstrap, two-sided, each cell and pair by
                  itself without adjustment; mean over cells
    consistency   Kendall's τ-b between the rankings of metrics by two random halves of the data; mean and standard
                  deviation over halvings
    agreement     Kendall's τ-b between the rankings of metrics by two measures

A ranking is by the mean over cells. Two measures are compared on the cells on which both exist and the metrics that
both measure there, so that no data comes between them. The questions are those of Gao et al. (2024), 'Analyzing and
Evaluating Correlation Measures in NLG Meta-Evaluation'; how they are answered is this harness's own.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

import numpy as np

from harness.run.correlate import TargetData
from harness.statistics.coefficients import kendall
from harness.statistics.paired import two_sided
from harness.statistics.panel import Panel, Vector
from harness.statistics.williams import Array
from harness.studies._groupings import Measure, Values, values
from harness.studies._resamples import Amount, resamples

ALPHA = 0.05
DECIMALS = 10
"""Means that are nearer than this are tied."""

Name: TypeAlias = tuple[str, str]
"""Metric and column."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A cell under every measure that exists on it: its values, and p for every pair of metrics (metrics, metrics)."""

    names: tuple[Name, ...]
    values: Values
    p: Mapping[Measure, Array]


@dataclass(frozen=True, slots=True)
class Shared:
    """The cells on which two measures exist, and the metrics that both measure on all of them."""

    cells: tuple[Measured, ...]
    names: tuple[Name, ...]


def shared(cells: Sequence[Measured], first: Measure, second: Measure) -> Shared:
    """What two measures can be compared on; a measure by itself, if it is named twice."""
    both = tuple(cell for cell in cells if first in cell.values and second in cell.values)
    names = [{name for place, name in enumerate(cell.names)
              if all(math.isfinite(cell.values[measure][0, place]) for measure in (first, second))} for cell in both]
    return Shared(both, tuple(sorted(set.intersection(*names))) if names else ())


def measured(cell: TargetData, seed: int, amount: Amount) -> Measured:
    """A cell under every measure."""
    found = values(cell, *resamples(cell, seed, amount))
    return Measured(cell.names, found, {measure: p_values(value[amount.drawn]) for measure, value in found.items()})


def p_values(drawn: Array) -> Array:
    """Two-sided p that two metrics are equally good, for every pair, from draws (r, metrics).

    NaN for a metric and itself, and where most draws lack a value of one of the two.
    """
    size = drawn.shape[1]
    found = np.full((size, size), np.nan)
    for i, j in combinations(range(size), 2):
        apart = drawn[:, i] - drawn[:, j]
        apart = apart[np.isfinite(apart)]
        if 2 * len(apart) >= len(drawn):
            found[i, j] = found[j, i] = two_sided(apart)
    return found


def means(given: Shared, measure: Measure, resamples: slice) -> Array:
    """The mean over cells of every metric, on some of the resamples: (r, metrics)."""
    rows = [cell.values[measure][resamples, [cell.names.index(name) for name in given.names]] for cell in given.cells]
    return np.asarray(np.round(np.mean(rows, axis=0), DECIMALS))


def rankings(given: Shared, measures: Sequence[Measure]) -> list[Vector]:
    """The mean over cells of every metric on the whole data, for each measure."""
    return [means(given, measure, slice(1))[0] for measure in measures]


def agreement(first: Vector, second: Vector) -> float:
    """Kendall's τ-b of two rankings of the same metrics, -1 to 1; NaN below three metrics."""
    there = np.isfinite(first) & np.isfinite(second)
    alike = np.zeros(int(there.sum()), dtype=np.int64)
    return kendall(Panel(first[there], second[there], alike, alike))


def consistency(given: Shared, measure: Measure, amount: Amount) -> tuple[float, float]:
    """The mean agreement of two halves, and its standard deviation over halvings; NaN where there is none."""
    if not given.names:
        return math.nan, math.nan
    halves = (means(given, measure, resamples) for resamples in (amount.first, amount.second))
    taus = np.array([agreement(*pair) for pair in zip(*halves, strict=True)])
    there = taus[np.isfinite(taus)]
    return (float(there.mean()), float(there.std())) if there.size else (math.nan, math.nan)


def power(given: Shared, first: Measure, second: Measure) -> tuple[float, float]:
    """The share of pairs of metrics that each of two measures separates, of the pairs that both have on a cell."""
    found = []
    for cell in given.cells:
        p = np.stack([cell.p[first], cell.p[second]])[:, *np.triu_indices(len(cell.names), 1)]
        there = np.isfinite(p).all(axis=0)
        if there.any():
            found.append((p[:, there] < ALPHA).mean(axis=1))
    one, other = np.mean(found, axis=0) if found else (math.nan, math.nan)
    return float(one), float(other)
