"""Tests of two columns over all targets of a board or dimension, and the share of the raters' reliability reached."""

from __future__ import annotations

import functools
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.results.cache import Cache, digest
from harness.results.item_scores import on_quality
from harness.results.rows import BoardId, ColumnKey, DatasetEntry, ItemScores, QualityEntry, Results, Target, fitted
from harness.statistics.panel import Array, Vector
from harness.statistics.pooled import Difference, all_pairs, differences, share_reached, weights
from harness.statistics.rank_intervals import TargetScores
from harness.statistics.significance import holm

STATISTIC, RELIABILITY = "spearman", "split-half"
FOLLOWING = 5
"""Runners-up that a leader is tested against."""
DRAWS, RESAMPLES = 10_000, 500
"""Swaps for a p, which can be below .001 after Holm, and resamples for an interval."""
FEWEST, AFFORDED = 100, 50_000_000
"""Minimum of draws, and the items times draws that a page may take."""


@dataclass(frozen=True, slots=True)
class Lead:
    """The column with the higher mean over targets, and its lead over the other."""

    better: ColumnKey
    worse: ColumnKey
    difference: Difference

    @property
    def verdict(self) -> str:
        """The lead in words, with interval and p."""
        lead = self.difference
        p = "p < .001" if lead.p < 0.001 else f"p = {_short(lead.p)}"
        interval = f" [{_short(lead.low)}, {_short(lead.high)}]" if math.isfinite(lead.low) else ""
        return f"by {_short(lead.value)}{interval}, {p}: {'established' if lead.established else 'not established'}"


