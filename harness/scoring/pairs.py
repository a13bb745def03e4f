"""Pairs of metric and dataset to be scored, the models that they share, and their estimated time.

The seconds per item are those of the last run (`report/timings.json`) if it used the same models, else those of metrics
that read the same models.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from statistics import median

from benchmarks.dataset import Dataset
from harness.results.rows import Timing
from harness.scoring import composites, score
from harness.scoring.store import ScoreStore, Span
from metrics.errors import MissingResource
from metrics.metric import Metric, checkpoints, options, signature
from metrics.models.service import Models
from metrics.registry import Chosen

UNKNOWN = {False: 0.0005, True: 0.02}
"""Seconds per item where nothing was measured, of a metric without a model and with one."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A metric to be scored on a dataset; `group` names the models that it reads.

    `items` are the ids of the dataset's items, `cost` is in seconds per item, a guess unless `known`, `length` in
    characters per item. A metric that is `whole` scores all items in one call.
    """

    dataset: str
    fingerprint: str
    items: tuple[str, ...]
    chosen: Chosen
    signature: str
    group: str = ""
    cost: float = 0.0
    known: bool = True
    length: float = 1.0

    @property
    def key(self) -> tuple[str, str]:
        """The store key of its scores."""
        return self.fingerprint, self.signature

    def expected(self, span: Span) -> tuple[float, float]:
        """Return the characters of a part, and its seconds if known, else 0."""
        items = span[1] - span[0]
        return items * self.length, items * self.cost * self.known

    @property
    def metric(self) -> str:
        """The metric as requested, by which a worker chooses it."""
        return self.chosen.requested

    @property
    def label(self) -> str:
        """The metric's name with its options."""
        return self.chosen.label

    @property
    def whole(self) -> bool:
        """True if a score depends on the other items of the dataset."""
        return self.chosen.metric.card.scope == "dataset"


def pairs(dataset: Dataset, chosen: Sequence[Chosen], models: Models, store: ScoreStore,
          costs: Mapping[str, float], *, rescore: bool = False, known: Collection[str] = ()) -> list[Pair]:
    """List what is to be scored on a dataset, with the inputs of compositions, sorted by the models read.

    `known` are signatures whose scores are available without a store.
    """
    items = tuple(item.id for item in dataset.items)
    stored = store.stored(dataset.fingerprint)
    planned: dict[str, Pair] = {}
    lengths: dict[bool, float] = {}
    for part in composites.parts(chosen):
        key = signed(part.metric, models)
        if (not key or key in planned or key in known or (stored(key) and not rescore)
                or composites.unmet(part.metric, dataset)):
            continue
        group = shared(part.metric, models)
        cost = costs.get(part.label) or costs.get(group)
        by_turn = score.by_turn(part.metric, dataset)
        if by_turn not in lengths:
            lengths[by_turn] = _length(dataset, by_turn=by_turn)
        planned[key] = Pair(dataset.card.name, dataset.fingerprint, items, part, key, group,
                            cost or UNKNOWN[bool(group)], bool(cost) or not group, lengths[by_turn])
    return sorted(planned.values(), key=lambda pair: pair.group)


def _length(dataset: Dataset, *, by_turn: bool) -> float:
    """Return the mean characters per item; of a dialogue read turn by turn, over all its turns."""
    read = chain.from_iterable(map(score.turns, dataset.items)) if by_turn else dataset.items
    return sum(len(turn.text) for item in read for turn in item.utterances) / max(1, len(dataset.items))


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
    seconds: dict[str, float] = defaultdict(float)
    items: dict[str, int] = defaultdict(int)
    for row in timings:
        if row.metric in groups:
            seconds[row.metric] += row.seconds
            items[row.metric] += row.items
    by_metric = {metric: seconds[metric] / items[metric] for metric in seconds if items[metric]}
    members: dict[str, list[float]] = defaultdict(list)
    for metric, cost in by_metric.items():
        if groups.get(metric):
            members[groups[metric]].append(cost)
    return by_metric | {group: median(values) for group, values in members.items()}
