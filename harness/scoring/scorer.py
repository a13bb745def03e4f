"""The one way to the scores of a dataset: taken from the store, or scored now and stored.

A run, the studies, calibration, `harness.score` and bundles ask a `Scorer`. A composition takes the scores of its
inputs from the same scorer, so nothing is scored twice.

    metric -> score.score -> store -> Scores
"""

from __future__ import annotations

import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field

from benchmarks.dataset import Dataset, DatasetCard, Item
from harness.errors import BadConfig, CellFailed, HarnessError, StoreError
from harness.results.rows import Failure, Skip
from harness.scoring import composites
from harness.scoring.score import Scores, score
from harness.scoring.store import ScoreStore
from metrics.composition import Composite
from metrics.errors import CannotScore, MetricError, MissingResource
from metrics.metric import Metric
from metrics.models.service import Models


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

    `fresh` holds the keys of scores that were made in this run; `rescore` takes nothing else from the store.
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
                self.known[key] = self._stored(key) or self._scored(key, metric)
            except (KeyboardInterrupt, StoreError):
                raise
            except BaseException as error:  # a metric is foreign code
                self.known[key] = error
        scores = self.known[key]
        if isinstance(scores, BaseException):
            raise scores
        return scores

    def attempt(self, metric: Metric, label: str) -> tuple[Scores | Skip | Failure, str]:
        """The scores of a metric, or the reason why there are none and the stack of an error that nobody expected."""
        name = self.dataset.card.name
        try:
            return self.scores(metric), ""
        except (MissingResource, CannotScore) as error:
            return Skip(name, label, str(error)), ""
        except (KeyboardInterrupt, StoreError):
            raise
        except CellFailed as error:
            return Failure(name, label, str(error)), ""
        except BaseException as error:
            expected = isinstance(error, MetricError | HarnessError)
            return Failure(name, label, one_line(error)), "" if expected else traceback.format_exc()

    def _stored(self, key: str) -> Scores | None:
        if self.store is None or (self.rescore and key not in self.fresh):
            return None
        return self.store.get(self.dataset.fingerprint, key)

    def _scored(self, key: str, metric: Metric) -> Scores:
        if isinstance(metric, Composite):
            scores = composites.compose_scores(metric, self.dataset, self.models, self.scores)
        else:
            scores = score(metric, self.dataset, self.models)
        if self.store is not None:
            self.store.put(self.dataset.fingerprint, key, scores)
        self.fresh.add(key)
        return scores


def one_line(error: BaseException) -> str:
    """The error as one printable line."""
    try:
        text = str(error)
    except Exception:  # foreign code as well
        text = "what it says cannot be told"
    return f"{type(error).__name__}: {text}".encode(errors="backslashreplace").decode()