@dataclass(frozen=True, slots=True)
class Pool:
    """Correlations of each column, reliabilities and item scores by target."""

    columns: Mapping[ColumnKey, Mapping[Target, float]]
    reliability: Mapping[Target, float]
    points: Mapping[str, ItemScores]
    entries: Mapping[str, DatasetEntry]
    seed: int
    cache: Cache | None = None

    @classmethod
    def of(cls, results: Results) -> Pool:
        """Index results, without columns on datasets whose ratings they were fitted on."""
        entries = {entry.name: entry for entry in results.datasets}
        without = fitted(results.metrics, results.datasets)
        columns: dict[ColumnKey, dict[Target, float]] = {}
        for row in results.correlations:
            if row.statistic == STATISTIC and math.isfinite(row.value) and (row.metric, row.dataset) not in without:
                columns.setdefault((row.metric, row.column), {})[row.dataset, row.quality] = row.value
        reliability = {(row.dataset, row.quality): row.value for row in results.reliability
                       if row.method == RELIABILITY and math.isfinite(row.value)}
        return cls(columns, reliability, {points.dataset: points for points in results.points}, entries,
                   results.run.seed, results.cache)

    def targets(self, split: str = "", origin: str = "", dimension: str = "", datasets: Collection[str] = (),
                ) -> tuple[Target, ...]:
        """Return the rated targets of a board and kind of data, and of a dimension."""
        dimension = dimension or BoardId.parse(split).dimension
        return tuple((entry.name, quality.name) for entry, quality in self._usable()
                     if entry.on(split) and origin in ("", entry.kind)
                     and dimension in ("", quality.dimension) and (not datasets or entry.name in datasets))

    def means(self, targets: Sequence[Target], rule: str = "dev") -> dict[ColumnKey, float]:
        """Return the mean of every column with a value on all targets, best first."""
        weight = weights([dataset for dataset, _ in targets], rule)
        means = {column: float(weight @ [values[target] for target in targets])
                 for column, values in self.columns.items() if targets and values.keys() >= set(targets)}
        return dict(sorted(means.items(), key=lambda mean: (-mean[1], mean[0])))

    def leads(self, targets: Sequence[Target], families: Iterable[Sequence[ColumnKey]], rule: str = "dev",
              ) -> list[Lead]:
        """Test each first column against its second over the targets, by PERM-BOTH.

        p is adjusted by Holm over all columns of a family after the first. A column without a value on some target has
        NaN.
        """
        wanted = list(families)
        if not wanted:
            return []
        names = list(dict.fromkeys(name for family in wanted for name in family))
        indices = [[names.index(name) for name in family] for family in wanted]
        scores = [self.target_scores(target, names) for target in targets]
        drawn = functools.partial(_drawn, scores, indices, rule, self.seed)
        keys = [digest(*(table for target in scores for table in (target.human, target.scores[family], target.context)))
                for family in indices]
        rows = self.cache.rows("leads", [rule, self.seed, *targets], keys, drawn) if self.cache else drawn(
            range(len(indices)))
        tested = [Difference(*row) for row in rows.tolist()]
        return [Lead(second, first, Difference(-lead.value, -lead.high, -lead.low, lead.p)) if lead.value < 0
                else Lead(first, second, lead) for (first, second, *_), lead in zip(wanted, tested, strict=True)]

    def digests(self, targets: Sequence[Target], columns: Sequence[ColumnKey]) -> list[str]:
        """Return a digest per column, equal for columns with the same scores up to rounding errors."""
        tables = [self.target_scores(target, columns).scores.astype(np.float32) + 0  # -0 becomes 0
                  for target in targets]
        return [digest(*(scores[row] for scores in tables)) for row in range(len(columns))]

    def reached(self, targets: Sequence[Target], column: ColumnKey, rule: str = "dev") -> float:
        """Return the mean share of the raters' reliability, over the targets where it is known."""
        values, reliability = (np.array([known.get(target, math.nan) for target in targets], dtype=np.float64)
                               for known in (self.columns.get(column, {}), self.reliability))
        return share_reached(values, reliability, weights([dataset for dataset, _ in targets], rule))

    def _usable(self) -> Iterable[tuple[DatasetEntry, QualityEntry]]:
        """Return the qualities with at least three ratings that are not all equal."""
        for entry in self.entries.values():
            for quality in entry.qualities:
                if quality.rated >= 3 and entry.name in self.points:
                    human = self.points[entry.name].human[quality.name]
                    if np.ptp(human[np.isfinite(human)]) > 0:
                        yield entry, quality

    def target_scores(self, target: Target, names: Sequence[ColumnKey]) -> TargetScores:
        """Return the ratings of a target and the scores of columns, without those fitted on it."""
        dataset, quality = target
        points = self.points[dataset]
        (dimension,) = (entry.dimension for entry in self.entries[dataset].qualities if entry.name == quality)

        def scores(name: ColumnKey) -> Vector:
            known = target in self.columns.get(name, ())
            return on_quality(points.scores, name, dimension) if known else np.full(len(points.items), np.nan)

        return TargetScores(dataset, points.human[quality], np.array([scores(name) for name in names]),
                            points.contexts if points.conversations is None else points.conversations)


def _drawn(every: Sequence[TargetScores], families: Sequence[Sequence[int]], rule: str, seed: int,
           chosen: Sequence[int]) -> Array:
    """Return difference, interval and p of the first two columns of each chosen family: (families, 4)."""
    leads = {families[family][0] for family in chosen}
    used = sorted({column for family in chosen for column in families[family]},
                  key=lambda column: (column not in leads, column))
    families = [[used.index(column) for column in families[family]] for family in chosen]
    scores = [replace(target, scores=target.scores[used]) for target in every]
    items = sum({target.dataset: len(target.human) for target in scores}.values())
    draws = max(FEWEST, min(DRAWS, AFFORDED // max(items, 1)))
    intervals = differences(scores, [(family[0], family[1]) for family in families], np.random.default_rng(seed), rule,
                            min(RESAMPLES, draws), STATISTIC)
    weight = weights([target.dataset for target in scores], rule)
    p = all_pairs(scores, weight[None], np.random.default_rng(seed), draws, STATISTIC, leads=len(leads))[0].p
    return np.array([[lead.value, lead.low, lead.high, holm(p[family[0], family[1:]])[0]]
                     for lead, family in zip(intervals, families, strict=True)])


def _short(value: float) -> str:
    """Format three decimals without the leading zero."""
    return f"{value:.3f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.3f}"
