"""What a column needs and what it costs: parts of an item, models, ratings; seconds with those of its inputs; size."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from dataclasses import dataclass

from harness.results.rows import MetricEntry, Results
from leaderboard.model.index import Column, once

RATINGS = "ratings"

PARTS = ("references", "context", "facts")
"""Parts of an item that not every dataset has."""

INPUT = re.compile(r"\|input=[^|]*\|([^|]+)\|")
"""In the signature of a composition, the metric of an input."""


@dataclass(frozen=True, slots=True)
class Cost:
    """A column's family, what it needs, its seconds per 1,000 items (NaN: not measured) and parameters (0: none).

    Seconds are by itself, models loaded; of an earlier version's results those of the run, beside other metrics.
    `inputs` are the metrics whose scores it combines; their seconds are in its own.
    """

    family: str
    needs: tuple[str, ...]
    trained_on: str
    seconds: float
    models: tuple[str, ...] = ()
    parameters: int = 0
    inputs: tuple[str, ...] = ()

    @property
    def size(self) -> float:
        """How many parameters its networks have; of models whose size is not known as many as can be."""
        return math.inf if self.models and not self.parameters else self.parameters

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
    own = {name: 1000 * math.fsum(part for _, part in rows) / sum(items for items, _ in rows)
           for name, rows in spent.items()}
    beside = {row.metric for row in results.timings if row.alone is None}
    extra, columns = _parts(results), {(row.metric, row.column) for row in results.correlations}
    known: dict[Column, Cost] = {}
    for entry in results.metrics:
        more = [name for name, has in (("model", entry.models), ("training", entry.trained_on),
                                       (RATINGS, entry.fitted_on == RATINGS)) if has]
        inputs = inputs_of(entry)
        for column in {*((entry.name, name) for name in entry.columns), *(
                column for column in columns if column[0] == entry.name)}:
            needs = tuple(dict.fromkeys((*entry.needs, *extra.get(column, ()), *more)))
            seconds = math.fsum(own.get(name, math.nan) for name in (entry.name, *(
                inputs if entry.name in beside else ())))
            known[column] = Cost(entry.family, needs, entry.trained_on, seconds, entry.models, entry.parameters, inputs)
    return known


def inputs_of(entry: MetricEntry) -> tuple[str, ...]:
    """The metrics whose scores a composition combines, by its signature."""
    return tuple(dict.fromkeys(INPUT.findall(entry.signature)))


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
