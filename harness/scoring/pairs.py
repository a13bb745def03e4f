"""Which pairs of metric and dataset are to be scored, which models they share, and what they will take.

What a metric takes per item is known from the last run (`report/timings.json`), if it had the same models, else
estimated from metrics that read them.
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
"""Seconds per item where nothing was ever measured: of a metric without a model, and of one with."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A metric and a dataset on which it is to be scored; `group` names the models that it reads.

    `items` are the ids of the dataset's items, `cost` is in seconds per item, a guess where it is not `known`, `length`
    in characters that are read per item. A metric that is `whole` is scored on all items at once.
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
        """What its scores are stored by: fingerprint and signature."""
        return self.fingerprint, self.signature

    def expected(self, span: Span) -> tuple[float, float]:
        """The characters of a part, and its seconds if they are known, else 0."""
        items = span[1] - span[0]
        return items * self.length, items * self.cost * self.known

    @property
    def metric(self) -> str:
        """The metric as it was requested, by which a worker chooses it."""
        return self.chosen.requested

    @property
    def label(self) -> str:
        """The metric's name with its options."""
        return self.chosen.label

    @property
    def whole(self) -> bool:
        """Whether a score depends on the other items of the dataset."""
        return self.chosen.metric.card.scope == "dataset"


def pairs(dataset: Dataset, chosen: Sequence[Chosen], models: Models, store: ScoreStore,
          costs: Mapping[str, float], *, rescore: bool = False, known: Collection[str] = ()) -> list[Pair]:
    """What is to be scored on a dataset, inputs of compositions included: each once, by the models that they read.

    `known` are signatures whose scores are at hand.
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
    """How many characters an item has, on average; of a dialogue that is read turn by turn, over all its turns."""
    read = chain.from_iterable(map(score.turns, dataset.items)) if by_turn else dataset.items
    return sum(len(turn.text) for item in read for turn in item.utterances) / max(1, len(dataset.items))


def shared(metric: Metric, models: Models) -> str:
    """The models that a metric reads, as one line; empty where it reads none, or a model is not on this machine."""
    names = {kind: options(metric)[kind] for kind in metric.card.models}
    if not names and checkpoints(metric):
        names = {"encoder": getattr(metric, "encoder", "")}
    try:
        return "|".join(f"{kind}={models.identity(kind, name)}" for kind, name in names.items())
    except MissingResource:
        return ""


def signed(metric: Metric, models: Models) -> str:
    """The signature of a metric; empty where something of it is not on this machine."""
    try:
        return signature(metric, models)
    except MissingResource:
        return ""


def measured_costs(out: Path, chosen: Iterable[Chosen], models: Models) -> dict[str, float]:
    """Seconds per item that the last run under `out` took, by metric; and by group the median of its metrics."""
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
