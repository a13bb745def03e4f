"""Missing values: the pairs of metric and dataset without a score, by reason, and why nothing is ranked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from harness.results.rows import Results, Skip
from leaderboard.model.index import STATISTIC, has_value, make_index


class Missing(NamedTuple):
    """A reason, the number of pairs that it concerns, and these pairs as METRICS on DATASETS (`where`)."""

    reason: str
    pairs: int
    where: str


def by_reason(skips: Iterable[Skip]) -> list[Missing]:
    """Group skips by reason, the most frequent first; metrics skipped on the same datasets are listed together."""
    datasets: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for skip in sorted(skips, key=lambda skip: (skip.metric, skip.dataset)):
        datasets[skip.reason][skip.metric].append(skip.dataset)
    grouped = []
    for reason, of_metric in datasets.items():
        metrics: dict[str, list[str]] = defaultdict(list)
        for metric, names in of_metric.items():
            metrics[", ".join(names)].append(metric)
        grouped.append(Missing(reason, sum(map(len, of_metric.values())), "; ".join(
            f"{', '.join(group)} on {names}" for names, group in metrics.items())))
    return sorted(grouped, key=lambda missing: (-missing.pairs, missing.reason))


def without_value(results: Results) -> list[Missing]:
    """Group the columns without a value on any quality of a dataset, by reason."""
    index, notes = make_index(results), defaultdict[tuple[str, str], set[str]](set)
    for row in results.correlations:
        if row.statistic == STATISTIC:
            notes[row.dataset, row.column].add("" if has_value(row) else index.note(row))
    return by_reason(Skip(dataset, column, *reasons) for (dataset, column), reasons in notes.items()
                     if len(reasons) == 1 and "" not in reasons)


def why_no_board(results: Results) -> str:
    """Explain why nothing is ranked."""
    if (results.skips or results.failures) and not results.timings:
        return ("No board: nothing could be scored on the data shown. The reasons are listed below; results on the "
                "bundled sample are not shown beside real data or your own.")
    rated = (f"{entry.name} has {max((quality.rated for quality in entry.qualities), default=0)} of "
             f"{entry.items} items rated" for entry in results.datasets)
    return "No board: a quality needs at least three rated items with different ratings. " + "; ".join(rated) + "."
