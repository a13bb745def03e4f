"""Pairs of metric and dataset to be scored, the models that they share, and their estimated time.

The seconds per item are taken from the last run (`report/timings.json`) if it used the same models, else from metrics
that read the same models.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

from benchmarks.dataset import Dataset
from harness.results.rows import Timing
from harness.scoring import composites, score
from harness.scoring.store import ScoreStore
from metrics.errors import MissingResource
from metrics.metric import Metric, checkpoints, options, signature
from metrics.models.service import Models
from metrics.registry import Chosen

UNKNOWN = {False: 0.0005, True: 0.02}
"""Seconds per item where nothing was measured, of a metric without a model and with one."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A metric to be scored on a dataset; `group` names the models that it reads.

    `items` are the ids of the dataset's items, `cost` is in seconds per item, a guess unless `known`.
    """

    dataset: str
    fingerprint: str
    items: tuple[str, ...]
    chosen: Chosen
    signature: str
    group: str = ""
    cost: float = 0.0
    known: bool = True

    @property
    def key(self) -> tuple[str, str]:
        """The store key of its scores."""
        return self.fingerprint, self.signature

    @property
    def label(self) -> str:
        """The metric's name with its options."""
        return self.chosen.label


def pairs(dataset: Dataset, chosen: Sequence[Chosen], models: Models, store: ScoreStore,
          costs: Mapping[str, float], *, rescore: bool = False, known: Collection[str] = ()) -> list[Pair]:
    """List the metrics to be scored on a dataset, with the inputs of compositions, sorted by the models read.

    `known` are signatures whose scores are available without a store.
    """
    items = tuple(item.id for item in dataset.items)
    stored = store.stored(dataset.fingerprint)
    planned: dict[str, Pair] = {}
    complete = (pick for pick in chosen if all(signed(part.metric, models) for part in composites.parts([pick])))
    for part in composites.parts(complete):  # no input of a composition that lacks another
        key = signed(score.about(part.metric, dataset), models)
        if (not key or key in planned or key in known or (stored(key) and not rescore)
                or score.unmet(part.metric, dataset)):
            continue
        group = shared(part.metric, models)
        cost = costs.get(part.label) or costs.get(group)
        planned[key] = Pair(dataset.card.name, dataset.fingerprint, items, part, key, group,
                            cost or UNKNOWN[bool(group)], bool(cost) or not group)
    return sorted(planned.values(), key=lambda pair: pair.group)


def shared(metric: Metric, models: Models) -> str:
    """Return the models that a metric reads as one line; empty where it reads none or a model is missing."""
    names = {kind: options(metric)[kind] for kind in metric.card.models}
    if not names and checkpoints(metric):
        names = {"encoder": getattr(metric, "encoder", "")}
    try:
        return "|".join(f"{kind}={models.identity(kind, name)}" for kind, name in names.items())
    except MissingResource:
        return ""


def signed(metric: Metric, models: Models) -> str:
    """Return the signature of a metric; empty where a model or resource is missing."""
    try:
        return signature(metric, models)
    except MissingResource:
        return ""


def measured_costs(out: Path, chosen: Iterable[Chosen], models: Models) -> dict[str, float]:
    """Return the seconds per item in the last run under `out`, by metric, and the median of each group."""
    try:
        timings = [Timing(**row) for row in json.loads((out / "report" / "timings.json").read_bytes())]
        report = out / "report" / "report.json"
        entries = json.loads(report.read_bytes())["metrics"] if report.exists() else ()
        signatures = {str(entry["name"]): entry["signature"] for entry in entries}
    except (OSError, ValueError, TypeError, KeyError):
        return {}
    groups = {metric.label: shared(metric.metric, models) for metric in chosen
              if metric.label not in signatures or signed(metric.metric, models) == signatures[metric.label]}
    rows: dict[str, list[Timing]] = defaultdict(list)
    for row in timings:
        if row.metric in groups and row.items:
            rows[row.metric].append(row)
    costs = {metric: sum(row.seconds for row in measured) / sum(row.items for row in measured)
             for metric, measured in rows.items()}
    members: dict[str, list[float]] = defaultdict(list)
    for metric, cost in costs.items():
        members[groups[metric]].append(cost)
    return costs | {group: median(values) for group, values in members.items() if group}
