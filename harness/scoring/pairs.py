"""Pairs of a metric and a dataset to be scored, the models that they share, and their estimated time."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from benchmarks.dataset import Dataset
from harness.scoring import composites, score
from harness.scoring.store import ScoreStore
from metrics.errors import MissingResource
from metrics.metric import Metric, checkpoints, line, options, signature
from metrics.models.service import Models
from metrics.registry import Chosen

DEFAULT_COST = {False: 0.0005, True: 0.02}
"""Assumed seconds per item of an unmeasured metric, without and with a model."""


@dataclass(frozen=True, slots=True)
class Pair:
    """A metric to be scored on a dataset; `group` names the models that it uses.

    `items` are the ids of the dataset's items; `cost` is in seconds per item, a guess unless `known`.
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
    """List the metrics to be scored on a dataset, including inputs of composites, sorted by the models that they use.

    `costs` are seconds per item by label, `known` are signatures whose scores are available without a store.
    """
    items = tuple(item.id for item in dataset.items)
    stored = store.stored(dataset.fingerprint)
    planned: dict[str, Pair] = {}
    complete = (pick for pick in chosen if all(signed(part.metric, models) for part in composites.parts([pick])))
    for part in composites.parts(complete):  # skip composites with a missing input
        key = signed(score.about(part.metric, dataset), models)
        if (not key or key in planned or key in known or (stored(key) and not rescore)
                or score.unmet(part.metric, dataset)):
            continue
        group = shared(part.metric, models)
        cost = costs.get(part.label)
        planned[key] = Pair(dataset.card.name, dataset.fingerprint, items, part, key, group,
                            cost or DEFAULT_COST[bool(group)], bool(cost) or not group)
    return sorted(planned.values(), key=lambda pair: pair.group)


def shared(metric: Metric, models: Models) -> str:
    """Return the models that a metric uses as one line; empty if it uses none or a model is missing."""
    names = {kind: options(metric)[kind] for kind in metric.card.models}
    if not names and checkpoints(metric):
        names = {"encoder": getattr(metric, "encoder", "")}
    try:
        return "|".join(f"{kind}={models.identity(kind, name)}" for kind, name in names.items())
    except MissingResource:
        return ""


def signed(metric: Metric, models: Models) -> str:
    """Return the signature of a metric as one line; empty if a model or resource is missing."""
    try:
        return line(signature(metric, models))
    except MissingResource:
        return ""
