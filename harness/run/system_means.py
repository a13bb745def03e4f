"""Mean ratings of systems, or of a whole dataset, from its ratings and the scores of one column."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from benchmarks.errors import nearest, plural
from harness.errors import BadConfig
from harness.run.correlate import TargetData
from harness.run.plan import Plan
from harness.run.prepare import Workspace
from harness.run.run import run_with_data
from harness.statistics.panel import Codes, Vector, codes
from harness.statistics.pooled import ALPHA
from harness.statistics.prediction import means

ALL = "all"
"""The name of the system in the estimate of a whole dataset."""

UNNAMED = "not named"
NO_INTERVAL = "no interval"
MIN_CONTEXTS = 3
"""Minimum number of rated contexts for an interval; from this number on, measured intervals cover 95 %."""

By = Literal["system", "all"]


@dataclass(frozen=True, slots=True)
class SystemMean:
    """The mean rating of a system with its 95 % interval, from ratings and scores and from ratings alone.

    Numbers that cannot be computed are NaN, and `note` gives the reason. `worth` is the number of ratings that one
    rating with the scores replaces, `better_than` lists the systems with a significantly lower mean, adjusted by Holm
    over all pairs; `origin` is sample or real.
    """

    dataset: str
    quality: str
    metric: str
    column: str
    system: str
    items: int
    rated: int
    mean: float
    low: float
    high: float
    ratings_mean: float
    ratings_low: float
    ratings_high: float
    worth: float
    better_than: tuple[str, ...] = ()
    note: str = ""
    origin: str = ""


def system_means(plan: Plan, work: Workspace, column: str = "", by: By = "system") -> list[SystemMean]:
    """Score the datasets of a plan with its metric, and estimate the mean ratings on each quality."""
    if len(plan.chosen) != 1:
        raise BadConfig("an estimate uses the scores of exactly one metric; name it with --metric NAME")
    results, targets = run_with_data(dataclasses.replace(plan, quick=True), work)
    for reason in (*(failure.error for failure in results.failures), *(skip.reason for skip in results.skips)):
        raise BadConfig(f"{plan.chosen[0].label} has no scores: {reason}")
    systems = {points.dataset: points.systems for points in results.points}
    origins = {entry.name: entry.kind for entry in results.datasets}
    return [dataclasses.replace(row, origin=origins[target.dataset]) for target in targets
            for row in target_means(target, systems[target.dataset], column, by)]


def target_means(target: TargetData, systems: Sequence[str], column: str = "", by: By = "system",
                 ) -> Iterator[SystemMean]:
    """Estimate the mean rating of each system, or of all items, from a column, by default the first."""
    metric, columns = target.names[0][0], [name for _, name in target.names]
    if column and column not in columns:
        raise BadConfig(f"{metric} has no column {column!r}; {nearest(column, columns)}")
    scores = target.scores[columns.index(column) if column else 0]
    human, quality = target.judged.means, target.judged.quality
    labels = [name or UNNAMED for name in systems] if by == "system" and any(systems) else [ALL] * len(systems)
    system = codes(labels)
    scale = None if quality.low is None or quality.high is None else (quality.low, quality.high)
    predicted, baseline = (means(human, values, system, target.units, scale) for values in (scores, None))
    (low, high), (ratings_low, ratings_high), p = predicted.intervals, baseline.intervals, predicted.pairs()
    with np.errstate(invalid="ignore", divide="ignore"):
        worth = ((ratings_high - ratings_low) / (high - low)) ** 2
    names = list(dict.fromkeys(labels))
    notes = [_note(human[system == index], scores[system == index], target.units[system == index])
             for index in range(len(names))]
    has_interval = [not note.startswith(NO_INTERVAL) for note in notes]
    for index, (name, note) in enumerate(zip(names, notes, strict=True)):
        rated = int(np.isfinite(human[system == index]).sum())
        values = [float(vector[index]) if has_interval[index] else math.nan
                for vector in (low, high, ratings_low, ratings_high, worth)]
        better = tuple(other for rival, other in enumerate(names) if has_interval[index] and has_interval[rival]
                       and p[index, rival] < ALPHA and predicted.values[index] > predicted.values[rival])
        yield SystemMean(*target.key, metric, column or columns[0], name, labels.count(name), rated,
                         float(predicted.values[index]), values[0], values[1], float(baseline.values[index]), values[2],
                         values[3], values[4], better, note)


def _note(human: Vector, scores: Vector, units: Codes) -> str:
    """Return why a system has no interval or its estimate uses the ratings alone, or how many items were left out."""
    ratings, contexts = human[np.isfinite(human)], len(np.unique(units[np.isfinite(human)]))
    if not ratings.size:
        return f"{NO_INTERVAL}: no item has a rating"
    if np.ptp(ratings) == 0:
        ratings_text = f"each of {ratings.size} ratings" if ratings.size > 1 else "its only rating"
        return f"{NO_INTERVAL}: {ratings_text} is {ratings[0]:g}"
    if contexts < MIN_CONTEXTS:
        return f"{NO_INTERVAL}: ratings in {plural(contexts, 'context')}, {MIN_CONTEXTS} are needed"
    if missing := int(np.isnan(scores).sum()):
        return f"{plural(missing, 'item')} without a score left out"
    if ratings.size == human.size:
        return "every item is rated, so scores have nothing to add"
    return "every score is the same: ratings alone" if np.ptp(scores) == 0 else ""
