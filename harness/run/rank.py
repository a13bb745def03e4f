"""The ranking rules of the challenge, on boards that never mix splits, or real data with the sample.

    dev, macro     mean over the qualities of a dataset, then over the datasets
    test, micro    mean over the targets, a target being one quality of one dataset
    Borda          competitors beaten, summed over the targets; a tie counts half

The challenge ranked its development sets by the rule dev and its test sets by the rule test. Both rules are applied to
both splits, because the winner depends on the rule. A competitor that lacks a target of the board has no value and no
rank. The exception is a metric that was fitted on the ratings of some datasets: it is ranked on the other datasets,
among the competitors that lack no target, without affecting their ranks.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping
from statistics import fmean

import numpy as np

from harness.results.entries import BoardId, DatasetEntry
from harness.results.pooled import by_column
from harness.results.rows import Correlation, RankingRow
from harness.results.rows import Target as Target
from harness.statistics.pooled import weights
from harness.statistics.rank_intervals import DIGITS, rank
from harness.statistics.ranks import ranks as mean_ranks

RULES = ("dev", "test")
"""The rules under which a report ranks, by their names in the challenge."""


def cell_weights(cells: Collection[Target], rule: str) -> dict[Target, float]:
    return dict(zip(cells, weights([dataset for dataset, _ in cells], rule).tolist(), strict=True))


def mean(values: Mapping[Target, float], weights: Mapping[Target, float]) -> float:
    """Return the weighted mean over the cells of a board, whatever their order; NaN if a value is missing."""
    row = [values.get(cell, math.nan) for cell in weights]
    if not row or not all(map(math.isfinite, row)):
        return math.nan
    return min(max(fmean(row, weights.values()), min(row)), max(row))  # rounding errors stay within the range


def borda(rows: Mapping[str, Mapping[Target, float]], cells: Collection[Target]) -> dict[str, float]:
    """Count the competitors that each competitor beats, summed over the cells; a tie counts half.

    A competitor that lacks a cell gets NaN, and beating it earns no points.
    """
    complete = [name for name, row in rows.items() if math.isfinite(mean(row, dict.fromkeys(cells, 1.0)))]
    table = np.array([[round(rows[name][cell], DIGITS) for name in complete] for cell in cells])
    points = (mean_ranks(table) - 1).sum(axis=0).tolist() if complete else []
    return dict.fromkeys(rows, math.nan) | dict(zip(complete, points, strict=True))


def boards(split: str, targets: frozenset[Target], datasets: Iterable[DatasetEntry],
           ) -> Iterator[tuple[BoardId, frozenset[Target]]]:
    """Yield the boards of a split: all targets, targets with references, one board per language, one per dimension.

    The board with references exists only if some datasets have none, boards per language only if there are several.
    """
    by_target = {(entry.name, quality.name): (entry, quality.dimension) for entry in datasets
                 for quality in entry.qualities if (entry.name, quality.name) in targets}
    languages = sorted({entry.language for entry, _ in by_target.values()})
    yield BoardId(split), targets
    for board in (BoardId(split, "references"),
                  *(BoardId(split, language) for language in languages if len(languages) > 1),
                  *(BoardId(split, dimension=name) for name in sorted({name for _, name in by_target.values()}))):
        cells = frozenset(target for target, (entry, dimension) in by_target.items()
                          if board.part in ("", entry.language, *entry.has) and board.dimension in ("", dimension))
        if cells and (board.part != "references" or cells != targets):
            yield board, cells


def ranking(board: BoardId, origin: str, targets: Collection[Target], correlations: Iterable[Correlation],
            fitted_pairs: Collection[tuple[str, str]] = ()) -> Iterator[RankingRow]:
    """Rank every column on a board under each rule and for each statistic, best first.

    A board of one dimension is ranked by the rule dev only. `fitted_pairs` has metrics with the datasets on which they
    were fitted; such a metric is ranked on the other targets, among the columns that lack no target.
    """
    values = by_column((row for row in correlations if (row.dataset, row.quality) in targets), fitted_pairs)
    for statistic, columns in values.items():
        for rule in ("dev",) if board.dimension else RULES:
            weight = cell_weights(targets, rule)
            ranks = rank({column: mean(row, weight) for column, row in columns.items()})
            complete = {column for column, standing in ranks.items() if standing.rank is not None}
            for column in columns.keys() - complete:
                shared = [target for target in targets if (column[0], target[0]) not in fitted_pairs]
                if shared and len(shared) < len(targets):
                    weight = cell_weights(shared, rule)
                    ranks[column] = rank({name: mean(columns[name], weight) for name in (*complete, column)})[column]
            for column, standing in sorted(ranks.items(), key=lambda row: (
                    row[1].rank is None, -row[1].value, row[0][1])):
                yield RankingRow(str(board), origin, rule, statistic, *column, standing.value, standing.rank,
                                 len(columns[column]), len(targets))
