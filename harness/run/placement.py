"""The rank of a metric among those of an earlier run, and its significant differences from neighbours.

The boards are those of the earlier report, restricted to the targets on which the metric has a correlation. Neighbours
are compared using the item scores of both reports, joined by item id.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.errors import BadReport
from harness.results.entries import BoardId, fitted
from harness.results.item_scores import labels
from harness.results.pooled import Pool
from harness.results.rows import ColumnKey, Correlation, RankingRow, Results
from harness.run import correlate
from harness.run.compare import STATISTIC, contributions
from harness.run.correlate import TargetData
from harness.run.rank import RULES, Target, ranking, without_fitted
from harness.statistics.pooled import better as significantly_better
from harness.statistics.rank_intervals import rank

EACH_SIDE = 5
TOP = 3
CONTROL = "length"
"""The control that is always shown: the number of words in a response."""


@dataclass(frozen=True, slots=True)
class Neighbour:
    """A row of the board, with the numbers of targets on which the metric is significantly better or worse.

    `own` marks the columns of the metric; `gap` is True if rows of the board are omitted above this one.
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
class TargetRank:
    """The correlation of the metric's best column on one target, and its rank among `of` columns there."""

    dataset: str
    quality: str
    value: float
    place: int
    of: int


@dataclass(frozen=True, slots=True)
class Placement:
    """The board around a metric's best column, over `cells` of the board's `whole` targets, with `ranked` columns.

    `tests` is the number of comparisons shown: every neighbour on every target.
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
    reached: tuple[TargetRank, ...]


def placements(earlier: Results, results: Results) -> Iterator[Placement]:
    """Yield the placements of each metric of `results` on the boards on which it has a rank, by each board's rule."""
    metrics = {entry.name for entry in results.metrics}
    targets = {target.key: target for target in _targets(earlier, results, metrics)}
    earlier_rows = [row for row in earlier.correlations if row.metric not in metrics]
    rows = [row for row in (*without_fitted(earlier_rows, earlier.metrics, earlier.datasets),
                            *without_fitted(results.correlations, results.metrics, results.datasets))
            if row.statistic == STATISTIC]
    fitted_pairs = fitted((*earlier.metrics, *results.metrics), (*earlier.datasets, *results.datasets))
    names, pool = {entry.name for entry in results.datasets}, Pool.of(earlier)
    boards = sorted({(entry.split, entry.kind) for entry in earlier.datasets if entry.name in names})
    for metric, (split, kind) in itertools.product(sorted(metrics), boards):
        on_board = pool.targets(split, kind)
        covered = {(row.dataset, row.quality) for row in rows if row.metric == metric and math.isfinite(row.value)}
        if cells := sorted(covered & set(on_board)):
            rule = split if split in RULES else "dev"
            ranked = [row for row in ranking(BoardId(split), kind, cells, rows, fitted_pairs)
                      if row.rule == rule and row.rank is not None]
            if best := next((row for row in ranked if row.metric == metric), None):
                yield _placement([targets[cell] for cell in cells], len(on_board), best, ranked, rows, fitted_pairs,
                                 earlier.run.seed, pool.draws)


def _targets(earlier: Results, results: Results, metrics: Collection[str]) -> Iterator[TargetData]:
    """Yield every target with all columns on the items scored now; raise BadReport if items or ratings have changed."""
    earlier_entries = {entry.name: entry for entry in earlier.datasets}
    earlier_points = {points.dataset: points for points in earlier.points}
    entries = {entry.name: entry for entry in results.datasets}
    for name, entry in entries.items():
        earlier_entry = earlier_entries[name]
        if entry.fingerprint != earlier_entry.fingerprint:
            raise BadReport(f"{name}: the items differ from those of the report; run `harness run` again")
        if earlier_entry.ratings_fingerprint != entry.ratings_fingerprint:
            raise BadReport(f"{name}: the report was made with other ratings; pass them with --ratings, or run "
                            "`harness run` again")
    for points in results.points:
        earlier_scores = earlier_points[points.dataset]
        index = {item: row for row, item in enumerate(earlier_scores.items)}
        if missing := next((item for item in points.items if item not in index), None):
            raise BadReport(f"{points.dataset}: item {missing} is not in the report; run `harness run` again")
        rows = [index[item] for item in points.items]
        scores = {key: values[rows] for key, values in earlier_scores.scores.items() if key[0] not in metrics}
        joined = replace(points, scores=scores | dict(points.scores))
        yield from correlate.targets(joined, correlate.mean_ratings(points, entries[points.dataset]))


def _placement(targets: Sequence[TargetData], whole: int, best: RankingRow, ranked: Sequence[RankingRow],
               rows: Iterable[Correlation], fitted_pairs: Collection[tuple[str, str]], seed: int, draws: int,
               ) -> Placement:
    """Compare the best column with the top of the board, its neighbours, its other columns and the control."""
    position = ranked.index(best)
    positions = [index for index, row in enumerate(ranked)
                 if index < TOP or abs(index - position) <= EACH_SIDE or row.metric in (best.metric, CONTROL)]
    keys = [(row.metric, row.column) for row in ranked]
    above, below, comparable = [], [], []
    for target in targets:
        fitted_here = {metric for metric, dataset in fitted_pairs if dataset == target.dataset}
        parts = contributions(target, seed, draws, fitted_here)
        rows_shown = [target.names.index(keys[index]) for index in positions]
        column = rows_shown[positions.index(position)]
        wins = significantly_better([parts], np.ones(1))
        above.append(wins[column, rows_shown])
        below.append(wins[rows_shown, column])
        comparable.append([row != column and bool(np.isfinite(parts.values[[row, column]]).all())
                           for row in rows_shown])
    better, worse, compared = (np.sum(counts, axis=0).tolist() for counts in (above, below, comparable))
    names = labels(keys)
    return Placement(
        split=best.board, origin=best.origin, rule=best.rule, cells=len(targets), whole=whole, ranked=len(ranked),
        metric=best.metric, column=names[position], tests=sum(compared),
        neighbours=tuple(
            Neighbour(ranked[index].rank or 0, ranked[index].metric, names[index], ranked[index].value,
                      ranked[index].metric == best.metric, better[place], worse[place], compared[place],
                      gap=place > 0 and positions[place - 1] != index - 1)
            for place, index in enumerate(positions)),
        reached=tuple(_target_ranks([target.key for target in targets], keys[position], keys, rows)))


def _target_ranks(targets: Sequence[Target], key: ColumnKey, ranked: Collection[ColumnKey], rows: Iterable[Correlation],
             ) -> Iterator[TargetRank]:
    """Yield the correlation and rank of the column on each target, from the best rank to the worst."""
    values: dict[Target, dict[ColumnKey, float]] = {target: {} for target in targets}
    for row in rows:
        if (row.dataset, row.quality) in values and (row.metric, row.column) in ranked:
            values[row.dataset, row.quality][row.metric, row.column] = row.value
    reached = [TargetRank(*target, column[key], rank(column)[key].rank or 0, len(column))
               for target, column in values.items() if key in column]
    yield from sorted(reached, key=lambda row: (row.place, -row.value))
