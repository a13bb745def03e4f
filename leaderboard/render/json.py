"""The report for machines: leaderboard.json, and the JSON Schema that it keeps to (draft 2020-12).

Numbers are in full precision, what is missing is null. Contests are in comparisons.csv alone: they are by far the most.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, get_type_hints

from harness.results import rows as rows_
from harness.results.rows import RankingRow, Results
from leaderboard.model.boards import BOARDS, complete
from leaderboard.model.index import ordered, split_order
from leaderboard.render import fields

VERSION = 1
NAME, SCHEMA = "leaderboard.json", "leaderboard.schema.json"
DIALECT = "https://json-schema.org/draft/2020-12/schema"

KINDS: Mapping[str, tuple[type[Any], Mapping[str, str]]] = {
    "datasets": (rows_.DatasetEntry, fields.DATASET), "metrics": (rows_.MetricEntry, fields.METRIC_ENTRY),
    "correlations": (rows_.Correlation, fields.AGREEMENT), "reliability": (rows_.Reliability, fields.CEILING),
    "trainings": (rows_.TrainingEntry, fields.TRAINING), "skips": (rows_.Skip, fields.SKIP),
    "failures": (rows_.Failure, fields.FAILURE), "timings": (rows_.Timing, fields.TIMING),
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
"""What the type of a field is in JSON; a float can be missing."""


def results(found: Results) -> bytes:
    """Write the report, a line per entry; in the order of the entries' texts, but for the boards."""
    parts: dict[str, list[str]] = {"boards": [_json(board) for board in _boards(found)]}
    parts |= {name: sorted(_lines(getattr(found, name), told)) for name, (_, told) in KINDS.items()}
    lists = [f'"{name}": [\n' + ",\n".join(parts[name]) + "\n]" if parts[name] else f'"{name}": []'
             for name in fields.PARTS if name in parts]
    head = f'"schema": {VERSION},\n"run": {_json(_plain(found.run, fields.RUN))}'
    return ("{\n" + ",\n".join((head, *lists)) + "\n}\n").encode("utf-8", "backslashreplace")


def schema(_: Results | None = None) -> bytes:
    """Write the JSON Schema of the file, the same for every report."""
    lists = {name: {"type": "array", "items": _object(_typed(kind, told), told)}
             for name, (kind, told) in KINDS.items()}
    standing = _object(_typed(RankingRow, fields.STANDING), fields.STANDING)
    board: dict[str, Any] = {name: {"type": "string"} for name in fields.BOARD_ENTRY}
    board |= {"origin": {"enum": ["real", "sample"]}, "ranking": {"type": "array", "items": standing}}
    known = {"schema": {"const": VERSION}, "run": _object(_typed(rows_.Run, fields.RUN), fields.RUN), **lists,
             "boards": {"type": "array", "items": _object(board, fields.BOARD_ENTRY)}}
    whole = {"$schema": DIALECT, "title": "A leaderboard of dialogue-harness", **_object(known, fields.PARTS)}
    return (json.dumps(whole, indent=1) + "\n").encode()


FILES: Mapping[str, Callable[[Results], bytes]] = {NAME: results, SCHEMA: schema}


def _object(properties: Mapping[str, Any], told: Mapping[str, str]) -> dict[str, Any]:
    """Describe an object whose fields are all there, and no other."""
    return {"type": "object", "required": list(told), "additionalProperties": False,
            "properties": {name: {**properties[name], "description": text} for name, text in told.items()}}


def _typed(kind: type[Any], told: Mapping[str, str]) -> dict[str, Any]:
    hints = get_type_hints(kind)
    found = {name: dict(TYPES[str(hints[name])]) for name in told if name != "qualities"}
    if "qualities" in told:
        inner = _object(_typed(rows_.QualityEntry, fields.QUALITY), fields.QUALITY)
        found["qualities"] = {"type": "array", "items": inner}
    return found


def _boards(found: Results) -> Iterable[dict[str, Any]]:
    """Collect the boards: development first, real before sample, Spearman first."""
    rows: dict[tuple[str, str, str, str], list[RankingRow]] = {}
    for row in found.ranking:
        rows.setdefault((row.board, row.origin, row.rule, row.statistic), []).append(row)
    statistics = ordered(row.statistic for row in found.ranking)
    for board, origin, rule, statistic in sorted(
            rows, key=lambda key: (split_order(key[0]), key[1], key[2], statistics.index(key[3]))):
        ranking = sorted(rows[board, origin, rule, statistic], key=_order)
        yield {"board": board, "origin": origin, "rule": rule, "statistic": statistic,
               "title": BOARDS.get(board, board), "ranking": [_standing(row) for row in ranking]}


def _standing(row: RankingRow) -> dict[str, Any]:
    """A column without a value on every cell has neither average nor rank."""
    whole = row if complete(row) else dataclasses.replace(row, value=math.nan, rank=None)
    return _plain(whole, fields.STANDING)


def _order(row: RankingRow) -> tuple[float, int, str, str]:
    rank = row.rank if complete(row) and row.rank is not None else math.inf
    return rank, -row.covered, row.metric, row.column


def _lines(rows: Sequence[Any], told: Mapping[str, str]) -> Iterable[str]:
    return (_json(_plain(row, told)) for row in rows)


def _plain(entry: Any, told: Mapping[str, str]) -> dict[str, Any]:
    """Choose the fields of an entry that the file has."""
    return {name: _value(getattr(entry, name)) for name in told}


def _value(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, tuple):
        return [_plain(one, fields.QUALITY) if isinstance(one, rows_.QualityEntry) else one for one in value]
    return dict(sorted(value.items())) if isinstance(value, Mapping) else value


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, sort_keys=False)
