"""The cost of a metric: seconds including its inputs, size of its models, and whether it was fitted on ratings."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass

from harness.results.rows import Results
from leaderboard.model.index import Column, Index, once


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a metric.

    `seconds` per 1,000 items include the `inputs`, the metrics whose scores it combines; NaN if not measured. They are
    measured with the metric running alone, models loaded; results of earlier versions have the times of the run. `size`
    is the number of parameters, infinity if unknown. `fitted` is True if weights were fitted on human ratings.
    """

    seconds: float = math.nan
    size: float = 0
    inputs: tuple[str, ...] = ()
    fitted: bool = False

    @property
    def time(self) -> str:
        """The seconds with two significant digits; "" if not measured."""
        value = self.seconds
        if not math.isfinite(value):
            return ""
        return "< 0.01" if value < 0.01 else f"{value:.{0 if value >= 9.95 else 1 if value >= 0.995 else 2}f}"


@once
def costs(results: Results) -> dict[str, Cost]:
    """Return the cost of each metric by its name."""
    timed_items: dict[str, list[tuple[int, float]]] = defaultdict(list)
    for row in results.timings:
        if row.items > 0:
            timed_items[row.metric].append((row.items, row.cost))
    seconds = {name: 1000 * math.fsum(part for _, part in rows) / sum(items for items, _ in rows)
               for name, rows in timed_items.items()}
    without_inputs = {row.metric for row in results.timings if row.alone is None}
    costs = {}
    for entry in results.metrics:
        timed = (entry.name, *entry.inputs) if entry.name in without_inputs else (entry.name,)
        costs[entry.name] = Cost(
            math.fsum(seconds.get(name, math.nan) for name in timed),
            math.inf if entry.models and not entry.parameters else entry.parameters, entry.inputs,
            entry.fitted_on == "ratings")
    return costs


def cost_of(index: Index, column: Column) -> Cost:
    return costs(index.results).get(column[0], Cost())


def size(parameters: float) -> str:
    """Format a number of parameters in thousands, or from half a million in millions; "" if 0 or unknown."""
    if not parameters or math.isinf(parameters):
        return ""
    return f"{parameters / 1e6:.0f} M" if parameters >= 500_000 else f"{parameters / 1e3:.0f} k"
