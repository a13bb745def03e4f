"""Results indexed for drawing: rows by key, datasets in a fixed order, paths of pages, labels, and missing values.

The order of the rows in the results does not matter.
"""

from __future__ import annotations

import functools
import math
from collections import defaultdict, deque
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from typing import Any, NamedTuple, TypeVar

from harness.results.decision_rows import Firmness
from harness.results.entries import BoardId, DatasetEntry, QualityEntry, fitted
from harness.results.item_scores import slug
from harness.results.rows import ColumnKey as ColumnKey
from harness.results.rows import Correlation, Results, Skip, tables_by
from harness.results.rows import Target as Target
from harness.results.rows import plural as plural
from leaderboard.model import titles

Value = TypeVar("Value")

STATISTIC = "spearman"
STATISTICS = (STATISTIC, "pearson", "kendall")
SPLITS = tuple(f"{split}{part}" for split in ("dev", "test", "recent", "own", "more") for part in ("", "-references"))
CACHE_SIZE = 5
"""Number of results whose values are cached: a run's and one per era in it."""
ONE_RATER, KNOWN_RATERS = "leave-one-out", "leave-one-rater-out"
"""Methods for the correlation of one rater with the mean of the others: one random vote per item, or known raters."""


class Index:
    """The rows of results by key."""

    def __init__(self, results: Results) -> None:
        self.results = results
        self.datasets = tuple(sorted(results.datasets, key=lambda entry: (split_order(entry.split), entry.name)))
        self.statistics = sorted_statistics(row.statistic for row in results.correlations)
        self.metrics = {entry.name: entry for entry in results.metrics}
        self.badges = {entry.name: entry.badge for entry in results.metrics}
        self.dataset_paths = {entry.name: f"dataset/{slug(entry.name)}.html" for entry in results.datasets}
        self.metric_paths = {entry.name: f"metric/{slug(entry.name)}.html" for entry in results.metrics}
        self.names = titles.names(results)
        self.labels = titles.titles(self.names, results.metrics)
        self.titles = {entry.name: entry.named or titles.short(entry.name) for entry in results.metrics}
        self.titles |= {name: title for column, title in self.labels.items() for name in (column[1], "/".join(column))}
        self.correlations = {(row.dataset, row.quality, row.metric, row.column, row.statistic): row
                             for row in results.correlations}
        self.columns: dict[str, set[ColumnKey]] = defaultdict(set)  # columns with a correlation row, by dataset
        for row in results.correlations:
            self.columns[row.dataset].add((row.metric, row.column))
        self.targets_with_values = {(row.dataset, row.quality) for row in results.correlations if has_value(row)}
        self.reliability = {(row.dataset, row.quality, row.method): row.value for row in results.reliability}
        self.decisions = {(row.dataset, row.quality, row.metric, row.column): row for row in results.decisions}
        on_ratings = {entry.name for entry in results.metrics if entry.fitted_on == "ratings"}
        self.replacing: dict[Target, list[ColumnKey]] = defaultdict(list)  # columns not fitted on ratings, by target
        for decision in results.decisions:
            if decision.replaces and decision.metric not in on_ratings:
                self.replacing[decision.dataset, decision.quality].append((decision.metric, decision.column))
        self.warnings = {(entry.name, quality.name): quality.warning for entry in self.datasets
                         for quality in entry.qualities if quality.warning}
        self.fitted = fitted(results.metrics, results.datasets)
        self.firmness: dict[tuple[str, str, str], list[Firmness]] = defaultdict(list)  # by board, rule, among
        for firmness in results.firmness:
            self.firmness[firmness.board, firmness.rule, firmness.among].append(
                replace(firmness, tied=tuple(self.titles.get(name, name) for name in firmness.tied)))
        self._unrated = {(entry.name, quality.name) for entry in self.datasets for quality in entry.qualities
                         if not quality.rated}
        self._without_references = {entry.name for entry in results.datasets if "references" not in entry.has}
        self._problems: dict[tuple[str, str], set[str]] = defaultdict(set)
        for skip in results.skips:
            self._problems[skip.dataset, skip.metric].add(f"skipped: {skip.reason}")
        for failure in results.failures:
            self._problems[failure.dataset, failure.metric].add(f"failed: {failure.error}")

    def correlation(self, target: Target, column: ColumnKey, statistic: str = STATISTIC) -> Correlation | None:
        return self.correlations.get((*target, *column, statistic))

    def value(self, target: Target, column: ColumnKey) -> float:
        """Return the Spearman correlation; NaN if there is none or the weights were fitted on the dataset."""
        row = self.correlation(target, column)
        return math.nan if row is None or self.is_fitted(column, target[0]) else row.value

    def best_first(self, target: Target, columns: Iterable[ColumnKey]) -> list[ColumnKey]:
        """Sort columns by their values on a target, the highest first and missing values last."""
        return sorted(columns, key=lambda column: (descending(self.value(target, column)), column))

    def rater_agreement(self, target: Target, method: str) -> float:
        """Return the reliability by a method; for ONE_RATER, averaged over raters if they are known."""
        by_known_raters = self.reliability.get((*target, KNOWN_RATERS), math.nan) if method == ONE_RATER else math.nan
        return by_known_raters if math.isfinite(by_known_raters) else self.reliability.get((*target, method), math.nan)

    def is_fitted(self, column: ColumnKey, dataset: str) -> bool:
        """Return True if the weights of a column were fitted on the ratings of a dataset."""
        return (column[0], dataset) in self.fitted

    def reason_missing(self, target: Target, column: ColumnKey, statistic: str = STATISTIC) -> str:
        row = self.correlation(target, column, statistic)
        if row is not None:
            return self.note(row) or "no value; the reason is unknown"
        if target in self._unrated:
            return "nobody rated this quality"
        return "; ".join(sorted(self._problems.get((target[0], column[0]), ()))) or "not scored in this run"

    def note(self, row: Correlation) -> str:
        """Return the note of a correlation; if nothing was scored for lack of references, say so."""
        entry = self.metrics.get(row.metric)
        needs_references = entry is not None and "references" in entry.signature
        if needs_references and row.dataset in self._without_references and row.note.startswith("0 rows "):
            return "no item has references"
        return row.note

    def datasets_on(self, board: str) -> tuple[DatasetEntry, ...]:
        """Return the datasets of a board; all if the name is empty."""
        return tuple(entry for entry in self.datasets if entry.on(board))

    def split(self, name: str) -> str:
        """Return the name of a split; in a challenge, the name of its phase, if any."""
        options = self.results.run.options
        return str(options.get("phase", "")) if "challenge" in options else name

    def board(self, name: str) -> str:
        """Return the name of a board; in a challenge, with the phase in place of the split."""
        board = BoardId.parse(name)
        return str(replace(board, split=self.split(board.split) or board.split))

    def describe_data(self, board: str = "") -> str:
        """Describe the data of a board: the number of datasets, whether they are the user's, and any restrictions."""
        scored_first, datasets = self.results.run.options.get("first"), self.datasets_on(board)
        return "; ".join(filter(None, (
            "your own datasets" if {entry.split for entry in datasets} == {"own"} else "",
            plural(len(datasets), "dataset") if board else "",
            scored_part(self.results),
            f"{scored_first}; the others are still being scored" if scored_first else "")))


