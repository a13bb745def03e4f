"""What a metric costs and what it takes to run it, beside what it is worth."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from harness.results.rows import MetricEntry, Results
from leaderboard.blocks.cells import MISSING
from leaderboard.blocks.tables import Cell, Heading, Row, Table
from leaderboard.model.index import Key

COMPOSITE = "composite"
FITTED = "ratings"
RATINGS = "weights on ratings"
"""How a report tells that a composition learned its weights on human ratings."""

PARTS = ("references", "context", "facts")
"""Parts of an item that not every dataset has."""

MEASURED = "From the seconds that scoring took when the numbers were made, and the items that were scored"
INPUTS = "to combine the scores of other metrics, which come on top"


@dataclass(frozen=True, slots=True)
class Profile:
    """A column's family, what it needs, and its metric's seconds per 1,000 items (NaN where not measured)."""

    family: str
    needs: tuple[str, ...]
    trained_on: str
    cost: float


def profiles(results: Results) -> dict[Key, Profile]:
    """Describe every column of a report."""
    costs, extra = _costs(results), _lacking(results)
    seen = {(row.metric, row.column) for row in results.correlations}
    return {(entry.name, column): Profile(entry.family, needs(entry, extra.get((entry.name, column), ())),
                                          entry.trained_on, costs.get(entry.name, math.nan))
            for entry in results.metrics
            for column in {*entry.columns, *(column for metric, column in seen if metric == entry.name)}}


def needs(entry: MetricEntry, parts: Iterable[str] = ()) -> tuple[str, ...]:
    """Name what a metric needs beside the response: parts of an item, a model, training, human ratings."""
    found = [*entry.needs, *parts, *(["model"] if entry.models else ()), *(["training"] if entry.trained_on else ()),
             *([FITTED] if RATINGS in entry.trained_on else ())]
    return tuple(dict.fromkeys(found))


def headings(results: Results) -> tuple[Heading, ...]:
    """Head the columns that `cells` fills."""
    return (Heading("Cost", "number", small="s per 1,000", title=f"Seconds per 1,000 items on {results.run.device}. "
                    f"{MEASURED}", key="cost"),
            Heading("Needs", "words", title="What it needs beside the response, also as seen from where it has scores",
                    key="needs"),
            Heading("Family", "words", key="family"))


def cells(found: Mapping[Key, Profile], key: Key) -> Row:
    """Show cost, needs and family of a column."""
    profile = found.get(key)
    if profile is None:
        return (Cell(MISSING, title="the metric is not in the report"),) * 3
    return (cost_cell(profile), needs_cell(profile), Cell(profile.family))


def beside(table: Table, at: int, found: Mapping[Key, Profile], results: Results) -> Table:
    """Put cost, needs and family of each row's metric into a table, before its column `at`."""
    groups = tuple(replace(group, rows=tuple((*row[:at], *cells(found, _key(row)), *row[at:]) for row in group.rows))
                   for group in table.groups)
    return replace(table, groups=groups,
                   headings=(*table.headings[:at], *headings(results), *table.headings[at:]))


def cost_cell(profile: Profile) -> Cell:
    """Show what 1,000 items cost; for a composition without what it is made of."""
    if not math.isfinite(profile.cost):
        return Cell(MISSING, title="the report has no times of it")
    made_of = profile.family == COMPOSITE
    return Cell(seconds(profile.cost), value=profile.cost, small="+ inputs" if made_of else "",
                title=INPUTS if made_of else "")


def needs_cell(profile: Profile) -> Cell:
    """Say what a metric needs, and in the title what it was trained on."""
    return Cell(", ".join(profile.needs) or "nothing",
                title=f"trained on {profile.trained_on}" if profile.trained_on else "")


def seconds(value: float) -> str:
    """Write seconds with two significant digits."""
    if value < 0.01:
        return "< 0.01"
    return f"{value:.0f}" if value >= 9.95 else f"{value:.1f}" if value >= 0.995 else f"{value:.2f}"


def _key(row: Row) -> Key:
    return next((cell.key for cell in row if cell.key[0]), ("", ""))


def _lacking(results: Results) -> dict[Key, tuple[str, ...]]:
    """What a column needs and its metric does not: it has a score wherever that is there, and nowhere else.

    Held against are the datasets on which another column of its metric has a score.
    """
    scored: dict[Key, set[str]] = defaultdict(set)
    for row in results.correlations:
        if math.isfinite(row.value):
            scored[row.metric, row.column].add(row.dataset)
    every: dict[str, set[str]] = defaultdict(set)
    for (metric, _), datasets in scored.items():
        every[metric] |= datasets
    without = {part: {entry.name for entry in results.datasets if part not in entry.has} for part in PARTS}
    return {key: tuple(part for part in PARTS if every[key[0]] - datasets == every[key[0]] & without[part] != set())
            for key, datasets in scored.items()}


def _costs(results: Results) -> dict[str, float]:
    spent: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for row in results.timings:
        if row.items > 0:
            spent[row.metric].append((row.items, row.seconds))
    return {metric: 1000 * math.fsum(took for _, took in rows) / sum(items for items, _ in rows)
            for metric, rows in spent.items()}
