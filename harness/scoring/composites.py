"""Composites: metrics made of the columns of other metrics.

Unless it is `in_sample`, a composite scores a development dataset with weights learned on the other datasets, except
those made from the same conversations. Its scores have a column for each quality of the dataset, `COLUMN@QUALITY`, in
addition to the plain one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator

from benchmarks import registry
from benchmarks.dataset import Dataset, DatasetCard
from harness.scoring import score
from harness.scoring.score import AGGREGATIONS, Scores
from metrics.column import Column, Columns, checked, of_quality, split_quality
from metrics.composition import Composite, Input, compose, learned, tables
from metrics.errors import CannotScore, MissingResource
from metrics.evidence import Evidence
from metrics.metric import Metric, line, signature
from metrics.models.service import Models
from metrics.registry import Chosen

AGGREGATION_SUFFIXES = ("", *(f":{way}" for way in AGGREGATIONS if way != "mean"))
"""Suffixes of aggregated columns."""


def key(metric: Metric, dataset: Dataset, models: Models) -> str:
    """Return the store key: the signature and, for a composite, `same_dialogues` and the dimensions of the dataset."""
    signed = line(signature(score.about(metric, dataset), models))
    if not isinstance(metric, Composite):
        return signed
    return "|".join((signed, f"on={'+'.join(same_dialogues(dataset.card))}", *sorted(_dimensions(dataset.card))))


def compose_scores(metric: Composite, dataset: Dataset, models: Models, scores: Callable[[Metric], Scores]) -> Scores:
    """Compute the scores of a composite from those of its inputs; raise CannotScore if an input has none."""
    evidence, dimensions = weights_evidence(metric, dataset, models), _dimensions(dataset.card)
    inputs, input_seconds = list[tuple[Input, Columns]](), dict[str, float]()
    for part in metric.made_of():
        try:
            scored = scores(part.chosen.metric)
        except CannotScore as error:
            raise CannotScore(f"its input {part.name}: {error}") from error
        inputs.append((part, scored.columns))
        input_seconds[part.chosen.label] = scored.standalone_seconds
    start = time.perf_counter()
    columns: dict[str, Column] = {}
    for ending in AGGREGATION_SUFFIXES:
        if not ending or any(part.column + ending in of_input for part, of_input in inputs):
            table, by_quality = tables(inputs, dimensions, ending)
            composed = compose(metric, table, evidence, dimensions, by_quality)
            for name, values in checked(metric.card.name, metric.card.columns, dataset.items, composed).items():
                column, quality = split_quality(name, metric.card.columns)
                columns[of_quality(f"{column}{ending}", quality)] = values
    seconds = time.perf_counter() - start
    standalone_seconds = seconds + sum(input_seconds.values())
    return Scores(tuple(item.id for item in dataset.items), columns, seconds, standalone_seconds, score.today())


def weights_evidence(metric: Composite, dataset: Dataset, models: Models) -> Evidence:
    """Return the data from which the weights for a dataset are learned."""
    evidence = learned(metric, models)
    if not metric.in_sample:
        evidence = evidence.without(*same_dialogues(dataset.card))
    return evidence.at(dataset.card.level) if metric.separate_levels else evidence


def parts(chosen: Iterable[Chosen]) -> Iterator[Chosen]:
    """Yield the metrics, with composites replaced by their inputs."""
    for metric in chosen:
        if isinstance(metric.metric, Composite):
            yield from parts(part.chosen for part in metric.metric.made_of())
        else:
            yield metric


def learned_on(metric: Metric, models: Models) -> tuple[str, ...]:
    """Return the datasets on which the weights of an in-sample composite were learned, and their translations."""
    if not isinstance(metric, Composite) or not metric.in_sample:
        return ()
    names = sources(metric, models)
    conversations = {_conversations(registry.card(name)) for name in names if name in registry.names()}
    return (*names, *(name for name, card in registry.cards().items()
                      if card.split == "more" and _conversations(card) in conversations))


def sources(metric: Composite, models: Models) -> tuple[str, ...]:
    """Return the datasets on which the weights of a composite were learned; none if the weights are missing."""
    try:
        return learned(metric, models).datasets
    except MissingResource:
        return ()


def same_dialogues(card: DatasetCard) -> tuple[str, ...]:
    """Return the names of the datasets made from the same conversations."""
    others = (other.name for other in registry.built_in().values() if _conversations(other) == _conversations(card))
    return tuple(sorted({card.name, *others}))


def _conversations(card: DatasetCard) -> str:
    return card.dialogues or card.name


def _dimensions(card: DatasetCard) -> tuple[str, ...]:
    return tuple(dict.fromkeys(quality.dimension for quality in card.qualities))
