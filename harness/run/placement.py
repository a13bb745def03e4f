"""Where a metric would stand among those of an earlier run, and which of its neighbours it can be told apart from.

Two reports go in: that of the earlier run, and one of the metric alone over the same datasets. A board is made of one
split and one kind of data as in the report itself. Where the metric lacks some of its cells, all are ranked anew on the
cells that it has. What is compared item by item are the scores behind both reports, joined by item id.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from harness.errors import BadReport
from harness.results.item_scores import ColumnKey, labels
from harness.results.rows import BoardId, Correlation, DatasetEntry, RankingRow, Results
from harness.run import correlate
from harness.run.compare import generator
from harness.run.correlate import TargetData
from harness.run.rank import RULES, Target, ranking, unseen
from harness.statistics.permutation import all_pairs_by_permutation, below_draws
from harness.statistics.rank_intervals import rank
from harness.statistics.significance import holm

STATISTIC = "spearman"
ALPHA, DRAWS = 0.05, 1000
EACH_SIDE = 5
TOP = 3
CONTROL = "length"
"""The metric that everything is compared with: how many words a response has."""

_Targets: TypeAlias = Mapping[Target, TargetData]


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A line of the board, and in how many cells the metric's column is significantly better or worse than it.

    `gap` where lines of the board are left out above it.
    """

    rank: int
    metric: str
    column: str
    value: float
    own: bool
    better: int = 0
    worse: int = 0
    compared: int = 0
    gap: bool = False


@dataclass(frozen=True, slots=True)
class Reached:
    """What the column reaches on one quality, and its place there among all that are ranked."""

    dataset: str
    quality: str
    value: float
    place: int
    of: int


@dataclass(frozen=True, slots=True)
class Around:
    """The board around a metric's best column; `ranked` columns are on it, over `cells` of the board's `whole` cells.

    `tests` is how many comparisons Holm's adjustment is over: every neighbour shown, on every cell.
    """

    split: str
    origin: str
    rule: str
    cells: int
    whole: int
    ranked: int
    metric: str
    column: str
    tests: int
    neighbours: tuple[Neighbour, ...]
    reached: tuple[Reached, ...]


def around(earlier: Results, own: Results) -> Iterator[Around]:
    """The boards on which each metric of `own` has a place, by the rule of each board."""
    metrics = {entry.name for entry in own.metrics}
    both = {entry.name: (entry, other) for entry in own.datasets for other in earlier.datasets
            if (entry.name, entry.kind) == (other.name, other.kind)}
    for entry, other in both.values():
        _check(entry, other)
    targets = _targets(earlier, own, metrics)
    own_rows = unseen(own.correlations, own.metrics, own.datasets)
    others = unseen((row for row in earlier.correlations if row.metric not in metrics), earlier.metrics,
                    earlier.datasets)
    rows = [row for row in (*others, *own_rows) if row.statistic == STATISTIC]
    boards = sorted({(entry.split, entry.kind) for entry, _ in both.values()})
    for metric, (split, kind) in itertools.product(sorted(metrics), boards):
        whole = frozenset(_usable(earlier, split, kind))
        own_cells = {(row.dataset, row.quality) for row in rows if row.metric == metric and math.isfinite(row.value)}
        cells = whole & own_cells
        if cells:
            rule = split if split in RULES else "dev"
            ranked = [row for row in ranking(BoardId(split), kind, cells, rows)
                      if row.rule == rule and row.rank is not None]
            yield from _around(sorted(cells), len(whole), metric, ranked, rows, targets, earlier.run.seed)


def _check(own: DatasetEntry, other: DatasetEntry) -> None:
    """Refuse to compare scores of other items or with other ratings."""
    if own.fingerprint != other.fingerprint:
        raise BadReport(f"{own.name}: the items here are not those of the report; run `harness run` again")
    if other.ratings_fingerprint not in ("", own.ratings_fingerprint):
        raise BadReport(f"{own.name}: the report was made with other ratings; name them by --ratings, or run "
                        "`harness run` again")