def scored_part(results: Results) -> str:
    """Describe which items were scored; "" if all were."""
    limit, sample = map(results.run.options.get, ("limit", "sample"))
    return (f"only the first {limit} items of each dataset" if limit else
            f"only a sample of each dataset: at most {sample} items in whole contexts" if sample else "")


def cached_by_results(function: Callable[[Results], Value]) -> Callable[[Results], Value]:
    """Cache a function's values for the last CACHE_SIZE results, compared by identity; several pages need them."""
    cache: deque[tuple[Results, Value]] = deque(maxlen=CACHE_SIZE)

    @functools.wraps(function)
    def cached(results: Results) -> Value:
        for cached_results, value in cache:
            if cached_results is results:
                return value
        cache.append((results, value := function(results)))
        return value

    return cached


make_index = cached_by_results(Index)


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
    for reason, datasets_by_metric in datasets.items():
        metrics: dict[str, list[str]] = defaultdict(list)
        for metric, names in datasets_by_metric.items():
            metrics[", ".join(names)].append(metric)
        where = "; ".join(f"{', '.join(group)} on {names}" for names, group in metrics.items())
        grouped.append(Missing(reason, sum(map(len, datasets_by_metric.values())), where))
    return sorted(grouped, key=lambda missing: (-missing.pairs, missing.reason))


def without_value(results: Results) -> list[Missing]:
    """Group the columns without a value on any quality of a dataset by reason, if the reason is the same on all."""
    index, notes = make_index(results), defaultdict[tuple[str, str], set[str]](set)
    for row in results.correlations:
        if row.statistic == STATISTIC:
            notes[row.dataset, row.column].add("" if has_value(row) else index.note(row))
    return by_reason(Skip(dataset, column, *reasons) for (dataset, column), reasons in notes.items()
                     if len(reasons) == 1 and "" not in reasons)


def drop_sample(results: Results) -> Results:
    """Drop the sample if there is real data, so that simulated ratings never appear beside real ones."""
    real = {entry.name for entry in results.datasets if entry.kind == "real"}
    return select_datasets(results, real) if 0 < len(real) < len(results.datasets) else results


def select_datasets(results: Results, datasets: Collection[str]) -> Results:
    """Select datasets, with the boards of their splits; problems of datasets that were not loaded are kept."""
    dropped = {entry.name for entry in results.datasets} - set(datasets)
    entries = tuple(entry for entry in results.datasets if entry.name not in dropped)
    boards = {(entry.split, entry.kind) for entry in entries}
    rows: dict[str, Any] = {name: tuple(row for row in getattr(results, name) if row.dataset not in dropped)
                            for name in tables_by("dataset")}
    rows |= {name: tuple(row for row in getattr(results, name)
                         if (BoardId.parse(row.board).split, row.origin) in boards) for name in tables_by("board")}
    return replace(results, datasets=entries, **rows)


def main_quality(entry: DatasetEntry) -> QualityEntry | None:
    """Return the overall quality of a dataset, else the first rated one."""
    rated_qualities = [quality for quality in entry.qualities if quality.rated]
    overall = (quality for quality in rated_qualities if quality.dimension == "overall")
    return next(overall, rated_qualities[0] if rated_qualities else None)


def has_value(row: Correlation | None) -> bool:
    return row is not None and math.isfinite(row.value)


def descending(value: float) -> float:
    """Return a sort key that puts the highest value first and missing values last."""
    return -value if math.isfinite(value) else math.inf


def sorted_statistics(statistics: Iterable[str]) -> tuple[str, ...]:
    """Sort statistics: Spearman, Pearson, Kendall, then others by name."""
    return tuple(sorted(set(statistics), key=lambda name: ((*STATISTICS, name).index(name), name)))


def split_order(split: str) -> tuple[int, str]:
    """Return a sort key that follows SPLITS; other splits come last, by name."""
    return (*SPLITS, split).index(split), split
