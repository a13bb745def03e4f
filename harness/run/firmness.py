"""Firmness of the lead on a board: the columns tied with the leader, and how few removals change the leader."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator, Sequence

import numpy as np

from harness.results.cache import Cache, digest
from harness.results.decision_rows import Firmness
from harness.results.entries import BoardId
from harness.results.item_scores import labels
from harness.results.rows import ColumnKey, RankingRow, Target
from harness.run.compare import Verdicts
from harness.run.correlate import TargetData
from harness.run.intervals import STATISTIC
from harness.statistics import firmness
from harness.statistics.panel import Array, Vector, number_of_contexts
from harness.statistics.pooled import contributions, weights

UNITS = ("datasets", "contexts", "votes")


class FirstPlaces:
    """The firmness of the lead on any board over the given targets."""

    def __init__(self, targets: Sequence[TargetData], fitted: Collection[str], verdicts: Verdicts, cache: Cache,
                 ) -> None:
        self._fitted, self._verdicts, self._cache = fitted, verdicts, cache
        self._contributions = functools.cache(self._contributed)
        self._targets = {target.key: target for target in targets}
        self._digests = {key: digest(target.judged.means, target.scores, target.units, target.judged.votes)
                         for key, target in self._targets.items()}

    def firmness(self, board: BoardId, origin: str, cells: Collection[Target], ranked: Sequence[RankingRow],
                 ) -> Iterator[Firmness]:
        """Yield the firmness of the first column, among all columns and among those not fitted on ratings."""
        targets = [key for key in self._targets if key in cells]
        rows = [row for row in ranked if row.statistic == STATISTIC and row.complete]
        for rule in dict.fromkeys(row.rule for row in rows):
            complete = [(row.metric, row.column) for row in sorted(rows, key=lambda row: row.rank or 0)
                        if row.rule == rule]
            unfitted = [column for column in complete if column[0] not in self._fitted]
            family = tuple(sorted(complete))
            better = self._verdicts.better(tuple(targets), family, rule) if complete[1:] else None
            for among, columns in (("all", complete), ("unfitted", unfitted)):
                if better is not None and len(columns) > 1:
                    below = better[family.index(columns[0])]
                    tied = tuple(name for name, column in zip(labels(columns), columns, strict=True)
                                 if column != columns[0] and not below[family.index(column)])
                    key = [rule, columns, *((target, self._digests[target]) for target in targets)]
                    compute = functools.partial(self._removals, targets, columns, rule)
                    for row in self._cache.get("firmness", key, compute):
                        yield Firmness(str(board), origin, rule, STATISTIC, among, *columns[0],
                                       *(*row[:4], tuple(row[4]), tied))

    def _removals(self, keys: Sequence[Target], columns: Sequence[ColumnKey], rule: str) -> list[list[object]]:
        """Return for each unit the fields `unit` to `names` of its row."""
        by_target, names = [self._contributions(key) for key in keys], labels(columns)
        rows = [[self._targets[key].names.index(column) for column in columns] for key in keys]
        targets = [self._targets[key].scored(row) for key, row in zip(keys, rows, strict=True)]
        values = np.array([values[row] for (values, _), row in zip(by_target, rows, strict=True)])
        weight = weights([target.dataset for target in targets], rule)
        datasets = list(dict.fromkeys(target.dataset for target in targets))
        parts = np.array([sum(w * value for w, value, target in zip(weight, values, targets, strict=True)
                              if target.dataset == name) for name in datasets])
        sums = [sum(w * table[row] for w, (_, table), row, target in zip(weight, by_target, rows, targets, strict=True)
                    if target.dataset == name) for name in datasets]
        rivals = [index for index, column in enumerate(columns) if column[0] != columns[0][0]]
        votes = [self._targets[key].judged.votes for key in keys]
        totals = [len(datasets), number_of_contexts((target.dataset, target.rated) for target in targets),
                  int(sum(np.isfinite(table).sum() for table in votes))]
        removals: list[firmness.Removal | None] = [None, None, None]
        if rivals:
            board = firmness.Board(targets, values, weight, rivals)
            removals[0] = firmness.datasets_to_remove(parts, rivals)
            removals[1], closest = firmness.contexts_to_remove(board, sums)
            removals[2] = firmness.votes_to_remove(board, votes, closest)
        return [[unit, removal and len(removal.units), number, names[removal.successor] if removal else "",
                 [datasets[index] for index in removal.units] if removal and unit == "datasets" else []]
                for unit, removal, number in zip(UNITS, removals, totals, strict=True)]

    def _contributed(self, key: Target) -> tuple[Vector, Array]:
        """Return the correlation of every column of a target, and the contribution of each context to it."""
        return contributions(self._targets[key].scored(), STATISTIC)
