"""The numbers behind the boards of a page as JSON, for the scripts that rank them anew.

    statistics   their names
    datasets     name, level and origin of each
    cells        [dataset, quality, dimension, items, people] of each quality of a dataset; people: one with the others
    columns      label, metric, column, family and needs of each row of a board
    values       by statistic: row by row the correlation on each cell times a million, null where there is none
    learned      [row, dataset] where weights were learned on the same ratings, so that the value does not compete
    boards       by name: the cells that are averaged, the rule that ranks, [low, high, letters] of each rank by rule
    verdicts     by statistic: who beats whom on each cell, as verdicts.py packs them, in base 64

Names are as the page shows them.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from harness.results.rows import DatasetEntry, QualityEntry
from leaderboard.model.boards import Board
from leaderboard.model.cost import Profile
from leaderboard.model.index import Index, Key, origin_of, there
from leaderboard.model.verdicts import Verdicts
from leaderboard.render.escaping import visible

MILLION = 1_000_000
PEOPLE = "leave-one-out"

Spot = tuple[DatasetEntry, QualityEntry]


@dataclass(frozen=True, slots=True)
class Ranked:
    """A board that scripts can rank: its cells, the rule it is ranked by, and the ranking it has intervals of."""

    cells: tuple[int, ...]
    rule: str
    ranking: Board | None = None


def data(index: Index, spots: Sequence[Spot], keys: Sequence[Key], boards: Mapping[str, Ranked],
         profiles: Mapping[Key, Profile], verdicts: Verdicts) -> str:
    """Put the numbers of a page together."""
    entries = list({entry.name: entry for entry, _ in spots}.values())
    places = {entry.name: place for place, entry in enumerate(entries)}
    people = {(row.dataset, row.quality): row.value for row in index.results.reliability if row.method == PEOPLE}
    cells = [(entry.name, quality.name) for entry, quality in spots]
    content = {
        "statistics": index.statistics,
        "datasets": [{"name": visible(entry.name), "level": entry.level, "origin": origin_of(entry)}
                     for entry in entries],
        "cells": [[places[entry.name], visible(quality.name), visible(quality.dimension), quality.rated,
                   _decimals(people.get((entry.name, quality.name), math.nan))] for entry, quality in spots],
        "columns": [_column(index, key, profiles) for key in keys],
        "values": {statistic: [[_millionths(index, cell, key, statistic) for cell in cells] for key in keys]
                   for statistic in index.statistics},
        "learned": [[row, place] for row, (metric, _) in enumerate(keys) for name, place in places.items()
                    if (metric, name) in index.learned],
        "boards": {name: {"cells": board.cells, "rule": board.rule, "ranks": _ranks(board.ranking, keys)}
                   for name, board in boards.items()},
        "verdicts": {statistic: base64.b64encode(verdicts.packed(statistic, cells, keys)).decode()
                     for statistic in index.statistics if statistic in verdicts.found},
    }
    return json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def _column(index: Index, key: Key, profiles: Mapping[Key, Profile]) -> dict[str, object]:
    profile = profiles.get(key)
    return {"label": visible(index.labels[key]), "metric": visible(key[0]), "column": visible(key[1]),
            "family": visible(profile.family) if profile else "",
            "needs": [visible(need) for need in profile.needs] if profile else []}


def _millionths(index: Index, cell: tuple[str, str], key: Key, statistic: str) -> int | None:
    row = index.correlation(*cell, key, statistic)
    return round(row.value * MILLION) if row is not None and there(row) else None


def _decimals(value: float) -> float | None:
    return round(value, 3) if math.isfinite(value) else None


def _ranks(board: Board | None, keys: Sequence[Key]) -> dict[str, list[list[object] | None]]:
    """The interval and the letters of each row's rank, under each rule; nothing where none were found."""
    if board is None:
        return {}
    found: dict[str, list[list[object] | None]] = {}
    for rule in board.rules:
        rows = [board.complete(rule, key) for key in keys]
        known = [[round(row.low), round(row.high), row.letters]
                 if row is not None and math.isfinite(row.low) and math.isfinite(row.high) else None for row in rows]
        if any(known):
            found[rule] = [None if row is None else list(row) for row in known]
    return found
