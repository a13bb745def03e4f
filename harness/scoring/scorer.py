"""The scores of a dataset: read from the store, or computed now and stored.

Runs, studies, calibration, `harness.score` and bundles use a `Scorer`. A composite gets the scores of its inputs from
the same scorer, so nothing is scored twice.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.dataset import Dataset, DatasetCard, Item
from harness.errors import BadConfig, ScoringFailed, StoreError
from harness.scoring import composites
from harness.scoring.pairs import Pair
from harness.scoring.parts import failure, in_process, score_pairs
from harness.scoring.progress import RunProgress
from harness.scoring.score import Scores, check_qualities, score, unmet
from harness.scoring.store import ScoreStore
from metrics.composition import Composite
from metrics.errors import CannotScore, MissingResource
from metrics.metric import Metric
from metrics.models.service import Models
from metrics.registry import Chosen


def dataset_of(items: Sequence[Item], name: str = "") -> Dataset:
    """Return items of one level as an unregistered dataset without ratings."""
    levels = {"dialogue" if item.response is None else "turn" for item in items}
    if len(levels) > 1:
        raise BadConfig("some items have a response and others are whole dialogues; score them separately")
    if repeated := len(items) - len({item.id for item in items}):
        raise BadConfig(f"{repeated} items have the id of another item; make the ids unique or omit them")
    card = DatasetCard(name=name, title=name, split="dev", level="dialogue" if "dialogue" in levels else "turn",
                       qualities=(), size=len(items), sources=(), licence="", citation="")
    return Dataset(card, tuple(items), (), "imported")


@dataclass(slots=True)
class Scorer:
    """The scores of one dataset, registered or not; without a store they are kept in memory only.

    `fresh` holds the keys of the scores computed in this run; with `rescore`, only these are read from the store.
    """

    dataset: Dataset
    models: Models
    store: ScoreStore | None = None
    rescore: bool = False
    fresh: set[str] = field(default_factory=set)
    known: dict[str, Scores | BaseException] = field(default_factory=dict)

    def scores(self, metric: Metric) -> Scores:
        """Return the scores of a metric; if the first call raised an exception, later calls raise it again."""
        key = composites.key(metric, self.dataset, self.models)
        if key not in self.known:
            try:
                self.known[key] = self._stored(key) or self._scored(key, metric)
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

    def _stored(self, key: str) -> Scores | None:
        if self.store is None or (self.rescore and key not in self.fresh):
            return None
        return self.store.get(self.dataset.fingerprint, key)

    def _scored(self, key: str, metric: Metric) -> Scores:
        self.fresh.add(key)
        if isinstance(metric, Composite):
            scores = composites.compose_scores(metric, self.dataset, self.models, self.scores)
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
        if (stored := self._stored(key)) is None:
            raise StoreError(f"{self.store.root}: the scores of {metric.card.name} on {name} cannot be read back")
        return stored
