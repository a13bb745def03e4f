"""The report's rows as tables for machines: full precision, nothing for what is missing, the origin in every row."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from harness.results import Report
from leaderboard.lookup import look, origin_of
from leaderboard.standings import complete
from leaderboard.tables import Cell, Group, Heading, Table

STANDING = ("board", "origin", "rule", "statistic", "metric", "column", "models", "value", "rank", "covered", "cells",
            "low", "high")
AGREEMENT = ("dataset", "split", "level", "origin", "quality", "dimension", "metric", "column", "statistic",
             "models", "n", "value", "p", "low", "high", "note", "corrected")
CONTEST = ("dataset", "quality", "statistic", "test", "better", "worse", "n", "delta", "value", "p", "holm", "bh")
CEILING = ("dataset", "quality", "method", "value", "items", "note")


def standings(report: Report) -> Table:
    """List the standings; an incomplete one has neither value nor rank."""
    models = look(report).models
    return _table("standings", STANDING, (
        (row.board, row.origin, row.rule, row.statistic, row.metric, row.column, models.get(row.metric, ""),
         *((row.value, row.rank) if complete(row) else (None, None)), row.covered, row.cells, row.low, row.high)
        for row in report.standings))


def agreements(report: Report) -> Table:
    """List the agreements, each with what its dataset is."""
    found = look(report)
    entries = {entry.name: entry for entry in found.datasets}
    dimensions = {(entry.name, quality.name): quality.dimension
                  for entry in found.datasets for quality in entry.qualities}
    return _table("agreements", AGREEMENT, (
        (row.dataset, entry.split, entry.level, origin_of(entry), row.quality,
         dimensions.get((row.dataset, row.quality), ""), row.metric, row.column, row.statistic,
         found.models.get(row.metric, ""), row.n, row.value, row.p, row.low, row.high, row.note, row.corrected)
        for row in report.agreements for entry in (entries[row.dataset],)))


def contests(report: Report) -> Table:
    """List the contests of every two columns."""
    return _table("contests", CONTEST, (tuple(getattr(row, name) for name in CONTEST) for row in report.contests))


def ceilings(report: Report) -> Table:
    """List how far people agree."""
    return _table("ceilings", CEILING, (tuple(getattr(row, name) for name in CEILING) for row in report.ceilings))


def _table(name: str, headings: Sequence[str], rows: Iterable[Sequence[object]]) -> Table:
    cells = sorted(tuple(_text(value) for value in row) for row in rows)
    return Table(name, name, tuple(map(Heading, headings)),
                 (Group(tuple(tuple(map(Cell, row)) for row in cells)),))


def _text(value: object) -> str:
    if value is None or (isinstance(value, float) and not math.isfinite(value)):
        return ""
    return repr(value) if isinstance(value, float) else str(value)
