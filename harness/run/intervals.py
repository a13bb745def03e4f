"""Intervals, letters and standard errors of the ranks of a board, from resamples of contexts and datasets."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from harness.results.cache import Cache, digest
from harness.results.rows import RankingRow
from harness.run.compare import Verdicts, generator
from harness.run.correlate import TargetData
from harness.statistics.panel import Array, number_of_contexts
from harness.statistics.pooled import MIN_CONTEXTS, weights
from harness.statistics.rank_intervals import Drawn, rank
from harness.statistics.rank_intervals import resampled as resampled_scores

STATISTIC = "spearman"


def resampled(targets: Sequence[TargetData], seed: int, draws: int, cache: Cache) -> dict[tuple[str, str], Array]:
    """Return the correlations of every column on resamples of each target's contexts: (draws, columns)."""
    resamples: dict[tuple[str, str], Array] = {}
    for dataset, group in groupby(targets if draws else (), key=lambda target: target.dataset):
        qualities = list(group)
        names = range(len(qualities[0].names))
        key = [dataset, seed, draws, digest(*(target.judged.means for target in qualities)),
               digest(qualities[0].units)]
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

    With fewer than MIN_CONTEXTS, rows have none of these.
    """
    ranked = [row for row in rows if row.statistic == STATISTIC and row.complete]
    columns = sorted({(row.metric, row.column) for row in ranked})
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
    for rule in dict.fromkeys(row.rule for row in ranked):
        weight = weights([target.dataset for target in targets], rule)
        values = {(row.metric, row.column): row.value for row in ranked if row.rule == rule}
        better = verdicts.better(tuple(tables), tuple(columns), rule) if verdicts else None
        ranks = rank({column: values[column] for column in columns}, drawn.means(weight), better)
        for (column, standing), error in zip(ranks.items(), drawn.error(weight).tolist(), strict=True):
            intervals[rule, *column] = {"low": standing.low, "high": standing.high, "error": error,
                                        "letters": standing.letters if verdicts else ""}
    for row in rows:
        interval = intervals.get((row.rule, row.metric, row.column)) if row.statistic == STATISTIC else None
        yield replace(row, **interval) if interval else row  # type: ignore[arg-type]
