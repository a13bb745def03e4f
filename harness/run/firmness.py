"""How certain the ranks of a board are: intervals and letters from resamples, and the firmness of the first place."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from harness.results.cache import Cache, digest
from harness.results.decision_rows import Firmness
from harness.results.entries import BoardId
from harness.results.item_scores import labels
from harness.results.rows import ColumnKey, RankingRow, Target
from harness.run.compare import STATISTIC, Verdicts, generator
from harness.run.correlate import TargetData
from harness.statistics import firmness
from harness.statistics.panel import Array, number_of_contexts
from harness.statistics.pooled import MIN_CONTEXTS, contributions, weights
from harness.statistics.rank_intervals import Drawn, rank
from harness.statistics.rank_intervals import resampled as resampled_scores

UNITS = ("datasets", "contexts", "votes")


def resampled(targets: Sequence[TargetData], seed: int, draws: int, cache: Cache) -> dict[tuple[str, str], Array]:
    """Return the correlations of every column on resamples of each target's contexts: (draws, columns)."""
    resamples: dict[tuple[str, str], Array] = {}
    for dataset, group in groupby(targets if draws else (), key=lambda target: target.dataset):
        qualities = list(group)
        names = range(len(qualities[0].names))
        key = [dataset, seed, draws, digest(*(target.judged.means for target in qualities)), digest(qualities[0].units)]
        columns = [digest(*(target.scores[column] for target in qualities)) for column in names]
        rows = cache.rows("rank-draws", key, columns, functools.partial(_resampled, qualities, seed, draws))
        values = rows.reshape(len(names), draws, len(qualities)).transpose(2, 1, 0)
        resamples |= {target.key: table for target, table in zip(qualities, values, strict=True)}
    return resamples


def _resampled(targets: Sequence[TargetData], seed: int, draws: int, columns: Sequence[int]) -> Array:
    """Return the correlations of the given columns of a dataset: (columns, draws x targets)."""
    scores = [target.scored(columns) for target in targets]
    values = resampled_scores(scores, draws, generator(seed, targets[0].dataset, ""))
    return values.transpose(2, 0, 1).reshape(len(columns), -1)


def with_intervals(rows: Sequence[RankingRow], targets: Sequence[TargetData],
                   resamples: Mapping[tuple[str, str], Array], seed: int, verdicts: Verdicts | None,
                   ) -> Iterator[RankingRow]:
    """Add interval, letters and error to the ranked Spearman rows of a board with these targets.

    Rows stay unchanged without resamples, with fewer than two columns, or with fewer than MIN_CONTEXTS contexts.
    """
    complete_rows = [row for row in rows if row.statistic == STATISTIC and row.complete]
    columns = sorted({(row.metric, row.column) for row in complete_rows})
    groups = [list(group) for _, group in groupby(targets, key=lambda target: target.dataset)]
    contexts = number_of_contexts((target.dataset, target.scored().rated) for target in targets)
    if not resamples or len(columns) < 2 or contexts < MIN_CONTEXTS:
        yield from rows
        return
    tables = {target.key: resamples[target.key][:, [target.names.index(column) for column in columns]]
              for target in targets}
    drawn = Drawn.jointly([np.stack([tables[target.key] for target in group], axis=1) for group in groups],
                          np.random.default_rng(seed))
    intervals: dict[tuple[str, str, str], dict[str, object]] = {}
    for rule in dict.fromkeys(row.rule for row in complete_rows):
        weight = weights([target.dataset for target in targets], rule)
        values = {(row.metric, row.column): row.value for row in complete_rows if row.rule == rule}
        better = verdicts(tuple(tables), tuple(columns), rule) if verdicts else None
        ranks = rank({column: values[column] for column in columns}, drawn.means(weight), better)
        for (column, standing), error in zip(ranks.items(), drawn.error(weight).tolist(), strict=True):
            intervals[rule, *column] = {"low": standing.low, "high": standing.high, "error": error,
                                        "letters": standing.letters if verdicts else ""}
    for row in rows:
        interval = intervals.get((row.rule, row.metric, row.column)) if row.statistic == STATISTIC else None
        yield replace(row, **interval) if interval else row  # type: ignore[arg-type]


