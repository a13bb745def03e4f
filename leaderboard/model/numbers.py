"""The numbers behind the boards of a page as JSON, for the scripts that rank them anew.

    statistics   their names
    datasets     name, level and origin of each
    targets      [dataset, quality, dimension, items, people] of each; people: one rater with the mean of the others
    columns      label, metric, column, family and needs of each row of a board
    values       by statistic: row by row the correlation on each target times a million, null where there is none
    fitted       [row, dataset] where weights were fitted on the same ratings, so that the value does not compete
    boards       by name: the targets that are averaged, the rule that ranks, [low, high, letters] of each rank by rule
    comparisons  by statistic: which column is better on each target, as pairs.py packs them, in base 64

Names are as the page shows them.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from harness.results.rows import DatasetEntry, QualityEntry
from leaderboard.model.boards import Board, has_interval
from leaderboard.model.cost import costs
from leaderboard.model.index import Column, Index, has_value, origin_of
from leaderboard.model.pairs import make_pairs
from leaderboard.render.escaping import visible

MILLION = 1_000_000

TargetEntry: TypeAlias = tuple[DatasetEntry, QualityEntry]


@dataclass(frozen=True, slots=True)
class Rankable:
    """A board that scripts can rank: its targets, the rule it is ranked by, and the ranking that has intervals."""

    targets: tuple[int, ...]
    rule: str
    ranking: Board | None = None


def page_numbers(index: Index, entries: Sequence[TargetEntry], columns: Sequence[Column],
                 boards: Mapping[str, Rankable]) -> str:
    """Put the numbers of a page together; nothing where no board can be ranked."""
    if not boards:
        return ""
    datasets = list({entry.name: entry for entry, _ in entries}.values())
    places = {entry.name: place for place, entry in enumerate(datasets)}
    targets = [(entry.name, quality.name) for entry, quality in entries]
    pairs, known = make_pairs(index.results), costs(index.results)
    content = {
        "statistics": index.statistics,
        "datasets": [{"name": visible(entry.name), "level": entry.level, "origin": origin_of(entry)}
                     for entry in datasets],
        "targets": [[places[entry.name], visible(quality.name), visible(quality.dimension), quality.rated,
                     round(value, 3) if math.isfinite(value := index.one_rater.get(target, math.nan)) else None]
                    for (entry, quality), target in zip(entries, targets, strict=True)],
        "columns": [{
            "label": visible(index.labels[column]), "metric": visible(column[0]), "column": visible(column[1]),
            "family": visible(known[column].family) if column in known else "",
            "needs": [visible(need) for need in known[column].needs] if column in known else []} for column in columns],
        "values": {statistic: [[
            round(row.value * MILLION) if (row := index.correlation(target, column, statistic)) and has_value(row)
            else None for target in targets] for column in columns] for statistic in index.statistics},
        "fitted": [[row, place] for row, column in enumerate(columns) for name, place in places.items()
                   if index.is_fitted(column, name)],
        "boards": {name: {"targets": board.targets, "rule": board.rule, "ranks": _ranks(board.ranking, columns)}
                   for name, board in boards.items()},
        "comparisons": {statistic: base64.b64encode(pairs.packed(statistic, targets, columns)).decode()
                        for statistic in index.statistics if statistic in pairs.statistics},
    }
    return json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def _ranks(board: Board | None, columns: Sequence[Column]) -> dict[str, list[list[object] | None]]:
    """The interval and the letters of each row's rank, under each rule; nothing where there are none."""
    ranks: dict[str, list[list[object] | None]] = {rule: [
        [round(row.low), round(row.high), row.letters] if (row := board.row(column, rule)) and has_interval(row)
        else None for column in columns] for rule in board.rules} if board else {}
    return {rule: rows for rule, rows in ranks.items() if any(rows)}
