"""What a column needs and what its metric costs."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass

from harness.results.rows import Results
from leaderboard.model.index import Column, once

COMPOSITE = "composite"
RATINGS = "ratings"

PARTS = ("references", "context", "facts")
"""Parts of an item that not every dataset has."""


@dataclass(frozen=True, slots=True)
class Cost:
    """A column's family, what it needs, and its metric's seconds per 1,000 items (NaN where not measured)."""

    family: str
    needs: tuple[str, ...]
    trained_on: str
    seconds: float

    @property
    def fitted(self) -> bool:
        """Whether weights were fitted on human ratings."""
        return RATINGS in self.needs


@once
def costs(results: Results) -> dict[Column, Cost]:
    """Describe every column of results: parts of an item, a model, training and human ratings are what one can need."""
    spent: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for row in results.timings:
        if row.items > 0:
            spent[row.metric].append((row.items, row.cost))
    extra, columns = _parts(results), {(row.metric, row.column) for row in results.correlations}
    known: dict[Column, Cost] = {}
    for entry in results.metrics:
        rows = spent[entry.name]
        seconds = 1000 * math.fsum(own for _, own in rows) / sum(items for items, _ in rows) if rows else math.nan
        more = [name for name, has in (("model", entry.models), ("training", entry.trained_on),
                                       (RATINGS, entry.fitted_on == RATINGS)) if has]
        for column in {*((entry.name, name) for name in entry.columns), *(
                column for column in columns if column[0] == entry.name)}:
            needs = tuple(dict.fromkeys((*entry.needs, *extra.get(column, ()), *more)))
            known[column] = Cost(entry.family, needs, entry.trained_on, seconds)
    return known


def _parts(results: Results) -> dict[Column, tuple[str, ...]]:
    """Name what a column needs and its metric does not: it has scores wherever that part exists, and nowhere else.

    Only datasets count on which another column of its metric has a score.
    """
    scored: dict[Column, set[str]] = defaultdict(set)
    for row in results.correlations:
        if math.isfinite(row.value):
            scored[row.metric, row.column].add(row.dataset)
    by_metric: dict[str, set[str]] = defaultdict(set)
    for (metric, _), datasets in scored.items():
        by_metric[metric] |= datasets
    without = {part: {entry.name for entry in results.datasets if part not in entry.has} for part in PARTS}
    return {column: tuple(part for part in PARTS
                          if by_metric[column[0]] - datasets == by_metric[column[0]] & without[part] != set())
            for column, datasets in scored.items()}
