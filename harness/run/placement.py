"""The rank of a metric among those of an earlier run, and its significant differences from neighbours.

The metric is added to the earlier results, joined by item id. Their boards are restricted to the targets on which the
metric has a correlation.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from harness.errors import BadReport
from harness.results.entries import BoardId, fitted
from harness.results.item_scores import labels
from harness.results.pooled import Pool
from harness.results.rows import ColumnKey, RankingRow, Results, Target
from harness.run.compare import STATISTIC
from harness.run.rank import ranking
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
    joined, scored = _joined(earlier, results), {entry.name for entry in results.datasets}
    rows = [row for row in joined.correlations if row.statistic == STATISTIC]
    pool, fitted_pairs = Pool.of(joined), fitted(joined.metrics, joined.datasets)
    boards = sorted({(entry.split, entry.kind) for entry in joined.datasets if entry.name in scored})
    for metric, (split, kind) in itertools.product(sorted(entry.name for entry in results.metrics), boards):
        on_board, board = pool.targets(split, kind), BoardId(split)
        covered = {target for column, values in pool.columns.items() if column[0] == metric for target in values}
        if cells := sorted(covered & set(on_board)):
            ranked = [row for row in ranking(board, kind, cells, rows, fitted_pairs)
                      if row.rule == board.rule and row.rank is not None]
            if best := next((row for row in ranked if row.metric == metric), None):
                yield _placement(pool, cells, len(on_board), best, ranked)


def _joined(earlier: Results, results: Results) -> Results:
    """Return earlier results with the metrics of new ones; raise BadReport if items or ratings have changed."""
    entries, metrics = {entry.name: entry for entry in earlier.datasets}, {entry.name for entry in results.metrics}
    for entry in results.datasets:
        if entry.fingerprint != entries[entry.name].fingerprint:
            raise BadReport(f"{entry.name}: the items differ from those of the report; run `harness run` again")
        if entry.ratings_fingerprint != entries[entry.name].ratings_fingerprint:
            raise BadReport(f"{entry.name}: the report was made with other ratings; pass them with --ratings, or run "
                            "`harness run` again")
    joined = {points.dataset: points for points in earlier.points}
    for points in results.points:
        before = joined[points.dataset]
        index = {item: row for row, item in enumerate(before.items)}
        if missing := next((item for item in points.items if item not in index), None):
            raise BadReport(f"{points.dataset}: item {missing} is not in the report; run `harness run` again")
        rows = [index[item] for item in points.items]
        scores = {key: values[rows] for key, values in before.scores.items() if key[0] not in metrics}
        joined[points.dataset] = replace(points, scores=scores | dict(points.scores))
    return replace(
        earlier, points=tuple(joined.values()),
        metrics=(*(entry for entry in earlier.metrics if entry.name not in metrics), *results.metrics),
        correlations=(*(row for row in earlier.correlations if row.metric not in metrics), *results.correlations))


def _placement(pool: Pool, cells: Sequence[Target], whole: int, best: RankingRow, ranked: Sequence[RankingRow],
               ) -> Placement:
    """Compare the best column with the top of the board, its neighbours, its other columns and the control."""
    position = ranked.index(best)
    positions = [index for index, row in enumerate(ranked)
                 if index < TOP or abs(index - position) <= EACH_SIDE or row.metric in (best.metric, CONTROL)]
    keys, order = [(row.metric, row.column) for row in ranked], list(pool.columns)
    column, rows = order.index(keys[position]), [order.index(keys[index]) for index in positions]
    above, below, comparable = [], [], []
    for cell in cells:
        parts = pool.swaps(cell)
        wins = significantly_better([parts], np.ones(1))
        above.append(wins[column, rows])
        below.append(wins[rows, column])
        comparable.append([row != column and bool(np.isfinite(parts.values[[row, column]]).all()) for row in rows])
    better, worse, compared = (np.sum(counts, axis=0).tolist() for counts in (above, below, comparable))
    names = labels(keys)
    return Placement(
        split=best.board, origin=best.origin, rule=best.rule, cells=len(cells), whole=whole, ranked=len(ranked),
        metric=best.metric, column=names[position], tests=sum(compared),
        neighbours=tuple(
            Neighbour(ranked[index].rank or 0, ranked[index].metric, names[index], ranked[index].value,
                      ranked[index].metric == best.metric, better[place], worse[place], compared[place],
                      gap=place > 0 and positions[place - 1] != index - 1)
            for place, index in enumerate(positions)),
        reached=tuple(_target_ranks(pool, cells, keys[position], keys)))


def _target_ranks(pool: Pool, cells: Sequence[Target], key: ColumnKey, ranked: Sequence[ColumnKey],
                  ) -> Iterator[TargetRank]:
    """Yield the correlation and rank of the column on each target, from the best rank to the worst."""
    values = {cell: {column: pool.columns[column][cell] for column in ranked if cell in pool.columns[column]}
              for cell in cells if cell in pool.columns[key]}
    reached = [TargetRank(*cell, column[key], rank(column)[key].rank or 0, len(column))
               for cell, column in values.items()]
    yield from sorted(reached, key=lambda row: (row.place, -row.value))
