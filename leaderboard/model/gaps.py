"""Missing values grouped by reason: skipped pairs of metric and dataset, columns without a value, no board at all."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable

from harness.results.rows import Results, Skip
from leaderboard.model.index import STATISTIC


def without_value(results: Results) -> list[tuple[str, list[Skip]]]:
    """Group by reason the columns that have no value on any quality of a dataset."""
    notes: dict[tuple[str, str], set[str]] = defaultdict(set)
    for row in results.correlations:
        if row.statistic == STATISTIC:
            notes[row.dataset, row.column].add("" if math.isfinite(row.value) else row.note)
    return by_reason(Skip(dataset, column, *reasons) for (dataset, column), reasons in notes.items()
                     if len(reasons) == 1 and "" not in reasons)


def by_reason(skipped: Iterable[Skip]) -> list[tuple[str, list[Skip]]]:
    """Group skips by reason, the most frequent first."""
    groups: dict[str, list[Skip]] = defaultdict(list)
    for skip in sorted(skipped, key=lambda skip: (skip.metric, skip.dataset)):
        groups[skip.reason].append(skip)
    return sorted(groups.items(), key=lambda entry: (-len(entry[1]), entry[0]))


def pairs(skipped: Iterable[Skip]) -> str:
    """List metrics with the datasets they were skipped on; metrics with the same datasets are named together."""
    datasets: dict[str, list[str]] = defaultdict(list)
    for skip in skipped:
        datasets[skip.metric].append(skip.dataset)
    metrics: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for metric, names in datasets.items():
        metrics[tuple(names)].append(metric)
    return "; ".join(f"{', '.join(group)} on {', '.join(names)}" for names, group in metrics.items())


def why_no_board(results: Results) -> str:
    """Explain why nothing is ranked."""
    if (results.skips or results.failures) and not results.timings:
        return "No board: nothing could be scored. The reasons are listed below."
    rated = (f"{entry.name} has {max((quality.rated for quality in entry.qualities), default=0)} of "
             f"{entry.items} items rated" for entry in results.datasets)
    return "No board: a quality needs at least three rated items with different ratings. " + "; ".join(rated) + "."
