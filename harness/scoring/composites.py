"""Scores of one dataset, wherever they come from: scored in this run, kept from before, or made of others.

A composition is made of its inputs' scores, which are taken from here as well, so that nothing is scored twice. On a
development dataset it has the weights that were learned on the others, without those of the same conversations, unless
it is told to be `in_sample`. Its scores hold a column for each quality of the dataset, `COLUMN@QUALITY`, beside the one
score per item.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np

from benchmarks import registry
from benchmarks.dataset import Dataset, DatasetCard
from harness.errors import StoreError
from harness.scoring import score
from harness.scoring.score import AGGREGATIONS, Scores
from harness.scoring.store import ScoreStore
from metrics.column import Column, of_quality, split_quality
from metrics.composition import Composite, compose, learned
from metrics.errors import CannotScore, MissingResource
from metrics.evidence import Evidence
from metrics.metric import Metric, signature
from metrics.models.service import Models

WAYS = ("", *(f":{way}" for way in AGGREGATIONS if way != "mean"))
"""The endings of columns of turns that were brought together."""


@dataclass(slots=True)
class Source:
    """Where the scores of a dataset come from.

    `fresh` holds the keys of those that were made in this run, `known` why others have none.
    """

    dataset: Dataset
    models: Models
    store: ScoreStore
    rescore: bool = False
    fresh: set[str] = field(default_factory=set)
    known: dict[str, Scores | BaseException] = field(default_factory=dict)

    def scores(self, metric: Metric) -> Scores:
        """The scores of a metric; what was raised once is raised again."""
        name = key(metric, self.dataset, self.models)
        if name not in self.known:
            try:
                self.known[name] = self._taken(name) or self._made(name, metric)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # a metric is foreign code
                self.known[name] = error
        found = self.known[name]
        if isinstance(found, BaseException):
            raise found
        return found

    def _taken(self, name: str) -> Scores | None:
        again = self.rescore and name not in self.fresh
        return None if again else self.store.get(self.dataset.fingerprint, name)

    def _made(self, name: str, metric: Metric) -> Scores:
        if isinstance(metric, Composite):
            made = composed(metric, self)
        else:
            made = score.score(metric, self.dataset, self.models)
        try:
            self.store.put(self.dataset.fingerprint, name, made)
        except OSError as error:  # a full disk is no fault of the metric
            raise StoreError(f"{self.store.root}: scores cannot be kept ({error.strerror})") from error
        self.fresh.add(name)
        return made


def key(metric: Metric, dataset: Dataset, models: Models) -> str:
    """What scores are kept by: the signature, and for a composition the dataset and its qualities."""
    signed = signature(metric, models)
    return composed_key(signed, dataset.card) if isinstance(metric, Composite) else signed


def composed_key(signed: str, card: DatasetCard) -> str:
    """What the scores of a composition with that signature are kept by."""
    return "|".join((signed, f"on={'+'.join(same_dialogues(card))}", *sorted(_dimensions(card))))


def composed(metric: Composite, source: Source) -> Scores:
    """The scores of a composition; CannotScore where one of its inputs has none."""
    dataset, evidence = source.dataset, _evidence(metric, source.dataset, source.models)
    inputs = [(one, _input(one.name, one.chosen.metric, source).columns) for one in metric.made_of()]
    start = time.perf_counter()
    columns: dict[str, Column] = {}
    for way in WAYS:
        if not way or any(one.column + way in scores for one, scores in inputs):
            table = np.array([one.of(scores, way) for one, scores in inputs])
            found = score.checked(metric, dataset.items,
                                  compose(metric, table, evidence, _dimensions(dataset.card)))
            for name, values in found.items():
                column, quality = split_quality(name, metric.card.columns)
                columns[of_quality(f"{column}{way}", quality)] = values
    return Scores(tuple(item.id for item in dataset.items), columns, time.perf_counter() - start)


def unmet(metric: Metric, dataset: Dataset) -> str:
    """What a metric, or an input of a composition, needs and no item of the dataset has."""
    if not isinstance(metric, Composite):
        return score.unmet(metric, dataset)
    return next(filter(None, (score.unmet(one.chosen.metric, dataset) for one in metric.made_of())), "")


def seen(metric: Metric, models: Models) -> tuple[str, ...]:
    """The datasets that a metric is scored on with weights that were learned on them."""
    if not isinstance(metric, Composite) or not metric.in_sample:
        return ()
    try:
        return learned(metric, models).datasets
    except MissingResource:
        return ()


def same_dialogues(card: DatasetCard) -> tuple[str, ...]:
    """The dataset and those made of the same conversations, by name."""
    others = (other.name for other in registry.cards().values() if card.dialogues and other.dialogues == card.dialogues)
    return tuple(sorted({card.name, *others}))


def _evidence(metric: Composite, dataset: Dataset, models: Models) -> Evidence:
    found = learned(metric, models)
    kept = found if metric.in_sample else found.without(*same_dialogues(dataset.card))
    return kept.at(dataset.card.level) if metric.level_apart else kept


def _input(name: str, metric: Metric, source: Source) -> Scores:
    try:
        return source.scores(metric)
    except CannotScore as error:
        raise CannotScore(f"its input {name}: {error}") from error


def _dimensions(card: DatasetCard) -> tuple[str, ...]:
    return tuple(dict.fromkeys(quality.dimension for quality in card.qualities))
