"""The cost of a metric: seconds including its inputs, size of its models, and whether it was fitted on ratings."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass

from harness.results.rows import Results, Timing
from leaderboard.model.index import ColumnKey, Index, cached_by_results


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of a metric: seconds per 1,000 items, NaN if not measured, and parameters, infinity if unknown.

    The seconds include the `inputs`, the metrics whose scores it combines. They are measured with the metric running
    alone, models loaded; results of earlier versions have the times of the run.
    """

    seconds: float = math.nan
    size: float = 0
    inputs: tuple[str, ...] = ()
    fitted: bool = False

    @property
    def time(self) -> str:
        """The seconds with two significant digits; "" if not measured."""
        if not math.isfinite(self.seconds):
            return ""
        decimals = 0 if self.seconds >= 9.95 else 1 if self.seconds >= 0.995 else 2
        return "< 0.01" if self.seconds < 0.01 else f"{self.seconds:.{decimals}f}"


@cached_by_results
def costs(results: Results) -> dict[str, Cost]:
    timings_by_metric: dict[str, list[Timing]] = defaultdict(list)
    for row in results.timings:
        if row.items > 0:
            timings_by_metric[row.metric].append(row)
    seconds = {name: 1000 * math.fsum(row.cost for row in rows) / sum(row.items for row in rows)
               for name, rows in timings_by_metric.items()}
    without_inputs = {row.metric for row in results.timings if row.alone is None}
    return {entry.name: Cost(
        math.fsum(seconds.get(name, math.nan) for name in (
            entry.name, *(entry.inputs if entry.name in without_inputs else ()))),
        math.inf if entry.models and not entry.parameters else entry.parameters, entry.inputs,
        entry.fitted_on == "ratings") for entry in results.metrics}


def cost_of(index: Index, column: ColumnKey) -> Cost:
    return costs(index.results).get(column[0], Cost())


def size(parameters: float) -> str:
    """Format a number of parameters in thousands, or from half a million in millions; "" if 0 or unknown."""
    if not parameters or math.isinf(parameters):
        return ""
    return f"{parameters / 1e6:.0f} M" if parameters >= 500_000 else f"{parameters / 1e3:.0f} k"
