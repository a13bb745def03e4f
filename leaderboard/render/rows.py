"""Results for machines: CSV files, and leaderboard.json with everything but the comparisons.

Values have full precision, except in comparisons.csv; a missing value is empty, in JSON null. The fields are described
in harness/results/rows.py.
"""

from __future__ import annotations

import csv
import dataclasses
import io
import json
import math
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

from harness.results.files import json_line
from harness.results.rows import RankingRow, Reliability, Results
from leaderboard.model.boards import BOARDS
from leaderboard.model.changes import changes as compared
from leaderboard.model.index import STATISTIC, Index, is_complete, make_index, ordered, split_order

VERSION = 1
LISTS = ("datasets", "metrics", "boards", "correlations", "reliability", "trainings", "skips", "failures", "timings")
BOARD = ("board", "origin", "rule", "statistic")
LEFT_OUT = {"trainings": ("curve",)}


def ranking(results: Results) -> bytes:
    """List the ranking; an incomplete row has neither value nor rank."""
    index = make_index(results)
    return _csv("board origin rule statistic metric column models system value rank covered targets low high letters "
                "error", (
        (row.board, row.origin, row.rule, row.statistic, row.metric, row.column, *_about(index, row.metric),
         *((row.value, row.rank) if is_complete(row) else (None, None)), row.covered, row.targets, row.low, row.high,
         row.letters, row.error) for row in results.ranking))


def _about(index: Index, metric: str) -> tuple[str, str]:
    return index.models.get(metric, ""), index.badges.get(metric, "")


def correlations(results: Results) -> bytes:
    """List the correlations with the properties of their datasets."""
    index = make_index(results)
    entries = {entry.name: (entry.name, entry.split, entry.level, entry.kind) for entry in index.datasets}
    dimensions = {(entry.name, quality.name): quality.dimension
                  for entry in index.datasets for quality in entry.qualities}
    names = ("dataset split level origin quality dimension metric column statistic models system n value p low high "
             "note corrected")
    return _csv(names, (
        (*entries[row.dataset], row.quality, dimensions.get((row.dataset, row.quality), ""), row.metric, row.column,
         row.statistic, *_about(index, row.metric), row.n, row.value, row.p, row.low, row.high, row.note,
         row.corrected) for row in results.correlations))


def comparisons(results: Results) -> bytes:
    """List the comparisons of every two columns by Spearman, rounded; report/ has all of them in full."""
    def rounded(value: float, form: str) -> str:
        return form % value if math.isfinite(value) else ""

    return _csv("dataset quality statistic test better worse n delta p holm", (
        (row.dataset, row.quality, row.statistic, row.test, row.better, row.worse, row.n, rounded(row.delta, "%.3f"),
         rounded(row.p, "%.2g"), rounded(row.holm, "%.2g"))
        for target in results.comparisons if target.statistic == STATISTIC for row in target))


def reliability(results: Results) -> bytes:
    """List how far people agree among themselves."""
    return _csv(" ".join(field.name for field in dataclasses.fields(Reliability)),
                map(dataclasses.astuple, results.reliability))


def changes(before: Results, results: Results) -> bytes:
    """List every correlation that differs from earlier results, however little, with its cause."""
    return _csv("origin dataset quality metric column statistic old new difference old_low old_high why", (
        (*change.key, STATISTIC, change.old and change.old.value, change.new and change.new.value, change.difference,
         change.old and change.old.low, change.old and change.old.high, change.why)
        for change in compared(before, results)))


def leaderboard(results: Results) -> bytes:
    """Write the results as JSON, an entry per line."""
    lists = {name: list(map(_json, _boards(results))) if name == "boards"
             else sorted(json_line(row).rstrip() for row in results.correlations) if name == "correlations"
             else sorted(_json(_plain(row, LEFT_OUT.get(name, ()))) for row in getattr(results, name))
             for name in LISTS}
    texts = [f'"{name}": [\n' + ",\n".join(lines) + "\n]" if lines else f'"{name}": []'
             for name, lines in lists.items()]
    head = f'"schema": {VERSION},\n"run": {_json(_plain(results.run))}'
    return ("{\n" + ",\n".join((head, *texts)) + "\n}\n").encode("utf-8", "backslashreplace")


FILES: Mapping[str, Callable[[Results], bytes]] = {
    "ranking.csv": ranking, "correlations.csv": correlations, "comparisons.csv": comparisons,
    "reliability.csv": reliability, "leaderboard.json": leaderboard}
SMALL = ("ranking.csv", "reliability.csv")
"""Files that stay on a site with a bundle; the bundle holds the numbers of the others."""

ABOUT: Mapping[str, str] = {
    "ranking.csv": "every rank on every board, with its interval",
    "correlations.csv": "every correlation, with its interval and p-value",
    "comparisons.csv": "every pair of columns on every quality, tested",
    "reliability.csv": "agreement among the raters",
    "leaderboard.json": "everything except the comparisons",
    "changes.csv": "every correlation that changed, with the cause"}


def _csv(names: str, rows: Iterable[Sequence[object]]) -> bytes:
    """Write the rows sorted by their texts; carriage returns, which csv leaves unquoted, become spaces."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(names.split())
    texts = [list(map(_text, row)) for row in rows]
    texts.sort()
    writer.writerows(texts)
    return stream.getvalue().encode(errors="backslashreplace")


def _text(value: object) -> str:
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else ""
    return "" if value is None else str(value).replace("\r", " ")


def _boards(results: Results) -> Iterator[dict[str, Any]]:
    """Collect the boards: development first, real before sample, Spearman first; the best column first."""
    boards: dict[tuple[str, str, str, str], list[RankingRow]] = defaultdict(list)
    for row in results.ranking:
        complete = row if is_complete(row) else dataclasses.replace(row, value=math.nan, rank=None)
        boards[row.board, row.origin, row.rule, row.statistic].append(complete)
    statistics = ordered(row.statistic for row in results.ranking)
    for key in sorted(boards, key=lambda key: (split_order(key[0]), key[1], key[2], statistics.index(key[3]))):
        ranked = sorted(boards[key], key=lambda row: (row.rank or math.inf, -row.covered, row.metric, row.column))
        yield {**dict(zip(BOARD, key, strict=True)), "title": BOARDS.get(key[0], key[0]),
               "ranking": [_plain(row, BOARD) for row in ranked]}


def _plain(entry: Any, left_out: Sequence[str] = ()) -> dict[str, Any]:
    """Convert a row to JSON types."""
    return {field.name: _value(getattr(entry, field.name)) for field in dataclasses.fields(entry)
            if field.name not in left_out}


def _value(value: Any) -> Any:
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, tuple):
        return [_plain(entry) if dataclasses.is_dataclass(entry) else entry for entry in value]
    return dict(sorted(value.items())) if isinstance(value, Mapping) else value


def _json(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False)
