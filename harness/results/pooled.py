"""Tests of two columns over all targets of a board or dimension, and the share of the raters' reliability reached."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from harness.results.cache import digest
from harness.results.entries import BoardId, DatasetEntry, fitted
from harness.results.item_scores import on_quality
from harness.results.rows import ColumnKey, Correlation, ItemScores, Results, Target
from harness.statistics import pooled
from harness.statistics.pooled import Difference, Swapped, weights
from harness.statistics.rank_intervals import TargetScores
from harness.statistics.williams import PairTests

STATISTIC = "spearman"
AT_ODDS = "p is adjusted over all pairs, the interval is not"
"""The explanation given where an interval and p disagree, if more than one pair was tested."""


@dataclass(frozen=True, slots=True)
class Lead:
    """Two columns, ordered by their means over targets, and the difference; `only_pair` if no others were tested.

    `few` is True if there are too few contexts for any difference to be established.
    """

    better: ColumnKey
    worse: ColumnKey
    difference: Difference
    only_pair: bool = False
    few: bool = False

    @property
    def verdict(self) -> str:
        """The lead in words, with interval and p."""
        lead = self.difference
        p = "p < 0.001" if lead.p < 0.001 else f"p = {lead.p:.3f}"
        interval = f" [{lead.low:.3f}, {lead.high:.3f}]" if math.isfinite(lead.low) else ""
        return (f"by {lead.value:.3f}{interval}, {p}: {self.state}"
                f"{f' ({AT_ODDS})' if self.at_odds and not lead.none else ''}")

    @property
    def at_odds(self) -> bool:
        """True if the adjustment over all pairs may explain why interval and p disagree."""
        return self.difference.at_odds and not self.only_pair

    @property
    def state(self) -> str:
        return "equal" if self.difference.none else "established" if self.difference.established else "not established"


def by_column(rows: Iterable[Correlation], fitted_pairs: Collection[tuple[str, str]],
              ) -> dict[str, dict[ColumnKey, dict[Target, float]]]:
    """Return the finite values by statistic, column and target, without those of metrics fitted on the ratings."""
    values: dict[str, dict[ColumnKey, dict[Target, float]]] = {}
    for row in rows:
        column = values.setdefault(row.statistic, {}).setdefault((row.metric, row.column), {})
        if math.isfinite(row.value) and (row.metric, row.dataset) not in fitted_pairs:
            column[row.dataset, row.quality] = row.value
    return values


@dataclass(frozen=True, slots=True)
class Pool:
    """Correlations of each column, reliabilities and item scores by target."""

    columns: Mapping[ColumnKey, Mapping[Target, float]]
    reliability: Mapping[Target, float]
    points: Mapping[str, ItemScores]
    entries: Mapping[str, DatasetEntry]
    seed: int
    draws: int
    swapped: dict[Target, Swapped] = field(default_factory=dict)

    @classmethod
    def of(cls, results: Results, draws: int = 0) -> Pool:
        """Index results, without columns on datasets whose ratings they were fitted on; tests use the run's draws."""
        entries = {entry.name: entry for entry in results.datasets}
        values = by_column(results.correlations, fitted(results.metrics, results.datasets)).get(STATISTIC, {})
        columns = {column: row for column, row in values.items() if row}
        reliability = {(row.dataset, row.quality): row.value for row in results.reliability
                       if row.method == "split-half" and math.isfinite(row.value)}
        return cls(columns, reliability, {points.dataset: points for points in results.points}, entries,
                   results.run.seed, draws or int(str(results.run.options.get("permutations") or pooled.DRAWS)))

    def targets(self, split: str = "", origin: str = "", dimension: str = "", datasets: Collection[str] = (),
                ) -> tuple[Target, ...]:
        """Return the targets of a board, kind of data and dimension that have three or more ratings, not all equal."""
        dimension = dimension or BoardId.parse(split).dimension
        return tuple((entry.name, quality.name) for entry in self.entries.values() for quality in entry.qualities
                     if entry.on(split) and origin in ("", entry.kind) and dimension in ("", quality.dimension)
                     and (not datasets or entry.name in datasets) and quality.rated >= 3 and entry.name in self.points
                     and np.ptp((human := self.points[entry.name].human[quality.name])[np.isfinite(human)]) > 0)

    def means(self, targets: Sequence[Target], rule: str = "dev") -> dict[ColumnKey, float]:
        """Return the mean of every column with a value on all targets, best first."""
        weight = weights([dataset for dataset, _ in targets], rule)
        means = {column: float(weight @ [values[target] for target in targets])
                 for column, values in self.columns.items() if targets and values.keys() >= set(targets)}
        return dict(sorted(means.items(), key=lambda mean: (-mean[1], mean[0])))

    def leads(self, targets: Sequence[Target], pairs: Iterable[tuple[ColumnKey, ColumnKey]], rule: str = "dev",
              ) -> list[Lead]:
        """Test pairs of columns by their means over the targets, with p adjusted over all pairs of columns with a mean.

        Leads of a column that lacks a value on some target are NaN.
        """
        ranked, weight = list(self.means(targets, rule)), weights([dataset for dataset, _ in targets], rule)
        rows = [list(self.columns).index(column) for column in ranked]
        swapped = [self.swaps(target).take(rows) for target in targets]
        tests = pooled.all_pairs(swapped, weight) if ranked else PairTests.empty(0)
        p, too_few = pooled.adjusted(tests, self.draws), bool((tests.least >= pooled.ALPHA).any())
        leads, only_pair = [], len(ranked) == 2
        for first, second in pairs:
            lead = Difference(*(math.nan,) * 4)
            if {first, second} <= set(ranked):
                row, column = ranked.index(first), ranked.index(second)
                lead = pooled.difference(swapped, weight, row, column, float(p[row, column]))
            leads.append(Lead(second, first, Difference(-lead.value, -lead.high, -lead.low, lead.p), only_pair, too_few)
                         if lead.value < 0 else Lead(first, second, lead, only_pair, too_few))
        return leads

    def swaps(self, target: Target) -> Swapped:
        """Return the correlations of all columns on a target, and their changes when contexts are swapped."""
        if target not in self.swapped:
            scores = self.target_scores(target, list(self.columns))
            self.swapped[target] = pooled.swapped(scores, self.seed, self.draws)
        return self.swapped[target]

    def digests(self, targets: Sequence[Target], columns: Sequence[ColumnKey]) -> list[str]:
        """Return a digest per column, equal for columns with the same scores up to rounding errors."""
        tables = [self.target_scores(target, columns).scores.astype(np.float64) + 0  # -0 becomes 0
                  for target in targets]
        rounded = [(scores.view(np.int64) + 2**28) >> 29 for scores in tables]  # 24 bits, as float32, but any exponent
        return [digest(*(scores[row] for scores in rounded)) for row in range(len(columns))]

    def reached(self, targets: Sequence[Target], column: ColumnKey, rule: str = "dev") -> tuple[float, int]:
        """Return a column's mean as a share of an errorless metric's mean, and the number of targets in both means.

        Targets without a reliability above 0 are left out.
        """
        values, reliability = (np.array([by_target.get(target, math.nan) for target in targets], dtype=np.float64)
                               for by_target in (self.columns.get(column, {}), self.reliability))
        return (pooled.share_reached(values, reliability, weights([dataset for dataset, _ in targets], rule)),
                int((np.isfinite(values) & (reliability > 0)).sum()))

    def target_scores(self, target: Target, names: Sequence[ColumnKey]) -> TargetScores:
        """Return the ratings of a target and the scores of columns, NaN for columns fitted on it."""
        dataset, quality = target
        points, missing = self.points[dataset], np.full(len(self.points[dataset].items), np.nan)
        (dimension,) = (entry.dimension for entry in self.entries[dataset].qualities if entry.name == quality)
        scores = [on_quality(points.scores, name, dimension) if target in self.columns.get(name, ()) else missing
                  for name in names]
        return TargetScores(dataset, points.human[quality], np.array(scores), points.units)

    def rated(self, target: Target) -> tuple[int, int]:
        """Return the numbers of rated items of a target and of their contexts; without item scores, of all contexts."""
        dataset, quality = target
        if dataset in self.points:
            data = self.target_scores(target, ())
            return int(np.isfinite(data.human).sum()), int(data.rated.sum())
        entry = self.entries[dataset]
        items = next(row.rated for row in entry.qualities if row.name == quality)
        return items, min(entry.contexts, items) or items
