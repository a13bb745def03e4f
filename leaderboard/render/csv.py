"""The report's rows as CSV files for machines, nothing where a value is missing.

Values are in full precision, but for those of comparisons.
"""

from __future__ import annotations

import csv
import functools
import io
import math
import operator
from collections import defaultdict
from collections.abc import Iterable, Sequence

from harness.results.rows import Comparison, Results
from leaderboard.model.boards import complete
from leaderboard.model.changes import changes as compared
from leaderboard.model.index import make_index, origin_of
from leaderboard.pages import changes as changes_page

STANDING = ("board", "origin", "rule", "statistic", "metric", "column", "models", "value", "rank", "covered", "cells",
            "low", "high", "letters")
AGREEMENT = ("dataset", "split", "level", "origin", "quality", "dimension", "metric", "column", "statistic",
             "models", "n", "value", "p", "low", "high", "note", "corrected")
CONTEST = ("dataset", "quality", "statistic", "test", "better", "worse", "n", "delta", "value", "p", "holm", "bh")
CEILING = ("dataset", "quality", "method", "value", "items", "note")
CHANGE = ("origin", "dataset", "quality", "metric", "column", "statistic", "old", "new", "difference", "old_low",
          "old_high", "beyond", "kinds", "why")


def ranking(results: Results) -> bytes:
    """List the ranking; an incomplete one has neither value nor rank."""
    models = make_index(results).models
    return _csv(STANDING, (
        (row.board, row.origin, row.rule, row.statistic, row.metric, row.column, models.get(row.metric, ""),
         *((row.value, row.rank) if complete(row) else (None, None)), row.covered, row.cells, row.low, row.high,
         row.letters)
        for row in results.ranking))


def correlations(results: Results) -> bytes:
    """List the correlations, each with what its dataset is."""
    index = make_index(results)
    entries = {entry.name: entry for entry in index.datasets}
    dimensions = {(entry.name, quality.name): quality.dimension
                  for entry in index.datasets for quality in entry.qualities}
    return _csv(AGREEMENT, (
        (row.dataset, entry.split, entry.level, origin_of(entry), row.quality,
         dimensions.get((row.dataset, row.quality), ""), row.metric, row.column, row.statistic,
         index.models.get(row.metric, ""), row.n, row.value, row.p, row.low, row.high, row.note, row.corrected)
        for row in results.correlations for entry in (entries[row.dataset],)))


def comparisons(results: Results) -> bytes:
    """List the comparisons of every two columns, to seven digits.

    There are hundreds of thousands: each distinct name is quoted once, and %-formatting takes a third of the time.
    """
    quoted, cells = functools.cache(_quoted), defaultdict[str, list[Comparison]](list)
    for row in results.comparisons:
        cells[f"{quoted(row.dataset)},{quoted(row.quality)},{row.statistic},{row.test},"].append(row)
    parts = [(",".join(CONTEST) + "\n").encode()]
    for cell in sorted(cells):  # one cell's lines are text at a time: all of them are the most memory that a site takes
        lines = sorted(f"{cell}{quoted(row.better)},{quoted(row.worse)},{_numbers(row)}\n" for row in cells[cell])
        parts.append("".join(lines).encode(errors="backslashreplace"))
    return b"".join(parts)


def _numbers(row: Comparison) -> str:
    if math.isfinite(row.delta + row.value + row.p + row.holm + row.bh):
        return "%d,%.7g,%.7g,%.7g,%.7g,%.7g" % (row.n, row.delta, row.value, row.p, row.holm, row.bh)  # noqa: UP031
    numbers = (row.delta, row.value, row.p, row.holm, row.bh)
    return ",".join((str(row.n), *(f"{number:.7g}" if math.isfinite(number) else "" for number in numbers)))


def _quoted(name: str) -> str:
    """Write a text as the csv module does."""
    plain = name.isprintable() and not any(sign in name for sign in ',"')
    return name if plain else '"' + name.replace('"', '""') + '"'


def reliability(results: Results) -> bytes:
    """List how far people agree."""
    return _csv(CEILING, map(operator.attrgetter(*CEILING), results.reliability))


def changes(before: Results, results: Results) -> bytes:
    """List every cell that has another value than in an earlier report, however small the difference, and why."""
    return _csv(CHANGE, (
        (move.origin, move.new.dataset, move.new.quality, move.new.metric, move.new.column, move.new.statistic,
         move.old.value, move.new.value, move.difference, move.old.low, move.old.high,
         "" if move.beyond is None else "yes" if move.beyond else "no", " ".join(move.kinds), changes_page.why(move))
        for move in compared(before, results).moves))


def _csv(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """Write the rows in the order of their texts."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(headings)
    texts = [[value if type(value) is str else _text(value) for value in row] for row in rows]  # most are strings
    texts.sort()
    writer.writerows(texts)
    return stream.getvalue().encode(errors="backslashreplace")


def _text(value: object) -> str:
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else ""
    return "" if value is None else str(value)
