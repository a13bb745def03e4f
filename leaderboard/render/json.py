"""The results for machines: leaderboard.json, and the JSON Schema that it keeps to (draft 2020-12).

Numbers are in full precision, a missing value is null. Comparisons are in comparisons.csv alone: they are by far the
most.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any, get_type_hints

from harness.results import rows
from harness.results.rows import RankingRow, Results
from leaderboard.model.boards import BOARDS
from leaderboard.model.index import is_complete, ordered, split_order
from leaderboard.render import fields

VERSION = 1
NAME, SCHEMA = "leaderboard.json", "leaderboard.schema.json"
DIALECT = "https://json-schema.org/draft/2020-12/schema"

KINDS: Mapping[str, tuple[type[Any], Mapping[str, str]]] = {
    "datasets": (rows.DatasetEntry, fields.DATASET), "metrics": (rows.MetricEntry, fields.METRIC_ENTRY),
    "correlations": (rows.Correlation, fields.CORRELATION), "reliability": (rows.Reliability, fields.RELIABILITY),
    "trainings": (rows.TrainingEntry, fields.TRAINING), "skips": (rows.Skip, fields.SKIP),
    "failures": (rows.Failure, fields.FAILURE), "timings": (rows.Timing, fields.TIMING),
}
"""The lists of the file, each with the type of its entries and what their fields mean."""

TYPES: Mapping[str, Mapping[str, Any]] = {
    "<class 'str'>": {"type": "string"}, "<class 'int'>": {"type": "integer"},
    "<class 'float'>": {"type": ["number", "null"]}, "str | None": {"type": ["string", "null"]},
    "int | None": {"type": ["integer", "null"]}, "float | None": {"type": ["number", "null"]},
    "tuple[str, ...]": {"type": "array", "items": {"type": "string"}},
    "collections.abc.Mapping[str, str]": {"type": "object", "additionalProperties": {"type": "string"}},
    "collections.abc.Mapping[str, typing.Any]": {"type": "object"},
}
"""The JSON type of a field; a float can be missing."""


def leaderboard(results: Results) -> bytes:
    """Write the results, a line per entry; in the order of the entries' texts, but for the boards."""
    parts: dict[str, list[str]] = {"boards": [_json(board) for board in _boards(results)]}
    parts |= {name: sorted(_json(_plain(row, meanings)) for row in getattr(results, name))
              for name, (_, meanings) in KINDS.items()}
    lists = [f'"{name}": [\n' + ",\n".join(parts[name]) + "\n]" if parts[name] else f'"{name}": []'
             for name in fields.PARTS if name in parts]
    head = f'"schema": {VERSION},\n"run": {_json(_plain(results.run, fields.RUN))}'
    return ("{\n" + ",\n".join((head, *lists)) + "\n}\n").encode("utf-8", "backslashreplace")


def schema(_: Results | None = None) -> bytes:
    """Write the JSON Schema of the file, the same for all results."""
    lists = {name: {"type": "array", "items": _typed(kind, meanings)} for name, (kind, meanings) in KINDS.items()}
    ranking = {"type": "array", "items": _typed(RankingRow, fields.RANKING)}
    board: dict[str, Any] = {name: {"type": "string"} for name in fields.BOARD_ENTRY}
    board |= {"origin": {"enum": ["real", "sample"]}, "ranking": ranking}
    known = {"schema": {"const": VERSION}, "run": _typed(rows.Run, fields.RUN), **lists,
             "boards": {"type": "array", "items": _object(board, fields.BOARD_ENTRY)}}
    whole = {"$schema": DIALECT, "title": "A leaderboard of dialogue-harness", **_object(known, fields.PARTS)}
    return (json.dumps(whole, indent=1) + "\n").encode()


FILES: Mapping[str, Callable[[Results], bytes]] = {NAME: leaderboard, SCHEMA: schema}


def _object(properties: Mapping[str, Any], meanings: Mapping[str, str]) -> dict[str, Any]:
    """Describe an object that has all of these fields and no other."""
    return {"type": "object", "required": list(meanings), "additionalProperties": False,
            "properties": {name: {**properties[name], "description": text} for name, text in meanings.items()}}


def _typed(kind: type[Any], meanings: Mapping[str, str]) -> dict[str, Any]:
    """Describe a row of results by the types of its fields."""
    hints = get_type_hints(kind)
    properties = {name: dict(TYPES[str(hints[name])]) for name in meanings if name != "qualities"}
    if "qualities" in meanings:
        properties["qualities"] = {"type": "array", "items": _typed(rows.QualityEntry, fields.QUALITY)}
    return _object(properties, meanings)


def _boards(results: Results) -> Iterable[dict[str, Any]]:
    """Collect the boards: development first, real before sample, Spearman first."""
    boards: dict[tuple[str, str, str, str], list[RankingRow]] = {}
    for row in results.ranking:
        boards.setdefault((row.board, row.origin, row.rule, row.statistic), []).append(row)
    statistics = ordered(row.statistic for row in results.ranking)
    for board, origin, rule, statistic in sorted(
            boards, key=lambda key: (split_order(key[0]), key[1], key[2], statistics.index(key[3]))):
        ranking = sorted(boards[board, origin, rule, statistic], key=_order)
        yield {"board": board, "origin": origin, "rule": rule, "statistic": statistic,
               "title": BOARDS.get(board, board), "ranking": [_ranking_row(row) for row in ranking]}


def _ranking_row(row: RankingRow) -> dict[str, Any]:
    """A column without a value on every target has neither average nor rank."""
    return _plain(row if is_complete(row) else dataclasses.replace(row, value=math.nan, rank=None), fields.RANKING)


def _order(row: RankingRow) -> tuple[float, int, str, str]:
    rank = row.rank if is_complete(row) and row.rank is not None else math.inf
    return rank, -row.covered, row.metric, row.column


def _plain(entry: Any, meanings: Mapping[str, str]) -> dict[str, Any]:
    """Choose the fields of an entry that the file has."""
    return {name: _value(getattr(entry, name)) for name in meanings}


def _value(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, tuple):
        return [_plain(entry, fields.QUALITY) if isinstance(entry, rows.QualityEntry) else entry for entry in value]
    return dict(sorted(value.items())) if isinstance(value, Mapping) else value


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=False)
