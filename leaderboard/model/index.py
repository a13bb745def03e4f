"""A report made ready for drawing: found by key, in an order of its own, with paths and labels."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal, TypeAlias

from harness.results.rows import Correlation, DatasetEntry, Results
from leaderboard.model.once import once
from leaderboard.model.slugs import slugs

Origin: TypeAlias = Literal["real", "sample"]
Key: TypeAlias = tuple[str, str]
"""A metric and one of its columns."""

FIRST = ("spearman", "pearson", "kendall")
SPLITS = ("dev", "dev-references", "test", "test-references")
DATA: dict[str, str] = {
    "real": "real human judgements (imported or fetched datasets)",
    "sample": "the bundled sample (made by a script, simulated raters)",
}


@dataclass(frozen=True, slots=True)
class Index:
    """A report by key. Nothing in it depends on the order in which the report lists things."""

    results: Results
    datasets: tuple[DatasetEntry, ...]
    statistics: tuple[str, ...]
    dataset_paths: dict[str, str]
    quality_paths: dict[str, str]
    cards: dict[str, str]
    labels: dict[Key, str]
    models: dict[str, str]
    correlations: dict[tuple[str, str, str, str, str], Correlation]
    reasons: dict[Key, str]
    learned: frozenset[tuple[str, str]]
    """Metrics with the datasets on which they are scored with weights that were learned there."""

    def correlation(self, dataset: str, quality: str, key: Key, statistic: str) -> Correlation | None:
        """Find what the run has for a column on a quality, if anything."""
        return self.correlations.get((dataset, quality, *key, statistic))

    def why(self, dataset: str, quality: str, key: Key, statistic: str) -> str:
        """Say why there is no value."""
        found = self.correlation(dataset, quality, key, statistic)
        if found is not None:
            return found.note or "no value, and no reason given"
        return self.reasons.get((dataset, key[0]), "not scored in this run")

    def on(self, origin: str, board: str | None = None) -> tuple[DatasetEntry, ...]:
        """List the datasets of an origin, and of a board if one is named."""
        split, _, need = (board or "").partition("-")
        return tuple(entry for entry in self.datasets if origin_of(entry) == origin
                     and split in ("", entry.split) and (not need or need in entry.has))

    def data(self, origin: str, board: str | None = None) -> str:
        """Say in words which data a table is on: people or the script, how many datasets of a board, cut or whole."""
        count = len(self.on(origin, board))
        limit = self.results.run.options.get("limit")
        return "; ".join(filter(None, (
            DATA[origin],
            "" if board is None else f"{count} dataset" + ("s" if count != 1 else ""),
            f"only the first {limit} items of each" if limit else "")))

    def standing_keys(self, origin: str) -> set[Key]:
        """Collect the columns on the overall boards of an origin; all columns where there is no board."""
        names = {entry.name for entry in self.on(origin)}
        return ({(row.metric, row.column) for row in self.results.ranking if row.origin == origin}
                or {(row.metric, row.column) for row in self.results.correlations if row.dataset in names})


@once
def make_index(results: Results) -> Index:
    """Make a report ready for drawing."""
    datasets = tuple(sorted(results.datasets, key=lambda entry: (split_order(entry.split), entry.name)))
    dimensions = {quality.dimension for entry in datasets for quality in entry.qualities}
    return Index(
        results=results,
        datasets=datasets,
        statistics=ordered(row.statistic for row in results.correlations),
        dataset_paths={name: f"dataset/{slug}.html"
                       for name, slug in slugs(entry.name for entry in datasets).items()},
        quality_paths={name: f"quality/{slug}.html" for name, slug in slugs(dimensions).items()},
        cards={name: f"metric/{slug}.html"
               for name, slug in slugs(entry.name for entry in results.metrics).items()},
        labels=_labels(results),
        models={entry.name: ", ".join(entry.models) for entry in results.metrics},
        correlations={(row.dataset, row.quality, row.metric, row.column, row.statistic): row
                    for row in results.correlations},
        reasons=_reasons(results),
        learned=frozenset((entry.name, dataset.name) for entry in results.metrics for dataset in datasets
                          if dataset.name in entry.learned_on and origin_of(dataset) == "real"),
    )


def origin_of(entry: DatasetEntry) -> Origin:
    """Tell whether people made these ratings, or the script of the bundled sample."""
    return "sample" if entry.origin == "sample" else "real"


def ordered(statistics: Iterable[str]) -> tuple[str, ...]:
    """Put Spearman first, Pearson, Kendall, then the others by name."""
    place = {name: position for position, name in enumerate(FIRST)}
    return tuple(sorted(set(statistics), key=lambda name: (place.get(name, len(place)), name)))


def split_order(split: str) -> tuple[int, str]:
    """Sort development before test, anything else behind."""
    return (SPLITS.index(split) if split in SPLITS else len(SPLITS), split)


def statistic_title(statistic: str) -> str:
    """Write a statistic as in a caption."""
    return statistic.replace("_", " ").replace("-", " ").capitalize()


def there(row: Correlation | None) -> bool:
    """Tell whether a value was found."""
    return row is not None and math.isfinite(row.value)


def _labels(results: Results) -> dict[Key, str]:
    """Call a column by its own name where that says which metric it is of, else with the metric before it."""
    keys = {(row.metric, row.column) for row in results.correlations}
    keys |= {(row.metric, row.column) for row in results.ranking}
    keys |= {(entry.name, column) for entry in results.metrics for column in entry.columns}
    shared = Counter(column for _, column in keys)
    return {(metric, column): column if column.startswith(metric) and shared[column] == 1
            else f"{metric} / {column}" if column != metric else column
            for metric, column in sorted(keys)}


def _reasons(results: Results) -> dict[Key, str]:
    found: dict[Key, set[str]] = defaultdict(set)
    for skip in results.skips:
        found[skip.dataset, skip.metric].add(f"skipped: {skip.reason}")
    for failure in results.failures:
        found[failure.dataset, failure.metric].add(f"crashed: {failure.error}")
    return {cell: "; ".join(sorted(reasons)) for cell, reasons in found.items()}
