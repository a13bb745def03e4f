"""Pairs of a metric and a dataset to be scored, with the models and composite weights on which their scores depend."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from benchmarks import registry
from benchmarks.dataset import Dataset, DatasetCard
from harness.scoring import score
from metrics.composition import Composite, learned_evidence
from metrics.errors import MissingResource
from metrics.metric import Metric, checkpoints, encoder_of, line, options, signature
from metrics.models.service import Models
from metrics.registry import Chosen

if TYPE_CHECKING:
    from harness.scoring.store import ScoreStore  # imports pyarrow, which `fetch` does not need

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
        return self.fingerprint, self.signature

    @property
    def label(self) -> str:
        return self.chosen.label


def pairs(dataset: Dataset, chosen: Sequence[Chosen], models: Models, store: ScoreStore,
          costs: Mapping[str, float], *, rescore: bool = False, known: Collection[str] = ()) -> list[Pair]:
    """List the metrics to be scored on a dataset, including inputs of composites, sorted by the models that they use.

    `costs` has seconds per item by label, `known` the signatures whose scores are available without the store.
    """
    items = tuple(item.id for item in dataset.items)
    has_scores = store.stored(dataset.fingerprint)
    planned: dict[str, Pair] = {}
    complete = (pick for pick in chosen if all(signed(part.metric, models) for part in without_composites([pick])))
    for part in without_composites(complete):  # skip composites with a missing input
        key = signed(score.restrict(part.metric, dataset), models)
        if (not key or key in planned or key in known or (has_scores(key) and not rescore)
                or score.unmet(part.metric, dataset)):
            continue
        group, cost = models_key(part.metric, models), costs.get(part.label)
        planned[key] = Pair(dataset.card.name, dataset.fingerprint, items, part, key, group,
                            cost or DEFAULT_COST[bool(group)], bool(cost) or not group)
    return sorted(planned.values(), key=lambda pair: pair.group)


def models_key(metric: Metric, models: Models) -> str:
    """Return the models that a metric uses as one line; empty if it uses none or a model is missing."""
    names = {kind: options(metric)[kind] for kind in metric.card.models}
    if not names and checkpoints(metric):
        names = {"encoder": encoder_of(metric)}
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


def store_key(metric: Metric, dataset: Dataset, models: Models) -> str:
    """Return the signature and, for a composite, `same_dialogues` and the dimensions of the dataset."""
    key = line(signature(score.restrict(metric, dataset), models))
    if not isinstance(metric, Composite):
        return key
    dimensions = {quality.dimension for quality in dataset.card.qualities}
    return "|".join((key, f"on={'+'.join(same_dialogues(dataset.card))}", *sorted(dimensions)))


def without_composites(chosen: Iterable[Chosen]) -> Iterator[Chosen]:
    """Yield the metrics, with composites replaced by their inputs."""
    for pick in chosen:
        if isinstance(pick.metric, Composite):
            yield from without_composites(part.chosen for part in pick.metric.made_of())
        else:
            yield pick


def learned_on(metric: Metric, models: Models) -> tuple[str, ...]:
    """Return the datasets on which the weights of an in-sample composite were learned, and their translations."""
    if not isinstance(metric, Composite) or not metric.in_sample:
        return ()
    names = datasets_of_weights(metric, models)
    conversations = {_conversations(registry.card(name)) for name in names if name in registry.names()}
    return (*names, *(name for name, card in registry.cards().items()
                      if card.split == "more" and _conversations(card) in conversations))


def datasets_of_weights(metric: Composite, models: Models) -> tuple[str, ...]:
    """Return the datasets on which the weights of a composite were learned; none if the weights are missing."""
    try:
        return learned_evidence(metric, models).datasets
    except MissingResource:
        return ()


def same_dialogues(card: DatasetCard) -> tuple[str, ...]:
    """Return the names of the datasets made from the same conversations."""
    others = (other.name for other in registry.built_in().values() if _conversations(other) == _conversations(card))
    return tuple(sorted({card.name, *others}))


def _conversations(card: DatasetCard) -> str:
    return card.dialogues or card.name