def _usable(report: Results, split: str, kind: str) -> Iterator[Target]:
    """The cells of a board: qualities with three ratings that are not all the same."""
    entries = {entry.name: entry for entry in report.datasets if entry.split == split and entry.kind == kind}
    for points in report.points:
        if points.dataset in entries:
            yield from ((points.dataset, one.quality.name) for one in correlate.rated(points, entries[points.dataset])
                        if one.usable)


def _targets(earlier: Results, own: Results, metrics: Collection[str]) -> _Targets:
    """Every quality with the scores of all columns, of the items that were scored now."""
    before = {points.dataset: points for points in earlier.points}
    entries = {entry.name: entry for entry in own.datasets}
    targets: dict[Target, TargetData] = {}
    for points in own.points:
        earlier_points = before[points.dataset]
        place = {item: row for row, item in enumerate(earlier_points.items)}
        if lacking := next((item for item in points.items if item not in place), None):
            raise BadReport(f"{points.dataset}: item {lacking} is not in the report; run `harness run` again")
        rows = [place[item] for item in points.items]
        scores = {key: values[rows] for key, values in earlier_points.scores.items() if key[0] not in metrics}
        both = replace(points, scores=scores | dict(points.scores))
        for target in correlate.targets(both, correlate.rated(points, entries[points.dataset])):
            targets[target.dataset, target.quality] = target
    return targets


def _around(cells: Sequence[Target], whole: int, metric: str, ranked: list[RankingRow], rows: list[Correlation],
            targets: _Targets, seed: int) -> Iterator[Around]:
    best = next((row for row in ranked if row.metric == metric), None)
    if best is None:
        return
    shown = _shown(ranked, best)
    names = [(row.metric, row.column) for row in shown]
    own = names.index((metric, best.column))
    delta, p = (np.full((len(cells), len(names)), np.nan) for _ in range(2))
    for place, cell in enumerate(cells):
        target = targets[cell]
        scores = target.scores[[target.names.index(name) for name in names]]
        tests = all_pairs_by_permutation(target.judged.means, scores, STATISTIC, DRAWS, rng=generator(seed, *cell),
                                         context=target.units)
        delta[place], p[place] = tests.delta[own], below_draws(tests, DRAWS)[own]
    p[:, own] = np.nan
    sure = holm(p) < ALPHA
    keys = [(row.metric, row.column) for row in ranked]
    by_name = dict(zip(keys, labels(keys), strict=True))
    yield Around(
        split=best.board, origin=best.origin, rule=best.rule, cells=len(cells), whole=whole,
        ranked=len(ranked), metric=metric, column=by_name[metric, best.column], tests=int(np.isfinite(p).sum()),
        neighbours=tuple(
            Neighbour(row.rank or 0, row.metric, by_name[row.metric, row.column], row.value, row.metric == metric,
                      int((sure[:, k] & (delta[:, k] > 0)).sum()), int((sure[:, k] & (delta[:, k] < 0)).sum()),
                      int(np.isfinite(p[:, k]).sum()), gap=k > 0 and ranked[ranked.index(row) - 1] is not shown[k - 1])
            for k, row in enumerate(shown)),
        reached=tuple(_reached(cells, (metric, best.column), keys, rows)))


def _shown(ranked: list[RankingRow], best: RankingRow) -> list[RankingRow]:
    """The top of the board, the neighbours of the best own column above and below, its other columns, the control."""
    place = ranked.index(best)
    return [row for k, row in enumerate(ranked)
            if k < TOP or abs(k - place) <= EACH_SIDE or row.metric in (best.metric, CONTROL)]


def _reached(cells: Sequence[Target], own: ColumnKey, ranked: Collection[ColumnKey], rows: Iterable[Correlation],
             ) -> Iterator[Reached]:
    """What the column reaches on each quality, from the best place to the worst."""
    values: dict[Target, dict[ColumnKey, float]] = {cell: {} for cell in cells}
    for row in rows:
        if (row.dataset, row.quality) in values and (row.metric, row.column) in ranked:
            values[row.dataset, row.quality][row.metric, row.column] = row.value
    reached = [Reached(*target, column[own], rank(column)[own].rank or 0, len(column))
               for target, column in values.items()]
    yield from sorted(reached, key=lambda one: (one.place, -one.value))
