"""The rows of results as CSV files for machines, nothing where a value is missing.

Values are in full precision, but for those of comparisons. Columns are those of fields.CSV.
"""

from __future__ import annotations

import csv
import functools
import io
import math
import operator
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence

from harness.results.rows import Comparison, Results
from leaderboard.model.changes import changes as compared
from leaderboard.model.index import is_complete, make_index, origin_of
from leaderboard.pages.changes import why
from leaderboard.render.fields import CSV


def ranking(results: Results) -> bytes:
    """List the ranking; an incomplete row has neither value nor rank."""
    models = make_index(results).models
    return _csv("ranking.csv", (
        (row.board, row.origin, row.rule, row.statistic, row.metric, row.column, models.get(row.metric, ""),
         *((row.value, row.rank) if is_complete(row) else (None, None)), row.covered, row.targets, row.low, row.high,
         row.letters) for row in results.ranking))


def correlations(results: Results) -> bytes:
    """List the correlations, each with what its dataset is."""
    index = make_index(results)
    entries = {entry.name: (entry.name, entry.split, entry.level, origin_of(entry)) for entry in index.datasets}
    dimensions = {(entry.name, quality.name): quality.dimension
                  for entry in index.datasets for quality in entry.qualities}
    return _csv("correlations.csv", (
        (*entries[row.dataset], row.quality, dimensions.get((row.dataset, row.quality), ""), row.metric, row.column,
         row.statistic, index.models.get(row.metric, ""), row.n, row.value, row.p, row.low, row.high, row.note,
         row.corrected) for row in results.correlations))


def comparisons(results: Results) -> bytes:
    """List the comparisons of every two columns, to seven digits.

    They are hundreds of thousands: each distinct name is quoted once, and %-formatting takes a third of the time.
    """
    quoted, targets = functools.cache(_quoted), defaultdict[str, list[Comparison]](list)
    for row in results.comparisons:
        targets[f"{quoted(row.dataset)},{quoted(row.quality)},{row.statistic},{row.test},"].append(row)
    parts = [(",".join(CSV["comparisons.csv"]) + "\n").encode()]
    for target in sorted(targets):  # as text one target at a time: all lines would be the most memory that a site takes
        lines = sorted(f"{target}{quoted(row.better)},{quoted(row.worse)},{_numbers(row)}\n" for row in targets[target])
        parts.append("".join(lines).encode(errors="backslashreplace"))
    return b"".join(parts)


def reliability(results: Results) -> bytes:
    """List how far people agree among themselves."""
    return _csv("reliability.csv", map(operator.attrgetter(*CSV["reliability.csv"]), results.reliability))


def changes(before: Results, results: Results) -> bytes:
    """List every correlation with another value than in earlier results, however small the difference, and why."""
    beyond = {None: "", True: "yes", False: "no"}
    return _csv("changes.csv", (
        (change.origin, change.new.dataset, change.new.quality, change.new.metric, change.new.column,
         change.new.statistic, change.old.value, change.new.value, change.difference, change.old.low, change.old.high,
         beyond[change.beyond], " ".join(change.kinds), why(change)) for change in compared(before, results).changed))


FILES: Mapping[str, Callable[[Results], bytes]] = {
    "ranking.csv": ranking, "correlations.csv": correlations, "comparisons.csv": comparisons,
    "reliability.csv": reliability}


def _numbers(row: Comparison) -> str:
    numbers = (row.delta, row.value, row.p, row.holm, row.bh)
    if math.isfinite(math.fsum(numbers)):
        return "%d,%.7g,%.7g,%.7g,%.7g,%.7g" % (row.n, *numbers)  # noqa: UP031
    return ",".join((str(row.n), *(f"{number:.7g}" if math.isfinite(number) else "" for number in numbers)))


def _quoted(name: str) -> str:
    """Write a text as the csv module does."""
    plain = name.isprintable() and not any(sign in name for sign in ',"')
    return name if plain else '"' + name.replace('"', '""') + '"'


def _csv(name: str, rows: Iterable[Sequence[object]]) -> bytes:
    """Write the rows in the order of their texts."""
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(CSV[name])
    texts = [[value if type(value) is str else _text(value) for value in row] for row in rows]  # most are strings
    texts.sort()
    writer.writerows(texts)
    return stream.getvalue().encode(errors="backslashreplace")


def _text(value: object) -> str:
    if isinstance(value, float):
        return repr(value) if math.isfinite(value) else ""
    return "" if value is None else str(value)
