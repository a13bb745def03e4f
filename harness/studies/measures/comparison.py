"""What is asked of a measure: does it tell metrics apart, does it say the same twice, does it say what another says?

    power         share of pairs of metrics that it separates at 5 %: paired bootstrap, two-sided, each cell and pair by
                  itself without adjustment; mean over cells
    consistency   Kendall's τ-b between the rankings of metrics by two random halves of the data; mean and standard
                  deviation over halvings
    agreement     Kendall's τ-b between the rankings of metrics by two measures

A ranking is by the mean over cells. Two measures are compared on the cells on which both exist and the metrics that
both measure there, so that no data comes between them. The questions are those of Gao et al. (2024), 'Analyzing and
Evaluating Correlation Measures in NLG Meta-Evaluation'; how they are answered is this harness's own.

Resamples are counts of items: the whole, random halves, and a bootstrap. What is drawn, or falls into one half or the
other, is a context with all its items, since items of one context are not independent; where no context is shared
these are the items. All qualities of a dataset share its resamples.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from harness.run.correlate import TargetData
from harness.statistics.bootstrap import all_p_values
from harness.statistics.coefficients import kendall
from harness.statistics.panel import Array, Codes, Panel, Vector
from harness.statistics.resampled_levels import FEW, MEASURES, Measure, Single, Values, values
from harness.studies import TargetGroup

ALPHA = 0.05
DECIMALS = 10
"""Means that are nearer than this are tied."""

MOST = 2000
"""Of more rated items, so many are taken at random, in whole contexts but for the last."""

DEFAULT: Measure = ("items", "spearman")

Name: TypeAlias = tuple[str, str]
"""Metric and column."""


@dataclass(frozen=True, slots=True)
class Amount:
    """How many halvings and how many bootstrap draws; resamples stand as whole, first halves, second halves, draws."""

    halvings: int
    draws: int

    @property
    def first(self) -> slice:
        """The first halves."""
        return slice(1, 1 + self.halvings)

    @property
    def second(self) -> slice:
        """The second halves, in the order of the first."""
        return slice(1 + self.halvings, 1 + 2 * self.halvings)

    @property
    def drawn(self) -> slice:
        """The bootstrap."""
        return slice(1 + 2 * self.halvings, None)


def resamples(cell: TargetData, seed: int, amount: Amount) -> tuple[Codes, Single]:
    """The rows of the cell that are looked at, and how often each resample holds them: (resamples, rows)."""
    own = int.from_bytes(hashlib.sha256(cell.dataset.encode()).digest()[:8], "big")
    rng = np.random.default_rng([seed, own])
    unit = units(cell.units)
    size = int(unit.max()) + 1
    order = rng.permutation(size)
    half = rng.permuted(np.tile(2 * np.arange(size) < size, (amount.halvings, 1)), axis=1)
    drawn = rng.multinomial(size, np.full(size, 1 / size), size=amount.draws)
    rated = np.flatnonzero(np.isfinite(cell.judged.means))
    rows = np.sort(rated[np.argsort(order[unit[rated]], kind="stable")][:MOST])
    counts = np.concatenate([np.ones((1, size)), half, ~half, drawn]).astype(np.float32)
    return rows, counts[:, unit[rows]]


def units(context: Codes) -> Codes:
    """What each item is drawn with: its context, or nothing where contexts are fewer than FEW."""
    contexts = np.unique(context, return_inverse=True)[1].ravel()
    return contexts if contexts.max(initial=-1) + 1 >= FEW else np.arange(len(context))


@dataclass(frozen=True, slots=True)
class MeasuredTarget:
    """A cell under every measure that exists on it: its values, and p for every pair of metrics (metrics, metrics)."""

    names: tuple[Name, ...]
    values: Values
    p: Mapping[Measure, Array]


@dataclass(frozen=True, slots=True)
class SharedTargets:
    """The cells on which two measures exist, and the metrics that both measure on all of them."""

    targets: tuple[MeasuredTarget, ...]
    names: tuple[Name, ...]


def on_both(cells: Sequence[MeasuredTarget], first: Measure, second: Measure) -> SharedTargets:
    """What two measures can be compared on; a measure by itself, if it is named twice."""
    both = tuple(cell for cell in cells if first in cell.values and second in cell.values)
    names = [{name for place, name in enumerate(cell.names)
              if all(math.isfinite(cell.values[measure][0, place]) for measure in (first, second))} for cell in both]
    return SharedTargets(both, tuple(sorted(set.intersection(*names))) if names else ())


def measured(cell: TargetData, seed: int, amount: Amount) -> MeasuredTarget:
    """A cell under every measure."""
    rows, counts = resamples(cell, seed, amount)
    every = values(cell.judged.means[rows], cell.scores[:, rows], cell.system[rows], cell.context[rows], counts)
    return MeasuredTarget(cell.names, every,
                          {measure: all_p_values(value[amount.drawn]) for measure, value in every.items()})


def means(shared: SharedTargets, measure: Measure, resamples: slice) -> Array:
    """The mean over cells of every metric, on some of the resamples: (r, metrics)."""
    rows = [target.values[measure][resamples, [target.names.index(name) for name in shared.names]]
            for target in shared.targets]
    return np.asarray(np.round(np.mean(rows, axis=0), DECIMALS))


def ranking(shared: SharedTargets, measure: Measure) -> Vector:
    """The mean over cells of every metric on the whole data."""
    values: Vector = means(shared, measure, slice(1))[0]
    return values


def agreement(first: Vector, second: Vector) -> float:
    """Kendall's τ-b of two rankings of the same metrics, -1 to 1; NaN below three metrics."""
    known = np.isfinite(first) & np.isfinite(second)
    alike = np.zeros(int(known.sum()), dtype=np.int64)
    return kendall(Panel(first[known], second[known], alike, alike))


