"""How certain the ranks of a board are: intervals, letters and standard errors from resamples of contexts and datasets.

The resamples of a dataset are made once, when a board first asks for them, and serve all its boards.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from harness.results.cache import Cache, digest
from harness.results.rows import RankingRow
from harness.run.compare import generator
from harness.run.correlate import TargetData
from harness.run.plan import Draws
from harness.statistics import rank_intervals
from harness.statistics.panel import Array
from harness.statistics.rank_intervals import Drawn, TargetScores

STATISTIC = "spearman"
FEWEST = 6
"""Contexts below which no metrics are told apart by letters: swapped whole, fewer allow no p below 5 %."""

VECTORISED: Mapping[str, rank_intervals.Rule] = {
    "dev": lambda datasets: np.asarray(np.mean([targets.mean(axis=0) for targets in datasets], axis=0)),
    "test": lambda datasets: np.asarray(np.vstack(datasets).mean(axis=0)),
}
"""The rules of `rank.RULES` for all columns at once."""

Column = tuple[str, str]


class RankIntervals:
    """The intervals of ranks on the boards of some targets."""

    def __init__(self, targets: Sequence[TargetData], draws: Draws, cache: Cache) -> None:
        self._draws, self._cache = draws, cache
        self._by_dataset: dict[str, list[TargetData]] = {}
        for target in targets:
            self._by_dataset.setdefault(target.dataset, []).append(target)
        self._made: dict[str, tuple[Array, Array]] = {}

    def beside(self, rows: Sequence[RankingRow], cells: frozenset[tuple[str, str]]) -> Iterator[RankingRow]:
        """The ranking of a board; with draws, the rows by Spearman that have a rank get its interval and letters."""
        columns = sorted({(row.metric, row.column) for row in rows if row.statistic == STATISTIC and row.rank})
        targets = [target for own in self._by_dataset.values() for target in own if target.key in cells]
        intervals = self._of(columns, targets, list(dict.fromkeys(row.rule for row in rows)))
        contexts = sum(len(np.unique(units)) for units in {target.dataset: target.units for target in targets}.values())
        for row in rows:
            interval = intervals.get((row.rule, row.metric, row.column)) if row.statistic == STATISTIC else None
            if interval is None:
                yield row
            else:
                low, high, letters, error = interval
                yield replace(row, low=low, high=high, letters=letters if contexts >= FEWEST else "", error=error)

    def _of(self, columns: Sequence[Column], targets: Sequence[TargetData], rules: Sequence[str],
            ) -> dict[tuple[str, str, str], tuple[float, float, str, float]]:
        """Low, high, letters and standard error by rule and column, from the cache or drawn."""
        if not self._draws.ranks or len(columns) < 2:
            return {}
        scores = [_scores(target, [target.names.index(name) for name in columns]) for target in targets]
        held = [[target.dataset, target.quality, digest(own.human, own.scores, target.units)]
                for own, target in zip(scores, targets, strict=True)]
        drawn = functools.cache(functools.partial(self._drawn, targets, columns))
        intervals: dict[tuple[str, str, str], tuple[float, float, str, float]] = {}
        for rule in rules:
            rows = self._cache.get("ranks", [rule, self._draws.seed, self._draws.ranks, columns, held],
                                   functools.partial(_intervals, rule, drawn))
            intervals |= {(rule, *name): row for name, row in zip(columns, zip(*rows, strict=True), strict=True)}
        return intervals

    def _drawn(self, targets: Sequence[TargetData], columns: Sequence[Column]) -> tuple[list[Array], Drawn]:
        """The correlations of some columns with some targets, by dataset: on all items, and on the resamples."""
        keys = {target.key for target in targets}
        whole, resampled = [], []
        for dataset in dict.fromkeys(target.dataset for target in targets):
            every = self._by_dataset[dataset]
            own = [place for place, target in enumerate(every) if target.key in keys]
            places = [every[0].names.index(name) for name in columns]
            on_all, on_resamples = self._correlations(dataset)
            whole.append(np.ascontiguousarray(on_all[own][:, places]))
            resampled.append(on_resamples[:, own][:, :, places])
        return whole, Drawn(resampled, rank_intervals.jointly(len(resampled), self._draws.ranks,
                                                              np.random.default_rng(self._draws.seed)))

    def _correlations(self, dataset: str) -> tuple[Array, Array]:
        """Those of every column and target of a dataset, on all items and on the resamples."""
        if dataset not in self._made:
            targets = self._by_dataset[dataset]
            places = range(len(targets[0].names))
            key = [dataset, self._draws.seed, self._draws.ranks, digest(*(own.judged.means for own in targets)),
                   digest(targets[0].units)]
            columns = [digest(*(own.scores[place] for own in targets)) for place in places]
            rows = self._cache.rows("resampled", key, columns, functools.partial(self._resampled, targets))
            values = rows.reshape(len(places), 1 + self._draws.ranks, len(targets)).transpose(1, 2, 0)
            self._made[dataset] = values[0], values[1:]
        return self._made[dataset]

    def _resampled(self, targets: Sequence[TargetData], places: Sequence[int]) -> Array:
        """Those of some columns on all items, then on the resamples: (columns, (1 + draws) x targets)."""
        scores = [_scores(target, places) for target in targets]
        made = rank_intervals.resampled(scores, self._draws.ranks, STATISTIC,
                                        generator(self._draws.seed, targets[0].dataset, ""))
        values = np.concatenate([rank_intervals.correlations(scores), made])
        return values.transpose(2, 0, 1).reshape(len(places), -1)


def _intervals(rule: str, drawn: Callable[[], tuple[list[Array], Drawn]]) -> list[list[object]]:
    """Low, high, letters and standard error of every column under a rule."""
    combined, (whole, resampled) = VECTORISED[rule], drawn()
    values = resampled.means() if rule == "dev" else resampled.values(combined)
    ranks = rank_intervals.ranked(combined(whole), values)
    return [ranks.low.tolist(), ranks.high.tolist(), list(ranks.letters), resampled.error(combined).tolist()]


def _scores(target: TargetData, columns: Sequence[int]) -> TargetScores:
    return TargetScores(target.dataset, target.judged.means, target.scores[list(columns)], target.units)
