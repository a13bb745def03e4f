"""The rows of results for machines: CSV files, and leaderboard.json with all of them but the comparisons.

Values are in full precision, but for those of comparisons; a missing one is empty, null in JSON. What the fields mean
is in harness/results/rows.py.
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

import numpy as np

from harness.results.files import json_line
from harness.results.rows import Comparison, Comparisons, RankingRow, Reliability, Results
from leaderboard.model.boards import BOARDS
from leaderboard.model.changes import changes as compared
from leaderboard.model.index import STATISTIC, Index, is_complete, make_index, ordered, split_order
from leaderboard.pages.changes import why

VERSION = 1
LISTS = ("datasets", "metrics", "boards", "correlations", "reliability", "trainings", "skips", "failures", "timings")
"""The lists of leaderboard.json."""

BOARD = ("board", "origin", "rule", "statistic")
UNLISTED = ("value", "bh")
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
    """The models behind a metric, and how it stands to its paper's system."""
    return index.models.get(metric, ""), index.badges.get(metric, "")


def correlations(results: Results) -> bytes:
    """List the correlations, each with what its dataset is."""
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
    """List the comparisons of every two columns by Spearman, to two or three digits; report/ has all.

    They are hundreds of thousands: each distinct name is quoted once, and %-formatting takes a third of the time.
    A test's own statistic and its adjustment by Benjamini and Hochberg are in report/ alone.
    """
    heads = {f"{_quoted(own.dataset)},{_quoted(own.quality)},{own.statistic},{own.test},": own
             for own in results.comparisons if own.statistic == STATISTIC}
    names = ",".join(field.name for field in dataclasses.fields(Comparison) if field.name not in UNLISTED) + "\n"
    # as text one target at a time: all lines would be the most memory that a site takes
    texts = ("".join([f"{head}{line}\n" for line in _lines(heads[head])]) for head in sorted(heads))
    return b"".join([names.encode(), *(text.encode(errors="backslashreplace") for text in texts)])


def _lines(own: Comparisons) -> list[str]:
    """Write what differs between the comparisons of a target, in the order of their texts."""
    names = [_quoted(name) for name in own.names]
    place = np.argsort(np.argsort([f"{name}," for name in names]))
    order = np.lexsort((place[own.worse], place[own.better]))
    sides = ([names[side] for side in column[order].tolist()] for column in (own.better, own.worse))
    numbers = [column[order] for column in (own.n, own.delta, own.p, own.holm)]
    rows = zip(*sides, *(column.tolist() for column in numbers), strict=True)
    if np.isfinite(numbers).all():
        return ["%s,%s,%d,%.3f,%.2g,%.2g" % row for row in rows]  # noqa: UP031
    return [",".join((better, worse, str(n), *(f"{one:.3g}" if math.isfinite(one) else "" for one in values)))
            for better, worse, n, *values in rows]


def reliability(results: Results) -> bytes:
    """List how far people agree among themselves."""
    return _csv(" ".join(field.name for field in dataclasses.fields(Reliability)),
                map(dataclasses.astuple, results.reliability))


def changes(before: Results, results: Results) -> bytes:
    """List every correlation with another value than in earlier results, however small the difference, and why."""
    beyond = {None: "", True: "yes", False: "no"}
    names = "origin dataset quality metric column statistic old new difference old_low old_high beyond kinds why"
    return _csv(names, (
        (change.origin, change.new.dataset, change.new.quality, change.new.metric, change.new.column,
         change.new.statistic, change.old.value, change.new.value, change.difference, change.old.low, change.old.high,
         beyond[change.beyond], " ".join(change.kinds), why(change)) for change in compared(before, results).changed))


def leaderboard(results: Results) -> bytes:
    """Write the results as JSON, a line per entry; in the order of the entries' texts, but for the boards."""
    parts = {name: list(map(_json, _boards(results))) if name == "boards"
             else sorted(json_line(row).rstrip() for row in results.correlations) if name == "correlations"
             else sorted(_json(_plain(row, LEFT_OUT.get(name, ()))) for row in getattr(results, name))
             for name in LISTS}
    lists = [f'"{name}": [\n' + ",\n".join(lines) + "\n]" if lines else f'"{name}": []'
             for name, lines in parts.items()]
    head = f'"schema": {VERSION},\n"run": {_json(_plain(results.run))}'
    return ("{\n" + ",\n".join((head, *lists)) + "\n}\n").encode("utf-8", "backslashreplace")


FILES: Mapping[str, Callable[[Results], bytes]] = {
    "ranking.csv": ranking, "correlations.csv": correlations, "comparisons.csv": comparisons,
    "reliability.csv": reliability, "leaderboard.json": leaderboard}
SMALL = ("ranking.csv", "reliability.csv")
"""Those that stand beside a bundle, which has the others' numbers or what they are computed from."""

ABOUT: Mapping[str, str] = {
    "ranking.csv": "every place on every board, with its interval", "correlations.csv": "every correlation, with "
                                                                                        "interval and p",
    "comparisons.csv": "every two columns on every quality, tested", "reliability.csv": "how far raters agree",
    "leaderboard.json": "all of it but the comparisons", "changes.csv": "every correlation that changed, and why"}
"""What each file holds."""


def _quoted(name: str) -> str:
    """Write a text as the csv module does."""
    plain = name.isprintable() and not any(sign in name for sign in ',"')
    return name if plain else '"' + name.replace('"', '""') + '"'


def _csv(names: str, rows: Iterable[Sequence[object]]) -> bytes:
    """Write the rows in the order of their texts."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(names.split())
    texts = [[value if type(value) is str else _text(value) for value in row] for row in rows]  # most are strings
    texts.sort()
    writer.writerows(texts)
    return stream.getvalue().encode(errors="backslashreplace")


def _text(value: object) -> str:
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else ""
    return "" if value is None else str(value)


def _boards(results: Results) -> Iterator[dict[str, Any]]:
    """Collect the boards: development first, real before sample, Spearman first; the best column first."""
    boards: dict[tuple[str, str, str, str], list[RankingRow]] = defaultdict(list)
    for row in results.ranking:
        known = row if is_complete(row) else dataclasses.replace(row, value=math.nan, rank=None)
        boards[row.board, row.origin, row.rule, row.statistic].append(known)
    statistics = ordered(row.statistic for row in results.ranking)
    for key in sorted(boards, key=lambda key: (split_order(key[0]), key[1], key[2], statistics.index(key[3]))):
        ranked = sorted(boards[key], key=lambda row: (row.rank or math.inf, -row.covered, row.metric, row.column))
        yield {**dict(zip(BOARD, key, strict=True)), "title": BOARDS.get(key[0], key[0]),
               "ranking": [_plain(row, BOARD) for row in ranked]}


def _plain(entry: Any, left_out: Sequence[str] = ()) -> dict[str, Any]:
    """Turn a row into what JSON can hold."""
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
