"""Any statistic at any level, and any test of two columns, from the item scores of results: no metric runs again.

`harness report --statistic X --level Y --test Z` shows them; `harness run --statistic X --level Y` keeps the
correlations with the others.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.errors import BadConfig
from harness.results.rows import Comparison, Correlation, DatasetEntry, ItemScores, Results
from harness.run.compare import comparison_rows, generator, labels
from harness.run.correlate import Judged
from harness.statistics.bootstrap import bootstrap, paired_bootstrap
from harness.statistics.estimates import at_level, estimate, full_name
from harness.statistics.panel import Array, Codes, Panel, Statistic, Vector, codes, panel
from harness.statistics.resampled import QUICK
from harness.statistics.williams import FORMULAS, all_pairs_williams
from metrics.column import of_quality

Name = tuple[str, str]
"""Metric and column."""

BY_FORMULA = ("spearman", "pearson", "kendall")
"""Statistics whose differences have a test by formula."""


@dataclass(frozen=True, slots=True)
class Request:
    """A statistic at a level, and how many resamples of contexts an interval or a test draws; 0 for none."""

    statistic: str = "spearman"
    level: str = "items"
    draws: int = 0
    seed: int = 0

    @property
    def name(self) -> str:
        """What the statistic is called in the results."""
        return full_name(self.statistic, self.level)

    @property
    def resampled(self) -> str | Statistic:
        """The statistic as the bootstrap takes it."""
        quick = self.statistic in QUICK and self.level == "items"
        return self.statistic if quick else at_level(self.statistic, self.level)


@dataclass(frozen=True, slots=True)
class TargetItems:
    """One quality of a dataset with the scores (columns, items) of every column for it."""

    dataset: str
    quality: str
    names: tuple[Name, ...]
    human: Vector
    scores: Array
    system: Codes
    context: Codes
    words: Vector

    def panel(self, row: int) -> Panel:
        """The panel of one column, its control being the number of words."""
        return panel(self.scores[row], self.human, self.system, self.context, self.words)


def targets(points: ItemScores, dimensions: Mapping[str, str]) -> Iterator[TargetItems]:
    """Every quality of a dataset; `dimensions` names the dimension of each, for columns of their own on it."""
    own = {(metric, of_quality(column, dimension)) for metric, column in points.scores
           for dimension in dimensions.values() if dimension}
    names = tuple(name for name in points.scores if name not in own)
    system, words = codes(points.systems), points.words.astype(np.float64)
    for quality, human in points.human.items():
        scores = [points.scores.get((name[0], of_quality(name[1], dimensions[quality])), points.scores[name])
                  for name in names]
        yield TargetItems(points.dataset, quality, names, human.astype(np.float64),
                          np.array(scores, dtype=np.float64).reshape(len(names), len(human)), system,
                          points.contexts, words)


def requested(points: ItemScores, qualities: Iterable[Judged], statistics: Sequence[tuple[str, str]],
              ) -> Iterator[Correlation]:
    """The correlations of a dataset by statistics beside the default ones, each with its level."""
    if statistics:
        for target in targets(points, {one.quality.name: one.quality.dimension for one in qualities}):
            for statistic, level in statistics:
                yield from correlations(target, Request(statistic, level))


def correlations(target: TargetItems, request: Request) -> Iterator[Correlation]:
    """Every column of a target by the requested statistic, with the interval of the bootstrap where draws are."""
    for row, (metric, column) in enumerate(target.names):
        items = target.panel(row)
        value = estimate(items, request.statistic, request.level)
        low, high = value.low, value.high
        if request.draws and not value.note:
            rng = generator(request.seed, target.dataset, target.quality)
            interval = bootstrap(items, request.resampled, rng, request.draws)
            low, high = interval.low, interval.high
        yield Correlation(target.dataset, target.quality, metric, column, request.name, value.n, value.value, value.p,
                          low, high, value.note)


def comparisons(target: TargetItems, request: Request, test: str) -> Iterator[Comparison]:
    """Every two columns of a target by the requested statistic and test."""
    if test == "bootstrap":
        tests = paired_bootstrap(target.human, target.scores, target.system, target.context, request.resampled,
                                 generator(request.seed, target.dataset, target.quality), request.draws, target.words)
    else:
        tests = all_pairs_williams(target.human, target.scores, request.statistic, FORMULAS[test])
    yield from comparison_rows(target.dataset, target.quality, labels(target.names), request.name, test, tests)


def restated(results: Results, request: Request, test: str, wanted: Callable[[str, str], bool]) -> Results:
    """The results with the requested statistic alone, and with its comparisons by a test where one is named."""
    if test in FORMULAS and (request.level != "items" or request.statistic not in BY_FORMULA):
        raise BadConfig(f"--test {test} is for {', '.join(BY_FORMULA)} over items; --test bootstrap compares by "
                        f"{request.name}")
    entries = {entry.name: entry for entry in results.datasets}
    chosen = [target for points in results.points for target in targets(points, dimensions(entries[points.dataset]))
              if wanted(target.dataset, target.quality)]
    if not chosen:
        raise BadConfig("the results hold no item scores of these datasets; `harness run` writes them into points/")
    intervals = request if not test else replace(request, draws=0)
    return replace(
        results, correlations=tuple(row for target in chosen for row in correlations(target, intervals)),
        comparisons=tuple(row for target in chosen for row in comparisons(target, request, test)) if test else ())


def dimensions(entry: DatasetEntry) -> dict[str, str]:
    """The dimension of each quality of a dataset."""
    return {quality.name: quality.dimension for quality in entry.qualities}
