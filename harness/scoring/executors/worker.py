"""A worker: loads the dataset of a task, scores its items metric by metric, and puts each part into the store."""

from __future__ import annotations

import traceback
from collections.abc import Iterator
from dataclasses import dataclass, field

from benchmarks import registry as datasets
from benchmarks.dataset import Dataset
from harness.errors import HarnessError, StoreError
from harness.run import plan
from harness.scoring import score as scoring
from harness.scoring.executors.tasks import Began, Crashed, Event, Finished, Refused, Scored, Setup, Task
from harness.scoring.store import ScoreStore
from metrics import registry
from metrics.errors import CannotScore, MetricError, MissingResource
from metrics.metric import Metric, signature
from metrics.models.service import Models


@dataclass(slots=True)
class Worker:
    """Does one task after the other; keeps the models, and the dataset that it read last."""

    setup: Setup
    models: Models
    store: ScoreStore = field(init=False)
    dataset: Dataset | None = None
    metrics: dict[str, Metric] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.store = ScoreStore(self.setup.store)

    def run(self, task: Task) -> Iterator[Event]:
        """Do a task; what a metric raises costs its part alone."""
        for asked in task.metrics:
            yield Began(asked)
            yield self.score(task, asked)
        yield Finished()

    def score(self, task: Task, asked: str) -> Event:
        """Score one metric of a task."""
        whole = self._loaded(task.dataset)
        part = Dataset(whole.card, whole.items[slice(*task.span)], (), whole.origin, whole.fingerprint)
        try:
            metric = self._metric(asked)
            scores = scoring.scored(metric, part, self.models)
            key = signature(metric, self.models)
        except (MissingResource, CannotScore) as error:
            return Refused(asked, str(error), isinstance(error, MissingResource))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a metric is foreign code
            return Crashed(asked, told(error),
                           "" if isinstance(error, MetricError | HarnessError) else traceback.format_exc())
        try:
            self.store.put_part(whole.fingerprint, key, task.span, scores)
        except OSError as error:  # a full disk is no fault of the metric
            raise StoreError(f"{self.store.root}: scores cannot be kept ({error.strerror}); "
                             "mend that: what was scored is kept, the same command goes on") from error
        return Scored(asked, scores.seconds)

    def _metric(self, asked: str) -> Metric:
        if asked not in self.metrics:
            self.metrics[asked] = registry.choose(asked, seed=self.setup.selection.seed).metric
        return self.metrics[asked]

    def _loaded(self, name: str) -> Dataset:
        if self.dataset is None or self.dataset.card.name != name:
            self.dataset = None  # so that two are never held at once
            found = plan.load(datasets.card(name), self.setup.home, self.setup.selection)
            if found is None:
                raise StoreError(f"{name}: was here when the run was planned, and is no more")
            self.dataset = found
        return self.dataset


def told(error: BaseException) -> str:
    """An error in one line, of signs that can be written."""
    try:
        text = str(error)
    except Exception:  # foreign code as well
        text = "what it says cannot be told"
    return f"{type(error).__name__}: {text}".encode(errors="backslashreplace").decode()
