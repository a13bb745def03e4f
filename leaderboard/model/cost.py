"""What a column costs: seconds with those of its inputs, models and their size, ratings that weights were fitted on."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from dataclasses import dataclass

from harness.results.rows import MetricEntry, Results
from leaderboard.model.index import Column, once

INPUT = re.compile(r"\|input=[^|]*\|([^|]+)\|")
"""In the signature of a composition, the metric of an input."""


@dataclass(frozen=True, slots=True)
class Cost:
    """A column's family, whether weights were fitted on human ratings, seconds per 1,000 items (NaN: not measured),
    models, and parameters (0: none).

    Seconds are by itself, models loaded; of an earlier version's results those of the run, beside other metrics.
    `inputs` are the metrics whose scores it combines; their seconds are in its own.
    """

    family: str
    fitted: bool
    seconds: float
    models: tuple[str, ...] = ()
    parameters: int = 0
    inputs: tuple[str, ...] = ()

    @property
    def size(self) -> float:
        """How many parameters its networks have; of models whose size is not known as many as can be."""
        return math.inf if self.models and not self.parameters else self.parameters


@once
def costs(results: Results) -> dict[Column, Cost]:
    """Describe every column of results."""
    spent: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for row in results.timings:
        if row.items > 0:
            spent[row.metric].append((row.items, row.cost))
    own = {name: 1000 * math.fsum(part for _, part in rows) / sum(items for items, _ in rows)
           for name, rows in spent.items()}
    beside = {row.metric for row in results.timings if row.alone is None}
    columns = {(row.metric, row.column) for row in results.correlations}
    known: dict[Column, Cost] = {}
    for entry in results.metrics:
        inputs = inputs_of(entry)
        for column in {*((entry.name, name) for name in entry.columns), *(
                column for column in columns if column[0] == entry.name)}:
            seconds = math.fsum(own.get(name, math.nan) for name in (entry.name, *(
                inputs if entry.name in beside else ())))
            known[column] = Cost(entry.family, entry.fitted_on == "ratings", seconds, entry.models, entry.parameters,
                                 inputs)
    return known


def inputs_of(entry: MetricEntry) -> tuple[str, ...]:
    """The metrics whose scores a composition combines, by its signature."""
    return tuple(dict.fromkeys(INPUT.findall(entry.signature)))