def consistency(shared: SharedTargets, measure: Measure, amount: Amount) -> tuple[float, float]:
    """The mean agreement of two halves, and its standard deviation over halvings; NaN where there is none."""
    if not shared.names:
        return math.nan, math.nan
    halves = (means(shared, measure, resamples) for resamples in (amount.first, amount.second))
    taus = np.array([agreement(*pair) for pair in zip(*halves, strict=True)])
    known = taus[np.isfinite(taus)]
    return (float(known.mean()), float(known.std())) if known.size else (math.nan, math.nan)


def power(shared: SharedTargets, first: Measure, second: Measure) -> tuple[float, float]:
    """The share of pairs of metrics that each of two measures separates, of the pairs that both have on a cell."""
    shares = []
    for target in shared.targets:
        p = np.stack([target.p[first], target.p[second]])[:, *np.triu_indices(len(target.names), 1)]
        tested = np.isfinite(p).all(axis=0)
        if tested.any():
            shares.append((p[:, tested] < ALPHA).mean(axis=1))
    mine, others = np.mean(shares, axis=0) if shares else (math.nan, math.nan)
    return float(mine), float(others)


@dataclass(frozen=True, slots=True)
class MeasureRow:
    """A measure; `*_default` is what the default has on the same cells and metrics.

    `ranking` has the metrics that are measured on all cells on which the measure exists, best first, ties together;
    `values` their means over these cells.
    """

    measure: Measure
    cells: int
    metrics: int
    power: float
    power_default: float
    consistency: float
    spread: float
    consistency_default: float
    tau: float
    ranking: tuple[tuple[Name, ...], ...]
    values: Mapping[Name, float]


@dataclass(frozen=True, slots=True)
class MeasureBoard:
    """The measures on one kind of data; τ between every two, and on how many cells and metrics it rests."""

    name: str
    title: str
    cells: int
    thinned: int
    rows: tuple[MeasureRow, ...]
    tau: Array
    behind: tuple[tuple[tuple[int, int], ...], ...]


def board(group: TargetGroup, cells: Sequence[MeasuredTarget], amount: Amount) -> MeasureBoard:
    """Compare the measures that exist on some cell."""
    known = [measure for measure in MEASURES if any(measure in cell.values for cell in cells)]
    pairs = [[on_both(cells, first, second) for second in known] for first in known]
    tau = [[_tau(pairs[i][j], first, second) for j, second in enumerate(known)] for i, first in enumerate(known)]
    behind = tuple(tuple((len(pair.targets), len(pair.names)) for pair in line) for line in pairs)
    thinned = sum(cell.judged.rated > MOST for cell in group.targets)
    rows = tuple(_row(cells, measure, amount) for measure in known)
    return MeasureBoard(group.name, group.title, len(cells), thinned, rows, np.array(tau), behind)


def _row(cells: Sequence[MeasuredTarget], measure: Measure, amount: Amount) -> MeasureRow:
    own, beside = on_both(cells, measure, measure), on_both(cells, measure, DEFAULT)
    own_power, default = power(beside, measure, DEFAULT)
    same, spread = consistency(beside, measure, amount)
    return MeasureRow(measure, len(own.targets), len(beside.names), own_power, default, same, spread,
                      consistency(beside, DEFAULT, amount)[0], _tau(beside, measure, DEFAULT), _tied(own, measure),
                      dict(zip(own.names, ranking(own, measure).tolist(), strict=True)) if own.names else {})


def _tau(shared: SharedTargets, first: Measure, second: Measure) -> float:
    return agreement(ranking(shared, first), ranking(shared, second)) if shared.names else math.nan


def _tied(shared: SharedTargets, measure: Measure) -> tuple[tuple[Name, ...], ...]:
    values = ranking(shared, measure).tolist() if shared.names else []
    return tuple(tuple(name for name, other in zip(shared.names, values, strict=True) if other == value)
                 for value in sorted(set(values), reverse=True))
