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
import operator
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from harness.results.files import filled
from harness.results.rows import Results
from leaderboard.model.boards import title
from leaderboard.model.changes import changes as compared
from leaderboard.model.holds_up import means
from leaderboard.model.index import STATISTIC, make_index, ordered, split_order

Derived: TypeAlias = Callable[[Any], object]
VERSION = 1
LISTS = ("datasets", "metrics", "boards", "correlations", "reliability", "firmness", "trainings", "skips", "failures",
         "timings")
BOARD = ("board", "origin", "rule", "statistic")


def ranking(results: Results) -> bytes:
    """List the ranking; an incomplete row has neither value nor rank."""
    return _csv(
        "board origin rule statistic metric column models system value rank covered targets low high letters error",
        results.ranking, **_about_metric(results))


def correlations(results: Results) -> bytes:
    """List the correlations with the properties of their datasets."""
    index, entries = make_index(results), {entry.name: entry for entry in results.datasets}
    dimensions = {(entry.name, quality.name): quality.dimension
                  for entry in results.datasets for quality in entry.qualities}
    return _csv(
        "dataset split level origin quality dimension metric column statistic models system n value p low high note "
        "corrected", results.correlations, split=lambda row: index.split(entries[row.dataset].split),
        level=lambda row: entries[row.dataset].level, origin=lambda row: entries[row.dataset].kind,
        dimension=lambda row: dimensions.get((row.dataset, row.quality)), **_about_metric(results))


def _about_metric(results: Results) -> dict[str, Derived]:
    """Return columns with the models of a row's metric and its relation to the system of its paper."""
    entries = {entry.name: entry for entry in results.metrics}
    return {"models": lambda row: ", ".join(entries[row.metric].models) if row.metric in entries else None,
            "system": lambda row: entries[row.metric].badge if row.metric in entries else None}


def comparisons(results: Results) -> bytes:
    """List the comparisons of every two columns by Spearman, rounded; report/ has all of them in full."""
    def rounded(name: str, form: str) -> Callable[[Any], str]:
        return lambda row: form % value if math.isfinite(value := getattr(row, name)) else ""

    rows = (row for target in results.comparisons if target.statistic == STATISTIC for row in target)
    return _csv("dataset quality statistic test better worse n delta p holm bh", rows,
                delta=rounded("delta", "%.3f"), **{name: rounded(name, "%.2g") for name in ("p", "holm", "bh")})


def reliability(results: Results) -> bytes:
    """List how far people agree among themselves."""
    return _csv("dataset quality method value items note", results.reliability)


def holds_up(results: Results) -> bytes:
    """List the means of each column by era and source, with the mean over the sources and its interval."""
    lines = [(*column, era, source, value, *interval) for column, pair in means(results).items()
             for era, mean in zip(("until 2021", "from 2022 on"), pair, strict=True) if mean.sources
             for source, value, interval in (("", mean.value, (mean.low, mean.high)),
                                             *((*known, ()) for known in mean.sources.items()))]
    names = "metric column era source mean low high"
    return _csv(names, lines, **{name: lambda line, at=at: line[at] if at < len(line) else None
                                 for at, name in enumerate(names.split())}) if lines else b""


def changes(before: Results, results: Results) -> bytes:
    """List every correlation that differs from earlier results, however little, with its cause."""
    return _csv(
        "key.origin key.dataset key.quality key.metric key.column statistic old new difference old_low old_high why",
        compared(before, results), statistic=lambda change: STATISTIC,
        old=lambda change: change.old and change.old.value, new=lambda change: change.new and change.new.value,
        old_low=lambda change: change.old and change.old.low, old_high=lambda change: change.old and change.old.high)


def leaderboard(results: Results) -> bytes:
    """Write the results as JSON, an entry per line."""
    def lines(name: str) -> list[str]:
        if name == "boards":
            return list(map(_json, _boards(results)))
        return sorted(_json(dataclasses.asdict(row)) for row in getattr(results, name))

    texts = [f'"{name}": [\n' + ",\n".join(lines(name)) + "\n]" for name in LISTS]
    run = dataclasses.replace(results.run, options=dict(sorted(results.run.options.items())),
                              packages=dict(sorted(results.run.packages.items())))
    head = f'"schema": {VERSION},\n"run": {_json(dataclasses.asdict(run))}'
    return ("{\n" + ",\n".join((head, *texts)) + "\n}\n").encode("utf-8", "backslashreplace")


FILES: Mapping[str, tuple[Callable[[Results], bytes], str]] = {
    "ranking.csv": (ranking, "every rank on every board, with its interval"),
    "correlations.csv": (correlations, "every correlation, with its interval and p-value"),
    "comparisons.csv": (comparisons, "every pair of columns on every quality, tested"),
    "holds-up.csv": (holds_up, "means on chatbots up to 2021 and on today’s models, by source"),
    "reliability.csv": (reliability, "agreement among the raters"),
    "leaderboard.json": (leaderboard, "everything except the comparisons")}
"""Writers and descriptions of the files by name."""
SMALL = ("ranking.csv", "reliability.csv", "holds-up.csv")
"""Files that stay on a site with a bundle; the bundle holds the numbers of the others."""


def _csv(names: str, rows: Iterable[Any], **derived: Derived) -> bytes:
    """Write the named fields of the rows, sorted by their texts; some are derived from the row.

    Carriage returns, which csv leaves unquoted, become spaces.
    """
    def text(value: object) -> str:
        if isinstance(value, float):
            return repr(value) if math.isfinite(value) else ""
        return "" if value is None else str(value).replace("\r", " ")

    columns = names.split()
    getters = [derived.get(name) or operator.attrgetter(name) for name in columns]
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(name.removeprefix("key.") for name in columns)
    writer.writerows(sorted([text(getter(row)) for getter in getters] for row in rows))
    return stream.getvalue().encode(errors="backslashreplace")


def _boards(results: Results) -> Iterator[dict[str, Any]]:
    """Collect the boards: development first, real before sample, Spearman first; the best column first."""
    boards: dict[Sequence[str], list[dict[str, Any]]] = defaultdict(list)
    for row in sorted(results.ranking, key=lambda row: (row.rank or math.inf, -row.covered, row.metric, row.column)):
        fields = dataclasses.asdict(row)
        boards[tuple(fields.pop(name) for name in BOARD)].append(fields)
    statistics = ordered(row.statistic for row in results.ranking)
    for key in sorted(boards, key=lambda key: (split_order(key[0]), key[1], key[2], statistics.index(key[3]))):
        yield {**dict(zip(BOARD, key, strict=True)), "title": title(key[0]), "ranking": boards[key]}


def _json(value: object) -> str:
    return json.dumps(filled(value), ensure_ascii=False, allow_nan=False)
