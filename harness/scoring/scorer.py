"""The scores of a dataset: read from the store, or computed now and stored.

Runs, studies, calibration, `harness.score` and bundles use a `Scorer`. A composite gets the scores of its inputs from
the same scorer, so nothing is scored twice. Unless it is `in_sample`, its weights for a development dataset are learned
on the other datasets, without those made from the same conversations. Its scores have a column for each quality of the
dataset, `COLUMN@QUALITY`, in addition to the plain column.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.dataset import Dataset, DatasetCard, Item
from harness.errors import BadConfig, ScoringFailed, StoreError
from harness.scoring.pairs import Pair, same_dialogues, store_key
from harness.scoring.parts import failure, in_process, score_pairs
from harness.scoring.progress import RunProgress
from harness.scoring.score import AGGREGATIONS, Scores, check_qualities, score, today, unmet
from harness.scoring.store import ScoreStore
from metrics.column import Column, Columns, checked, of_quality, split_quality
from metrics.composition import Composite, Input, compose, learned_evidence, tables
from metrics.errors import CannotScore, MissingResource
from metrics.evidence import Evidence
from metrics.metric import Metric
from metrics.models.service import Models
from metrics.registry import Chosen


def dataset_of(items: Sequence[Item], name: str = "") -> Dataset:
    """Return items of one level as an unregistered dataset without ratings."""
    levels = {"dialogue" if item.response is None else "turn" for item in items}
    if len(levels) > 1:
        raise BadConfig("some items have a response and others are whole dialogues; score them separately")
    if duplicates := len(items) - len({item.id for item in items}):
        raise BadConfig(f"{duplicates} items have the id of another item; make the ids unique or omit them")
    card = DatasetCard(name=name, title=name, split="dev", level="dialogue" if "dialogue" in levels else "turn",
                       qualities=(), size=len(items), sources=(), licence="", citation="")
    return Dataset(card, tuple(items), (), "imported")


@dataclass(slots=True)
class Scorer:
    """The scores of one dataset, registered or not; without a store they are kept in memory only.

    `fresh` holds the keys of the scores computed in this run; with `rescore`, only these scores are read from the
    store. `known` holds the scores that are available without the store, and the exceptions of failed metrics.
    """

    dataset: Dataset
    models: Models
    store: ScoreStore | None = None
    rescore: bool = False
    fresh: set[str] = field(default_factory=set)
    known: dict[str, Scores | BaseException] = field(default_factory=dict)

    def scores(self, metric: Metric) -> Scores:
        """Return the scores of a metric; if the first call raised an exception, later calls raise it again."""
        key = store_key(metric, self.dataset, self.models)
        if key not in self.known:
            try:
                self.known[key] = self._read(key) or self._compute(key, metric)
            except (KeyboardInterrupt, StoreError):
                raise
            except BaseException as error:  # a metric is third-party code
                self.known[key] = error
        scores = self.known[key]
        if isinstance(scores, BaseException):
            raise scores
        return scores

    def attempt(self, metric: Metric) -> Scores | CannotScore | MissingResource | ScoringFailed:
        """Return the scores of a metric, or the exception that explains why there are none."""
        try:
            scores = self.scores(metric)
            check_qualities(self.dataset, scores.columns)
        except (MissingResource, CannotScore, ScoringFailed) as error:
            return error
        except (KeyboardInterrupt, StoreError):
            raise
        except BaseException as error:
            return failure(error, metric)
        return scores

    def _read(self, key: str) -> Scores | None:
        if self.store is None or (self.rescore and key not in self.fresh):
            return None
        return self.store.get(self.dataset.fingerprint, key)

    def _compute(self, key: str, metric: Metric) -> Scores:
        self.fresh.add(key)
        if isinstance(metric, Composite):
            scores = self._compose(metric)
            if self.store is not None:
                self.store.put(self.dataset.fingerprint, key, scores)
            return scores
        if self.store is None:
            return score(metric, self.dataset, self.models)
        if lacking := unmet(metric, self.dataset):
            raise CannotScore(f"no item has {lacking}")
        name, items = self.dataset.card.name, tuple(item.id for item in self.dataset.items)
        pair = Pair(name, self.dataset.fingerprint, items, Chosen(metric), key)
        errors = score_pairs([pair], in_process(self.dataset, self.models, self.store), self.store, RunProgress(),
                             rescore=self.rescore)
        if error := errors.get(pair.key):
            raise error
        if (stored := self._read(key)) is None:
            raise StoreError(f"{self.store.root}: the scores of {metric.card.name} on {name} cannot be read back")
        return stored

    def _compose(self, metric: Composite) -> Scores:
        """Compute the scores of a composite from those of its inputs; raise CannotScore if an input has none."""
        evidence = weights_evidence(metric, self.dataset, self.models)
        inputs, input_seconds = list[tuple[Input, Columns]](), dict[str, float]()
        for part in metric.made_of():
            try:
                scored = self.scores(part.chosen.metric)
            except CannotScore as error:
                raise CannotScore(f"its input {part.name}: {error}") from error
            inputs.append((part, scored.columns))
            input_seconds[part.chosen.label] = scored.standalone_seconds
        start = time.perf_counter()
        dimensions = tuple(dict.fromkeys(quality.dimension for quality in self.dataset.card.qualities))
        columns: dict[str, Column] = {}
        for ending in ("", *(f":{aggregation}" for aggregation in AGGREGATIONS if aggregation != "mean")):
            if not ending or any(part.column + ending in of_input for part, of_input in inputs):
                table, by_quality = tables(inputs, dimensions, ending)
                composed = compose(metric, table, evidence, dimensions, by_quality)
                for name, values in checked(metric.card.name, metric.card.columns, self.dataset.items,
                                            composed).items():
                    column, quality = split_quality(name, metric.card.columns)
                    columns[of_quality(f"{column}{ending}", quality)] = values
        seconds = time.perf_counter() - start
        return Scores(tuple(item.id for item in self.dataset.items), columns, seconds,
                      seconds + sum(input_seconds.values()), today())


def weights_evidence(metric: Composite, dataset: Dataset, models: Models) -> Evidence:
    """Return the evidence from which a composite learns its weights for a dataset."""
    evidence = learned_evidence(metric, models)
    if not metric.in_sample:
        evidence = evidence.without(*same_dialogues(dataset.card))
    return evidence.at(dataset.card.level) if metric.separate_levels else evidence
