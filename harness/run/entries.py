"""Build the report entries of the datasets, metrics and trained weights of a run."""

from __future__ import annotations

import contextlib
import dataclasses
import math
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.dataset import Dataset
from benchmarks.storage.store import ratings_fingerprint
from harness.results.entries import DatasetEntry, MetricEntry, QualityEntry, TrainingEntry
from harness.run.correlate import Judged, conversations
from harness.scoring import pairs, score
from metrics.composition import Composite
from metrics.errors import MissingResource
from metrics.metric import Metric, checkpoints, encoder_of, options, signature
from metrics.models import catalogue
from metrics.models.checkpoint import Checkpoint, Evaluation
from metrics.models.service import Models
from metrics.models.weights import parameters
from metrics.registry import Chosen

NEARLY_CONSTANT = 0.9
"""Share of equal votes that triggers a warning: with one vote per item, such ties leave 27 % of the rank variance."""

if TYPE_CHECKING:
    from harness.run.plan import Plan  # importing it at run time would load the stores, which `show` does not need


def dataset_entry(dataset: Dataset, qualities: tuple[Judged, ...]) -> DatasetEntry:
    card = dataset.card
    return DatasetEntry(
        name=card.name, title=card.title, split=card.split, level=card.level, origin=dataset.origin,
        fingerprint=dataset.fingerprint, items=len(dataset.items), ratings=dataset.rated,
        qualities=tuple(QualityEntry(entry.quality.name, entry.quality.dimension, entry.quality.low,
                                     entry.quality.high, entry.rated, warning(entry),
                                     int(np.isfinite(entry.votes).sum())) for entry in qualities),
        licence=card.licence, citation=card.citation, notes=card.notes, has=score.met_needs(dataset.items),
        contexts=len(set(conversations(dataset.items).tolist())),
        ratings_fingerprint=ratings_fingerprint(dataset.ratings), language=card.language,
        votes=sum(len(rating.votes) for rating in dataset.ratings),
    )


def warning(judged: Judged) -> str:
    """Return a warning if nearly all votes are equal, else ""."""
    values, counts = np.unique(judged.votes[is_vote := np.isfinite(judged.votes)], return_counts=True)
    if not judged.usable or counts.max(initial=0) < NEARLY_CONSTANT * max(counts.sum(), 1):
        return ""
    common = float(values[counts.argmax()])
    with_other_votes = (is_vote & (judged.votes != common)).any(axis=1).sum()
    return (f"{math.floor(1000 * counts.max() / counts.sum()) / 10:g} % of the votes are {common:g}, so a constant has "
            f"this accuracy; a correlation rests on the {with_other_votes} of {judged.rated} items with other votes")


def metric_entry(chosen: Chosen, models: Models) -> MetricEntry:
    card = chosen.metric.card
    try:
        identity = signature(chosen.metric, models)
    except MissingResource:
        identity = {"metric": card.name, "revision": str(card.revision), "not run": "a model or resource is missing"}
    return MetricEntry(
        name=chosen.label, title=card.title, family=card.family,
        columns=tuple(name + chosen.suffix for name in card.columns),
        needs=(*card.needs, *card.resources), levels=tuple(card.levels), paper=card.paper, scope=card.scope,
        trained_on=_trained_on(chosen.metric, models), signature=identity, models=_models(chosen.metric, models),
        learned_on=pairs.learned_on(chosen.metric, models), system=card.system, departures=card.departures,
        fitted_on=_fitted_on(chosen.metric), parameters=_parameters(chosen.metric, models),
        pretrained_on=_pretrained_on(chosen.metric, models), named=chosen.title, notes=card.notes,
    )


def metric_entries(plan: Plan, models: Models, used: Collection[str]) -> list[MetricEntry]:
    """Return the metrics of a run, sorted by name; metrics in `used`, with reused scores, have the bundle's entry."""
    titles = {chosen.label: chosen.title for chosen in plan.chosen}
    reused = {name: entry for name, entry in plan.reused.metrics.items() if name in used or name not in titles}
    scored = [metric_entry(chosen, models) for chosen in plan.chosen if chosen.label not in reused]
    bundled = [dataclasses.replace(entry, named=titles.get(name) or entry.named) for name, entry in reused.items()]
    return sorted([*scored, *bundled], key=lambda entry: entry.name)


def example_selectors(plan: Plan, fitted: Collection[str]) -> set[str]:
    """Return the metrics that select examples: all but controls and those `fitted` on the ratings of the dataset."""
    families = {pick.label: pick.metric.card.family for pick in plan.chosen}
    families |= {name: entry.family for name, entry in plan.reused.metrics.items()}
    return {name for name, family in families.items() if family != "control"} - set(fitted)


