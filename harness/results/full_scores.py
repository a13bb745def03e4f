"""The scores of a report in full precision: its points are float32, which ties what was near to each other.

The score store of the run has them as float64, by the fingerprint and the signature that the report names. They are
taken only where they round to the points: what was scored anew since is not what the report was made of.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from benchmarks import registry as datasets
from harness.results.rows import DatasetEntry, ItemScores, MetricEntry, Results
from harness.scoring import composites
from harness.scoring.score import Scores
from harness.scoring.store import ScoreStore
from harness.statistics.panel import Vector
from metrics import registry as metrics
from metrics.column import of_quality, split_quality

Name = tuple[str, str]
"""Metric and column."""


def plain(names: Mapping[Name, object]) -> Iterator[Name]:
    """The columns without those made for one quality (`COLUMN@QUALITY`), which stand for them there."""
    columns: dict[str, list[str]] = {}
    for metric, column in names:
        columns.setdefault(metric, []).append(column)
    yield from (name for name in names if not split_quality(name[1], columns[name[0]])[1])


def on(scores: Mapping[Name, Vector], name: Name, dimension: str) -> Vector:
    """A column on one quality: that made for it, else the plain one."""
    return scores.get((name[0], of_quality(name[1], dimension)), scores[name])


def scores(report: Results, points: ItemScores, store: ScoreStore) -> tuple[dict[Name, Vector], tuple[str, ...]]:
    """Every column of a dataset, in the order of its points, and the metrics that are there as float32 only."""
    (dataset,) = (entry for entry in report.datasets if entry.name == points.dataset)
    entries = {entry.name: entry for entry in report.metrics}
    found = {name: values.astype(np.float64) for name, values in points.scores.items()}
    rounded: list[str] = []
    for metric in dict.fromkeys(metric for metric, _ in found):
        kept = _kept(entries[metric], dataset, store)
        own = {name: _column(kept, name, points.items) for name in found if name[0] == metric} if kept else {}
        if own and all(values is not None and np.allclose(values, found[name], rtol=1e-6, atol=1e-30, equal_nan=True)
                       for name, values in own.items()):
            found |= {name: values for name, values in own.items() if values is not None}
        else:
            rounded.append(metric)
    return found, tuple(rounded)


def _kept(entry: MetricEntry, dataset: DatasetEntry, store: ScoreStore) -> Scores | None:
    """What the store has by the signature, or by that of a composition on the dataset."""
    found = store.get(dataset.fingerprint, entry.signature)
    if found is None and dataset.name in datasets.names():
        found = store.get(dataset.fingerprint, composites.composed_key(entry.signature, datasets.card(dataset.name)))
    return found


def _column(kept: Scores, name: Name, items: tuple[str, ...]) -> Vector | None:
    """A column as the report names it: the options of its metric stand behind its own name."""
    metric, column = name
    options = metrics.split(metric)[1]
    own = column.replace(f"[{options}]", "", 1) if options else column
    if own not in kept.columns:
        return None
    if kept.items == items:
        return kept.columns[own]
    place = {item: row for row, item in enumerate(kept.items)}
    if any(item not in place for item in items):
        return None
    return kept.columns[own][[place[item] for item in items]]
