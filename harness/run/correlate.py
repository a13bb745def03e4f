"""From scores and ratings to correlations: one panel per quality and column, one estimate per statistic."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from benchmarks.dataset import Dataset, Quality
from harness.results.rows import Correlation
from harness.scoring.score import AGGREGATIONS, Scores
from harness.statistics import estimates
from harness.statistics.panel import Codes, Panel, Vector, codes, panel
from metrics.column import of_quality, split_quality


@dataclass(frozen=True, slots=True)
class Judged:
    """A quality of a dataset with its votes and their mean per item, in the order of the items; NaN where none."""

    quality: Quality
    votes: tuple[tuple[float, ...], ...]
    means: Vector

    @property
    def rated(self) -> int:
        """How many items have votes."""
        return int(np.isfinite(self.means).sum())

    @property
    def usable(self) -> bool:
        """Whether any metric could correlate: three ratings that are not all the same."""
        rated = self.means[np.isfinite(self.means)]
        return rated.size >= 3 and bool(np.ptp(rated) > 0)


def judged(dataset: Dataset, wanted: Iterable[Quality]) -> tuple[Judged, ...]:
    """The mean ratings of each wanted quality, joined to the items by id."""
    votes = {(rating.item, rating.quality): rating.votes for rating in dataset.ratings}
    by_quality = {quality: tuple(votes.get((item.id, quality.name), ()) for item in dataset.items)
                  for quality in wanted}
    return tuple(Judged(quality, each, np.array(list(map(_mean, each)))) for quality, each in by_quality.items())


@dataclass(frozen=True, slots=True)
class TargetData:
    """One quality of a dataset with the scores (columns, items) of every column: all that statistics need."""

    dataset: str
    judged: Judged
    names: tuple[tuple[str, str], ...]
    scores: npt.NDArray[np.float64]
    system: Codes
    context: Codes

    @property
    def quality(self) -> str:
        """The quality's name."""
        return self.judged.quality.name

    def panel(self, row: int) -> Panel:
        """The panel of one column."""
        return panel(self.scores[row], self.judged.means, self.system, self.context)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a metric, in the order of the items; `scores` may hold one of its own for a quality beside it."""

    name: str
    scores: Mapping[str, Vector]

    def on(self, dimension: str) -> Vector:
        """The scores for one quality: those made for it (`COLUMN@QUALITY`) take the place of the plain ones."""
        return self.scores.get(of_quality(self.name, dimension), self.scores[self.name])

    def has(self, dimension: str) -> bool:
        """Whether there are scores made for one quality."""
        return of_quality(self.name, dimension) in self.scores


def columns(
    dataset: Dataset, scored: Mapping[tuple[str, str], Scores], aggregations: Iterable[str] = ("mean",)
) -> dict[tuple[str, str], Column]:
    """Every selected column, by metric and column; `scored` has metric label and column suffix as its key."""
    ways = frozenset(aggregations)
    return {(label, name + suffix): Column(name, aligned)
            for (label, suffix), scores in scored.items()
            for aligned in (_aligned(dataset, scores),)
            for name in aligned if _wanted(name, aligned, ways)}


def targets(
    dataset: Dataset,
    qualities: Iterable[Judged],
    scored: Mapping[tuple[str, str], Scores],
    aggregations: Iterable[str] = ("mean",),
) -> tuple[TargetData, ...]:
    """One target per quality, with the scores of every column for it."""
    by_name = columns(dataset, scored, aggregations)
    system, context = codes(item.system for item in dataset.items), codes(item.context for item in dataset.items)
    plain = _table(dataset, by_name.values(), "")
    own = any(split_quality(name, column.scores)[1] for column in by_name.values() for name in column.scores)
    return tuple(TargetData(dataset.card.name, ratings, tuple(by_name),
                            _table(dataset, by_name.values(), ratings.quality.dimension) if own else plain, system,
                            context) for ratings in qualities)


def correlations(target: TargetData) -> Iterator[Correlation]:
    """Every statistic for every column of a target."""
    for row, (metric, column) in enumerate(target.names):
        panel = target.panel(row)
        for statistic in estimates.DEFAULT:
            estimate = estimates.estimate(panel, statistic)
            yield Correlation(target.dataset, target.quality, metric, column, statistic, panel.n,
                              estimate.value, estimate.p, estimate.low, estimate.high, estimate.note)


def _aligned(dataset: Dataset, scores: Scores) -> dict[str, Vector]:
    """The columns in the order of the dataset's items, joined by id."""
    if scores.items == tuple(item.id for item in dataset.items):
        return dict(scores.columns)
    place = {name: number for number, name in enumerate(scores.items)}
    order = [place[item.id] for item in dataset.items]
    return {name: column[order] for name, column in scores.columns.items()}


def _table(dataset: Dataset, columns: Collection[Column], dimension: str) -> npt.NDArray[np.float64]:
    """The scores (columns, items) for one quality."""
    scores = [column.on(dimension) for column in columns]
    return np.array(scores, dtype=np.float64).reshape(len(columns), len(dataset.items))


def _wanted(column: str, columns: Collection[str], ways: frozenset[str]) -> bool:
    """Whether a column was selected: turns together in one of the ways, or scores that are of no turns."""
    if split_quality(column, columns)[1]:
        return False  # it stands for the plain one on its quality
    plain, _, way = column.rpartition(":")
    if way in AGGREGATIONS and plain in columns:  # a column of another library can be named so by itself
        return way in ways
    return "mean" in ways or f"{column}:sum" not in columns


def _mean(votes: tuple[float, ...]) -> float:
    return float(np.mean(votes)) if votes else np.nan
