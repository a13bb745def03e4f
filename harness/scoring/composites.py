"""Compositions: metrics made of the columns of other metrics.

On a development dataset a composition uses weights learned on the other datasets, without those of the same
conversations, unless it is `in_sample`. Its scores hold a column for each quality of the dataset,
`COLUMN@QUALITY`, beside the plain one.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator

import numpy as np

from benchmarks import registry
from benchmarks.dataset import Dataset, DatasetCard
from harness.scoring import score
from harness.scoring.score import AGGREGATIONS, Scores
from metrics.column import Column, of_quality, split_quality
from metrics.composition import Composite, compose, learned
from metrics.errors import CannotScore, MissingResource
from metrics.evidence import Evidence
from metrics.metric import Metric, signature
from metrics.models.service import Models
from metrics.registry import Chosen

ENDINGS = ("", *(f":{way}" for way in AGGREGATIONS if way != "mean"))
"""Suffixes of aggregated columns."""


def key(metric: Metric, dataset: Dataset, models: Models) -> str:
    """Return the store key of scores: the signature, and for a composition the dataset and its qualities."""
    signed = signature(metric, models)
    if not isinstance(metric, Composite):
        return signed
    return "|".join((signed, f"on={'+'.join(same_dialogues(dataset.card))}", *sorted(_dimensions(dataset.card))))


def compose_scores(metric: Composite, dataset: Dataset, models: Models, scores: Callable[[Metric], Scores]) -> Scores:
    """Compute the scores of a composition from those of its inputs; CannotScore where an input has none."""
    evidence = _evidence(metric, dataset, models)
    scored = [(part, _input(part.name, part.chosen.metric, scores)) for part in metric.made_of()]
    inputs = [(part, own.columns) for part, own in scored]
    start = time.perf_counter()
    columns: dict[str, Column] = {}
    for ending in ENDINGS:
        if not ending or any(part.column + ending in input_columns for part, input_columns in inputs):
            table = np.array([part.of(input_columns, ending) for part, input_columns in inputs])
            made = compose(metric, table, evidence, _dimensions(dataset.card))
            for name, values in score.checked(metric, dataset.items, made).items():
                column, quality = split_quality(name, metric.card.columns)
                columns[of_quality(f"{column}{ending}", quality)] = values
    seconds = time.perf_counter() - start
    alone = seconds + sum({part.chosen.label: own.alone for part, own in scored}.values())
    return Scores(tuple(item.id for item in dataset.items), columns, seconds, alone, score.today())


def parts(chosen: Iterable[Chosen]) -> Iterator[Chosen]:
    """Replace compositions by their inputs."""
    for metric in chosen:
        if isinstance(metric.metric, Composite):
            yield from parts(part.chosen for part in metric.metric.made_of())
        else:
            yield metric


def unmet(metric: Metric, dataset: Dataset) -> str:
    """Return a need of a metric, or of an input of a composition, that no item of the dataset meets."""
    if not isinstance(metric, Composite):
        return score.unmet(metric, dataset)
    return next(filter(None, (score.unmet(part.chosen.metric, dataset) for part in metric.made_of())), "")


def learned_on(metric: Metric, models: Models) -> tuple[str, ...]:
    """Return the datasets, or their translations, on whose ratings the weights were learned."""
    if not isinstance(metric, Composite) or not metric.in_sample:
        return ()
    names = sources(metric, models)
    conversations = {_conversations(registry.card(name)) for name in names if name in registry.names()}
    return (*names, *(name for name, card in registry.cards().items()
                      if card.split == "more" and _conversations(card) in conversations))


def sources(metric: Composite, models: Models) -> tuple[str, ...]:
    """Return the datasets that the weights of a composition were learned on; none where the weights are missing."""
    try:
        return learned(metric, models).datasets
    except MissingResource:
        return ()


def same_dialogues(card: DatasetCard) -> tuple[str, ...]:
    """Return the names of the datasets made of the same conversations."""
    alike = (other.name for other in registry.built_in().values() if _conversations(other) == _conversations(card))
    return tuple(sorted({card.name, *alike}))


def _conversations(card: DatasetCard) -> str:
    return card.dialogues or card.name


def _evidence(metric: Composite, dataset: Dataset, models: Models) -> Evidence:
    every = learned(metric, models)
    usable = every if metric.in_sample else every.without(*same_dialogues(dataset.card))
    return usable.at(dataset.card.level) if metric.level_apart else usable


def _input(name: str, metric: Metric, scores: Callable[[Metric], Scores]) -> Scores:
    try:
        return scores(metric)
    except CannotScore as error:
        raise CannotScore(f"its input {name}: {error}") from error


def _dimensions(card: DatasetCard) -> tuple[str, ...]:
    return tuple(dict.fromkeys(quality.dimension for quality in card.qualities))
