"""Machine-readable results: CSV files, and leaderboard.json with everything except the comparisons.

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
from collections.abc import Callable, Iterable, Iterator, Mapping
from operator import attrgetter
from typing import Any

from harness.results.entries import MetricEntry
from harness.results.files import without_nan
from harness.results.rows import Results
from leaderboard.model.boards import title
from leaderboard.model.index import STATISTIC, make_index, sorted_statistics, split_order
from leaderboard.pages.changes import changes as compared
from leaderboard.pages.holds_up import means

VERSION = 1
LISTS = ("datasets", "metrics", "boards", "correlations", "reliability", "firmness", "trainings", "skips", "failures",
         "timings")
BOARD = ("board", "origin", "rule", "statistic")


def ranking(results: Results) -> bytes:
    index = make_index(results)
    return _csv("board origin rule statistic metric column models system value rank covered targets low high letters "
                "error", ((index.board(row.board), *_fields(row, "origin rule statistic metric column"),
                           *_system(index.metrics.get(row.metric)),
                           *_fields(row, "value rank covered targets low high letters error"))
                          for row in results.ranking))


def correlations(results: Results) -> bytes:
    index = make_index(results)
    dimensions = {(entry.name, quality.name): quality.dimension
                  for entry in results.datasets for quality in entry.qualities}
    properties = {entry.name: (index.split(entry.split), entry.level, entry.kind) for entry in results.datasets}
    return _csv("dataset split level origin quality dimension metric column statistic models system n value p low high "
                "note corrected", ((
                    row.dataset, *properties[row.dataset], row.quality, dimensions.get((row.dataset, row.quality)),
                    row.metric, row.column, row.statistic, *_system(index.metrics.get(row.metric)),
                    *_fields(row, "n value p low high note corrected")) for row in results.correlations))


def _fields(row: object, names: str) -> tuple[object, ...]:
    return attrgetter(*names.split())(row)


def _system(entry: MetricEntry | None) -> tuple[str, str]:
    """Return the models of a metric and its relation to the system of its paper."""
    return (", ".join(entry.models), entry.badge) if entry else ("", "")


def comparisons(results: Results) -> bytes:
    """Write the comparisons of all pairs of columns by Spearman, rounded; report/ has full precision."""
    def rounded(value: float, template: str = "%.2g") -> str:
        return template % value if math.isfinite(value) else ""

    names = "dataset quality statistic test better worse n"
    return _csv(f"{names} delta p holm bh", (
        (*_fields(row, names), rounded(row.delta, "%.3f"), *map(rounded, (row.p, row.holm, row.bh)))
        for target in results.comparisons if target.statistic == STATISTIC for row in target))


def reliability(results: Results) -> bytes:
    names = "dataset quality method value items note"
    return _csv(names, (_fields(row, names) for row in results.reliability))


def holds_up(results: Results) -> bytes:
    """Write the means of each column by era and source, with the mean over the sources and its interval."""
    lines = [(*column, era, source, *values) for column, pair in means(results).items()
             for era, mean in zip(("until 2021", "from 2022 on"), pair, strict=True) if mean.sources
             for source, *values in (("", mean.value, mean.low, mean.high),
                                     *((source, value, None, None) for source, value in mean.sources.items()))]
    return _csv("metric column era source mean low high", lines) if lines else b""


def changes(before: Results, results: Results) -> bytes:
    """Write every correlation that differs from earlier results, however little, with its cause."""
    return _csv("origin dataset quality metric column statistic old new difference why", (
        (*change[:5], STATISTIC, change.old, change.new, change.difference, change.why)
        for change in compared(before, results)))


def leaderboard(results: Results) -> bytes:
    """Write the results as JSON, one entry per line."""
    index = make_index(results)
    datasets = [dataclasses.replace(entry, split=index.split(entry.split) or entry.split) for entry in results.datasets]

    def lines(name: str) -> Iterable[str]:
        if name == "boards":
            return map(_json, _boards(results))
        rows = datasets if name == "datasets" else getattr(results, name)
        return sorted(_json(dataclasses.asdict(row)) for row in rows)

    run = dataclasses.replace(results.run, options=dict(sorted(results.run.options.items())),
                              packages=dict(sorted(results.run.packages.items())))
    parts = [f'"schema": {VERSION}', f'"run": {_json(dataclasses.asdict(run))}',
             *(f'"{name}": [\n' + ",\n".join(lines(name)) + "\n]" for name in LISTS)]
    return ("{\n" + ",\n".join(parts) + "\n}\n").encode("utf-8", "backslashreplace")


FILES: Mapping[str, tuple[Callable[[Results], bytes], str]] = {
    "ranking.csv": (ranking, "every rank on every board, with its interval"),
    "correlations.csv": (correlations, "every correlation, with its interval and p-value"),
    "comparisons.csv": (comparisons, "every pair of columns on every quality, tested"),
    "holds-up.csv": (holds_up, "means on chatbots up to 2021 and on today’s models, by source"),
    "reliability.csv": (reliability, "agreement among the raters"),
    "leaderboard.json": (leaderboard, "everything except the comparisons")}
"""Writers and descriptions of the files by name."""
KEPT_WITH_BUNDLE = ("ranking.csv", "reliability.csv", "holds-up.csv")
"""Files that a site with a bundle keeps; the bundle contains the numbers of the other files."""


def _csv(names: str, rows: Iterable[Iterable[object]]) -> bytes:
    """Write a heading and rows, sorted as strings; carriage returns, which csv does not quote, become spaces."""
    def text(value: object) -> str:
        if isinstance(value, float):
            return repr(value) if math.isfinite(value) else ""
        return "" if value is None else str(value).replace("\r", " ")

    stream = io.StringIO()
    csv.writer(stream, lineterminator="\n").writerows([names.split(), *sorted(list(map(text, row)) for row in rows)])
    return stream.getvalue().encode(errors="backslashreplace")


def _boards(results: Results) -> Iterator[dict[str, Any]]:
    """Yield the boards: development first, real before sample, Spearman first, each with the best column first."""
    index, boards = make_index(results), defaultdict[tuple[str, ...], list[dict[str, Any]]](list)
    for row in sorted(results.ranking, key=lambda row: (row.rank or math.inf, -row.covered, row.metric, row.column)):
        fields = dataclasses.asdict(row)
        boards[tuple(fields.pop(name) for name in BOARD)].append(fields)
    statistics = sorted_statistics(row.statistic for row in results.ranking)
    for key in sorted(boards, key=lambda key: (split_order(key[0]), key[1], key[2], statistics.index(key[3]))):
        yield {**dict(zip(BOARD, key, strict=True)), "board": index.board(key[0]), "title": title(key[0]),
               "ranking": boards[key]}


def _json(value: object) -> str:
    return json.dumps(without_nan(value), ensure_ascii=False, allow_nan=False)