class FirstPlaces:
    """The firmness of the lead on any board over the given targets."""

    def __init__(self, targets: Sequence[TargetData], fitted: Collection[str], verdicts: Verdicts,
                 cache: Cache) -> None:
        self._fitted, self._verdicts, self._cache = fitted, verdicts, cache
        self._targets = {target.key: target for target in targets}
        self._contributions = functools.cache(lambda key: contributions(self._targets[key].scored(), STATISTIC))
        self._digests = {key: digest(target.judged.means, target.scores, target.units, target.judged.votes)
                         for key, target in self._targets.items()}

    def firmness(self, board: BoardId, origin: str, cells: Collection[Target], ranked: Sequence[RankingRow],
                 ) -> Iterator[Firmness]:
        """Yield the firmness of the first column, among all columns and among those not fitted on ratings."""
        targets = [key for key in self._targets if key in cells]
        rows = [row for row in ranked if row.statistic == STATISTIC and row.complete]
        for rule in dict.fromkeys(row.rule for row in rows):
            columns_of_rule = [(row.metric, row.column) for row in sorted(rows, key=lambda row: row.rank or 0)
                               if row.rule == rule]
            unfitted = [column for column in columns_of_rule if column[0] not in self._fitted]
            all_columns = tuple(sorted(columns_of_rule))
            better = self._verdicts(tuple(targets), all_columns, rule) if columns_of_rule[1:] else None
            for among, columns in (("all", columns_of_rule), ("unfitted", unfitted)):
                if better is not None and len(columns) > 1:
                    below = better[all_columns.index(columns[0])]
                    tied = tuple(name for name, column in zip(labels(columns), columns, strict=True)
                                 if column != columns[0] and not below[all_columns.index(column)])
                    key = [rule, columns, *((target, self._digests[target]) for target in targets)]
                    compute = functools.partial(self._removals, targets, columns, rule)
                    for row in self._cache.get("firmness", key, compute):
                        yield Firmness(str(board), origin, rule, STATISTIC, among, *columns[0],
                                       *(*row[:4], tuple(row[4]), tied))

    def _removals(self, keys: Sequence[Target], columns: Sequence[ColumnKey], rule: str) -> list[list[object]]:
        """Return the fields `unit` to `names` of three rows, for datasets, contexts and votes."""
        by_target, names = [self._contributions(key) for key in keys], labels(columns)
        rows = [[self._targets[key].names.index(column) for column in columns] for key in keys]
        targets = [self._targets[key].scored(row) for key, row in zip(keys, rows, strict=True)]
        values = np.array([values[row] for (values, _), row in zip(by_target, rows, strict=True)])
        weight = weights([target.dataset for target in targets], rule)
        datasets = list(dict.fromkeys(target.dataset for target in targets))
        dataset_sums = np.array([sum(w * value for w, value, target in zip(weight, values, targets, strict=True)
                                     if target.dataset == name) for name in datasets])
        sums = [sum(w * table[row] for w, (_, table), row, target in zip(weight, by_target, rows, targets, strict=True)
                    if target.dataset == name) for name in datasets]
        rivals = [index for index, column in enumerate(columns) if column[0] != columns[0][0]]
        votes = [self._targets[key].judged.votes for key in keys]
        totals = [len(datasets), number_of_contexts((target.dataset, target.rated) for target in targets),
                  int(sum(np.isfinite(table).sum() for table in votes))]
        removals: list[firmness.Removal | None] = [None, None, None]
        if rivals:
            contest = firmness.Contest(targets, values, weight, rivals)
            removals[0] = firmness.datasets_to_remove(dataset_sums, rivals)
            removals[1], closest = firmness.contexts_to_remove(contest, sums)
            removals[2] = firmness.votes_to_remove(contest, votes, closest)
        return [[unit, removal and len(removal.units), total, names[removal.successor] if removal else "",
                 [datasets[index] for index in removal.units] if removal and unit == "datasets" else []]
                for unit, removal, total in zip(UNITS, removals, totals, strict=True)]