def fitted_on(plan: Plan, models: Models, dataset: str) -> set[str]:
    """Return the metrics whose weights were fitted on the ratings of a dataset."""
    reused = plan.reused.metrics
    return {pick.label for pick in plan.chosen if pick.label not in reused
            and dataset in pairs.learned_on(pick.metric, models)} | {
        name for name, entry in reused.items() if dataset in entry.learned_on}


def training_entries(chosen: Sequence[Chosen], models: Models) -> tuple[TrainingEntry, ...]:
    """Return the installed trained weights that the metrics of a run use, sorted by identity."""
    uses = [(weights, pick.label) for pick in chosen for weights in _weights(pick.metric, models)]
    by_identity = {weights.identity: weights for weights, _ in uses}
    return tuple(training_entry(weights, tuple(label for other, label in uses if other.identity == identity))
                 for identity, weights in sorted(by_identity.items()))


def untrained(chosen: Sequence[Chosen], models: Models) -> tuple[str, ...]:
    """Return the metrics that lack weights for the run's encoder; empty if the encoder itself is missing."""
    try:
        models.encoder()
    except MissingResource:
        return ()
    return tuple(pick.label for pick in chosen if any(
        len(list(_weights(part, models))) < len(checkpoints(part)) for part in score.inputs(pick.metric)))


def _weights(metric: Metric, models: Models) -> Iterator[Checkpoint]:
    for name in checkpoints(metric):
        with contextlib.suppress(MissingResource):
            yield models.checkpoint(name, encoder_of(metric))


def training_entry(weights: Checkpoint, metrics: tuple[str, ...] = ()) -> TrainingEntry:
    card = weights.card
    curve = (Evaluation(int(step), float(loss), float(held_out)) for step, loss, held_out in card.get("curve", ()))
    return TrainingEntry(
        name=weights.name, metrics=metrics, encoder=weights.encoder, digest=weights.digest,
        corpora=tuple(f"{corpus['name']} ({corpus['licence']})" for corpus in card.get("corpora", ())),
        seed=card.get("seed", 0), steps=card.get("steps", 0), kept=card.get("best_step", 0),
        device=card.get("device", ""), seconds=card.get("seconds", 0.0), command=card.get("command", ""),
        commit=card.get("commit"),
        curve=tuple(point for point in curve if math.isfinite(point.loss) and math.isfinite(point.held_out)),
    )


def _trained_on(metric: Metric, models: Models) -> str:
    """Return the training corpora of a metric, and for a composite the datasets on whose ratings it was fitted."""
    sources = [part.card.trained_on for part in (metric, *score.inputs(metric))]
    if isinstance(metric, Composite) and metric.learns and (names := pairs.datasets_of_weights(metric, models)):
        held_out = "" if metric.in_sample else ", excluding the scored dataset"
        sources.append(f"weights fitted on ratings of {', '.join(names)}{held_out}")
    return "; ".join(dict.fromkeys(filter(None, sources)))


def _fitted_on(metric: Metric) -> str:
    """Return the kind of data that a metric or its inputs were fitted on; ratings take precedence."""
    if not isinstance(metric, Composite):
        return metric.card.fitted_on
    kinds = {"ratings" if metric.learns else "", *map(_fitted_on, score.inputs(metric))}
    return next((kind for kind in ("ratings", "dialogues") if kind in kinds), "")


def _parameters(metric: Metric, models: Models) -> int:
    """Count the parameters of the networks behind a metric, each network once."""
    parts = score.inputs(metric)
    networks = {(kind, options(part).get(kind, "")) for part in parts for kind in part.card.models}
    trained = {weights.folder for part in (metric, *parts) for weights in _weights(part, models)}
    return sum(models.parameters(kind, str(name)) for kind, name in networks) + sum(map(parameters, trained))


def _models(metric: Metric, models: Models) -> tuple[str, ...]:
    """Return the display names of the installed models that a metric uses."""
    names = (models.display_name(kind, options(part).get(kind, "")) for part in score.inputs(metric)
             for kind in part.card.models)
    return tuple(dict.fromkeys(filter(None, names)))


def _pretrained_on(metric: Metric, models: Models) -> tuple[str, ...]:
    """Return the pretraining data of the models behind a metric, as far as the catalogue knows."""
    cards = (catalogue.cards().get(name.partition(" ")[0]) for name in _models(metric, models))
    return tuple(f"{card.name}: {card.pretrained_on}" for card in cards if card)
