"""Reuse the scores of a bundle instead of scoring: `harness run --reuse BUNDLE`.

Scores are reused on datasets whose items have the same fingerprint, for metrics of the run that have the same signature
or lack a resource. Other metrics of the bundle are added to the boards. The entry of a reused metric names the bundle.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from benchmarks.dataset import Dataset
from harness.bundle import aligned, reading
from harness.errors import BadBundle
from harness.results.entries import MetricEntry
from harness.results.rows import ItemScores, Timing
from harness.scoring.pairs import signed
from harness.scoring.score import Scores
from harness.statistics.panel import Vector
from metrics.column import split_quality
from metrics.models.service import Models
from metrics.registry import Chosen


@dataclass(frozen=True, slots=True, eq=False)
class Reused:
    """Metrics of a bundle by label, and their scores by the fingerprint of the items.

    `signatures` covers all metrics of the bundle; `reasons` explains missing scores, by fingerprint and label. Scores
    of composites and judges, which depend on the qualities, are reused only for the `dimensions` of the bundle.
    """

    name: str = ""
    digest: str = ""
    metrics: Mapping[str, MetricEntry] = field(default_factory=dict)
    signatures: Mapping[str, str] = field(default_factory=dict)
    tables: Mapping[str, ItemScores] = field(default_factory=dict)
    reasons: Mapping[tuple[str, str], str] = field(default_factory=dict)
    dimensions: Mapping[str, frozenset[str]] = field(default_factory=dict)

    def scores(self, dataset: Dataset) -> dict[str, Scores]:
        """Return the scores of a dataset by metric label."""
        dimensions = frozenset(quality.dimension for quality in dataset.card.qualities)
        same = self.dimensions.get(dataset.fingerprint) == dimensions
        return {label: scores for label, scores in self._all(dataset).items() if label in self.metrics and (
            same or not any(split_quality(name, scores.columns)[1] for name in scores.columns))}

    def inputs(self, dataset: Dataset) -> dict[str, Scores]:
        """Return the scores of a dataset by signature, with columns named as a composite expects them."""
        inputs = {}
        for label, scores in self._all(dataset).items():
            options = label[len(label.partition("[")[0]):]
            inputs[self.signatures[label]] = replace(scores, columns={
                name.replace(options, "", 1): values for name, values in scores.columns.items()})
        return inputs

    def reason(self, dataset: Dataset, label: str) -> str:
        """Return why the bundle has no scores of a metric on a dataset."""
        return self.reasons.get((dataset.fingerprint, label), f"the bundle {self.name} has no scores of these items")

    def _all(self, dataset: Dataset) -> dict[str, Scores]:
        table = self.tables.get(dataset.fingerprint)
        columns: dict[str, dict[str, Vector]] = defaultdict(dict)
        for (metric, column), values in aligned(table, dataset).items() if table else ():
            columns[metric][column] = values
        items = tuple(item.id for item in dataset.items)
        return {label: Scores(items, vectors, 0.0) for label, vectors in columns.items()}


def pairs_from_bundle(points: Iterable[ItemScores], timings: Iterable[Timing]) -> set[tuple[str, str]]:
    """Return the pairs of dataset and metric with scores from a bundle, for which a run records no time."""
    timed = {(row.dataset, row.metric) for row in timings}
    return {(table.dataset, metric) for table in points for metric, _ in table.scores} - timed


def read_reusable(path: Path, chosen: Iterable[Chosen], aggregations: Iterable[str], models: Models) -> Reused:
    """Read the scores of a bundle that a run of these metrics can reuse."""
    name, bundle = (packed := reading.read(path)).name, packed.results
    required = bundle.run.options.get("aggregations", ["mean"])
    if sorted(required) != sorted(requested := list(aggregations)):
        raise BadBundle(f"{path}: its turns are aggregated by {', '.join(required)}, those of this run by "
                        f"{', '.join(requested)}; use exactly {' '.join(f'--aggregate {name}' for name in required)}")
    signatures = {entry.label: signed(entry.metric, models) for entry in chosen}
    metrics = {entry.name: replace(entry, source=name) for entry in bundle.metrics
               if signatures.get(entry.name, "") in ("", entry.signed)}
    fingerprints = {entry.name: entry.fingerprint for entry in bundle.datasets}
    reasons = {(fingerprints[row.dataset], row.metric): row.reason
               for row in bundle.skips if row.dataset in fingerprints}
    reasons |= {(fingerprints[row.dataset], row.metric): f"failed in the run of the bundle: {row.error}"
                for row in bundle.failures if row.dataset in fingerprints}
    return Reused(name, hashlib.sha256(path.read_bytes()).hexdigest(), metrics,
                  {entry.name: entry.signed for entry in bundle.metrics},
                  {fingerprints[table.dataset]: table for table in bundle.points}, reasons,
                  {entry.fingerprint: frozenset(quality.dimension for quality in entry.qualities)
                   for entry in bundle.datasets})
