"""The cost of a column: seconds including its inputs, models and their size, and fitting on ratings."""

from __future__ import annotations

import math
import re
from collections import defaultdict
from dataclasses import dataclass

from harness.results.rows import Results
from leaderboard.model.index import Column, once

INPUT = re.compile(r"\|input=[^|]*\|([^|]+)\|")
"""The metric of an input in the signature of a composition."""


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a column.

    `seconds` per 1,000 items are NaN if not measured and include the `inputs`, the metrics whose scores it combines.
    They are measured alone with models loaded; results of earlier versions have those of the run. `fitted` is True if
    weights were fitted on human ratings.
    """

    family: str
    fitted: bool
    seconds: float
    models: tuple[str, ...] = ()
    parameters: int = 0
    inputs: tuple[str, ...] = ()

    @property
    def size(self) -> float:
        """Return the number of parameters of its networks, infinity if unknown."""
        return math.inf if self.models and not self.parameters else self.parameters


@once
def costs(results: Results) -> dict[Column, Cost]:
    spent: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for row in results.timings:
        if row.items > 0:
            spent[row.metric].append((row.items, row.cost))
    seconds = {name: 1000 * math.fsum(part for _, part in rows) / sum(items for items, _ in rows)
               for name, rows in spent.items()}
    without_inputs = {row.metric for row in results.timings if row.alone is None}
    columns = {(entry.name, name) for entry in results.metrics for name in entry.columns}
    columns |= {(row.metric, row.column) for row in results.correlations}
    entries, described = {entry.name: entry for entry in results.metrics}, dict[Column, Cost]()
    for column in columns:
        if entry := entries.get(column[0]):
            inputs = tuple(dict.fromkeys(INPUT.findall(entry.signature)))
            timed = (entry.name, *inputs) if entry.name in without_inputs else (entry.name,)
            described[column] = Cost(
                entry.family, entry.fitted_on == "ratings", math.fsum(seconds.get(name, math.nan) for name in timed),
                entry.models, entry.parameters, inputs)
    return described
