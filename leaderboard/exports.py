"""The report's rows as CSV files for machines: full precision, nothing for what is missing, the origin in every row."""

from __future__ import annotations

import csv
import io
import math
import operator
from collections.abc import Iterable, Sequence

from harness.results import Report
from leaderboard.lookup import look, origin_of
from leaderboard.standings import complete

STANDING = ("board", "origin", "rule", "statistic", "metric", "column", "models", "value", "rank", "covered", "cells",
            "low", "high")
AGREEMENT = ("dataset", "split", "level", "origin", "quality", "dimension", "metric", "column", "statistic",
             "models", "n", "value", "p", "low", "high", "note", "corrected")
CONTEST = ("dataset", "quality", "statistic", "test", "better", "worse", "n", "delta", "value", "p", "holm", "bh")
CEILING = ("dataset", "quality", "method", "value", "items", "note")


def standings(report: Report) -> bytes:
    """List the standings; an incomplete one has neither value nor rank."""
    models = look(report).models
    return _csv(STANDING, (
        (row.board, row.origin, row.rule, row.statistic, row.metric, row.column, models.get(row.metric, ""),
         *((row.value, row.rank) if complete(row) else (None, None)), row.covered, row.cells, row.low, row.high)
        for row in report.standings))


def agreements(report: Report) -> bytes:
    """List the agreements, each with what its dataset is."""
    found = look(report)
    entries = {entry.name: entry for entry in found.datasets}
    dimensions = {(entry.name, quality.name): quality.dimension
                  for entry in found.datasets for quality in entry.qualities}
    return _csv(AGREEMENT, (
        (row.dataset, entry.split, entry.level, origin_of(entry), row.quality,
         dimensions.get((row.dataset, row.quality), ""), row.metric, row.column, row.statistic,
         found.models.get(row.metric, ""), row.n, row.value, row.p, row.low, row.high, row.note, row.corrected)
        for row in report.agreements for entry in (entries[row.dataset],)))


def contests(report: Report) -> bytes:
    """List the contests of every two columns."""
    return _csv(CONTEST, map(operator.attrgetter(*CONTEST), report.contests))


def ceilings(report: Report) -> bytes:
    """List how far people agree."""
    return _csv(CEILING, map(operator.attrgetter(*CEILING), report.ceilings))


def _csv(headings: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    """Write the rows in the order of their texts."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(headings)
    texts = ([value if type(value) is str else _text(value) for value in row] for row in rows)  # most are strings
    writer.writerows(sorted(texts))
    return stream.getvalue().encode()


def _text(value: object) -> str:
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else ""
    return "" if value is None else str(value)
