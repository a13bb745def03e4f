"""The scores of a dataset: taken from the store, or scored now and stored.

A run, the studies, calibration, `harness.score` and bundles ask a `Scorer`. A composition takes the scores of its
inputs from the same scorer, so nothing is scored twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.dataset import Dataset, DatasetCard, Item
from harness.errors import BadConfig, ScoringFailed, StoreError
from harness.scoring import composites
from harness.scoring.pairs import Pair
from harness.scoring.parts import Local, failure, score_pairs
from harness.scoring.progress import RunProgress
from harness.scoring.score import Scores, score
from harness.scoring.store import ScoreStore
from metrics.composition import Composite
from metrics.errors import CannotScore, MissingResource
from metrics.metric import Metric
from metrics.models.service import Models
from metrics.registry import Chosen


def dataset_of(items: Sequence[Item], name: str = "") -> Dataset:
    """Items of one level as a dataset that is not registered and has no ratings."""
    levels = {"dialogue" if item.response is None else "turn" for item in items}
    if len(levels) > 1:
        raise BadConfig("some items have a response and others are whole dialogues; score them apart")
    if repeated := len(items) - len({item.id for item in items}):
        raise BadConfig(f"{repeated} items have the id of another one; ids are optional, or each its own")
    card = DatasetCard(name=name, title=name, split="dev", level="dialogue" if "dialogue" in levels else "turn",
                       qualities=(), size=len(items), sources=(), licence="", citation="")
    return Dataset(card, tuple(items), (), "imported")


@dataclass(slots=True)
class Scorer:
    """The scores of one dataset, registered or not; without a store they are kept in memory alone.

    `fresh` holds the keys of scores that were made in this run; `rescore` takes no other from the store.
    """

    dataset: Dataset
    models: Models
    store: ScoreStore | None = None
    rescore: bool = False
    fresh: set[str] = field(default_factory=set)
    known: dict[str, Scores | BaseException] = field(default_factory=dict)

    def scores(self, metric: Metric) -> Scores:
        """The scores of a metric; an exception of the first call is raised again by later ones."""
        key = composites.key(metric, self.dataset, self.models)
        if key not in self.known:
            try:
                usable = self.store if key in self.fresh or not self.rescore else None
                stored = usable.get(self.dataset.fingerprint, key) if usable else None
                self.known[key] = stored or self._scored(key, metric)
            except (KeyboardInterrupt, StoreError):
                raise
            except BaseException as error:  # a metric is foreign code
                self.known[key] = error
        scores = self.known[key]
        if isinstance(scores, BaseException):
            raise scores
        return scores

    def attempt(self, metric: Metric) -> Scores | CannotScore | MissingResource | ScoringFailed:
        """The scores of a metric, or why there are none."""
        try:
            return self.scores(metric)
        except (MissingResource, CannotScore, ScoringFailed) as error:
            return error
        except (KeyboardInterrupt, StoreError):
            raise
        except BaseException as error:
            return failure(error, metric)

    def _scored(self, key: str, metric: Metric) -> Scores:
        if isinstance(metric, Composite):
            scores = composites.compose_scores(metric, self.dataset, self.models, self.scores)
            if self.store is not None:
                self.store.put(self.dataset.fingerprint, key, scores)
        elif self.store is None:
            scores = score(metric, self.dataset, self.models)
        else:
            scores = self._stored(self.store, key, metric)
        self.fresh.add(key)
        return scores

    def _stored(self, store: ScoreStore, key: str, metric: Metric) -> Scores:
        """Score into the store, part by part."""
        if lacking := composites.unmet(metric, self.dataset):
            raise CannotScore(f"no item has {lacking}")
        name, fingerprint = self.dataset.card.name, self.dataset.fingerprint
        pair = Pair(name, fingerprint, tuple(item.id for item in self.dataset.items), Chosen(metric), key)
        errors = score_pairs([pair], Local(self.dataset, self.models, store), store, RunProgress(),
                             rescore=self.rescore)
        if errors:
            raise errors[pair.key]
        scores = store.get(fingerprint, key)
        if scores is None:
            raise StoreError(f"{store.root}: the scores of {metric.card.name} on {name} cannot be read back")
        return scores
