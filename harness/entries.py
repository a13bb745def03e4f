"""The entries of a report: datasets and metrics as they were in the run."""

from __future__ import annotations

from benchmarks.dataset import Dataset, Rating
from harness import scoring
from harness.evaluation import Judged
from harness.results import DatasetEntry, MetricEntry, QualityEntry
from metrics.errors import MissingResource
from metrics.metric import Metric, options, signature
from metrics.models import Models
from metrics.registry import Chosen


def dataset_entry(dataset: Dataset, qualities: tuple[Judged, ...], extra: tuple[Rating, ...]) -> DatasetEntry:
    """A dataset as it was in the run."""
    card = dataset.card
    notes = f"{card.notes} {joined(dataset, extra)}".strip()
    return DatasetEntry(
        name=card.name, title=card.title, split=card.split, level=card.level, origin=dataset.origin,
        fingerprint=dataset.fingerprint, items=len(dataset.items), ratings=len(dataset.ratings),
        qualities=tuple(QualityEntry(entry.quality.name, entry.quality.dimension, entry.quality.low,
                                     entry.quality.high, entry.rated) for entry in qualities),
        licence=card.licence, citation=card.citation, notes=notes, has=scoring.has(dataset.items),
        contexts=len({item.context for item in dataset.items}),
    )


def joined(dataset: Dataset, extra: tuple[Rating, ...]) -> str:
    """Say how many private votes were joined; empty where none were."""
    if not extra:
        return ""
    votes, items = sum(len(rating.votes) for rating in extra), len({rating.item for rating in extra})
    return f"Private ratings joined: {votes} votes on {items} of {len(dataset.items)} items."


def metric_entry(chosen: Chosen, models: Models) -> MetricEntry:
    """A metric as it was in the run."""
    card = chosen.metric.card
    try:
        signed = signature(chosen.metric, models)
    except MissingResource as error:
        signed = f"{card.name}|r{card.revision}|not run: {error}"
    return MetricEntry(
        name=chosen.label, title=card.title, family=card.family,
        columns=tuple(name + chosen.suffix for name in card.columns),
        needs=(*card.needs, *card.resources), levels=tuple(card.levels), paper=card.paper, scope=card.scope,
        trained_on=card.trained_on, signature=signed, models=_models(chosen.metric, models),
    )


def _models(metric: Metric, models: Models) -> tuple[str, ...]:
    """The models that the scores come from, by the names to show; one that is not on this machine has none."""
    named = options(metric)
    shown = (models.shown(kind, named.get(kind, "")) for kind in metric.card.models)
    return tuple(dict.fromkeys(filter(None, shown)))


def kind(dataset: Dataset) -> str:
    """Which board a dataset may be on: imported and fetched data is real, and never mixes with the sample."""
    return "sample" if dataset.origin == "sample" else "real"
