"""Tasks, and what is said about them: what goes to a worker, what comes back, and what waits.

Pairs that share a model are cut into parts together, so that a task takes about a minute; what an earlier run has left
of a pair is kept as it was cut. All that goes over a pipe can be pickled; a worker whose store or home cannot be used
sends the `StoreError`, which ends the run.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol, TypeAlias

from harness.errors import StoreError
from harness.run.plan import Selection
from harness.scoring.pairs import Pair
from harness.scoring.store import ScoreStore, Span, cut
from metrics.models.service import Choice

TARGET = 60.0
"""Seconds that a task should take."""

SMALLEST, LARGEST = 64, 16_384
"""Items of a part, at least and at most."""


@dataclass(frozen=True, slots=True)
class Setup:
    """What a worker needs to start: where data and scores are, and which models were chosen."""

    selection: Selection
    home: Path
    store: str
    choice: Choice


@dataclass(frozen=True, slots=True)
class Task:
    """Metrics, as they were requested, that share a model, to be scored in turn on the same items of a dataset.

    `group` names the models that they share, `seconds` is the estimate of what they take.
    """

    dataset: str
    span: Span
    metrics: tuple[str, ...]
    group: str = ""
    seconds: float = 0.0


@dataclass(frozen=True, slots=True)
class Began:
    """A worker has begun with a metric of its task."""

    metric: str


@dataclass(frozen=True, slots=True)
class Ended:
    """A metric has come to its end: its scores are in the store, or `error` says why there are none.

    The error is CannotScore or MissingResource where the metric refused, ScoringFailed where it raised anything else.
    `tokens` is how many were read for it.
    """

    metric: str
    error: Exception | None = None
    tokens: int = 0


@dataclass(frozen=True, slots=True)
class Lost:
    """A worker has died; `log` is the end of what it printed."""

    reason: str
    log: str = ""


Event: TypeAlias = Began | Ended | Lost | StoreError


class Executor(Protocol):
    """Starts workers, by number from 0, and carries tasks and events between them and the scheduler."""

    workers: int
    device: str
    """What its workers compute on, where that is not what the run itself does; else empty."""

    def send(self, worker: int, task: Task) -> None:
        """Give an idle worker a task; the worker is started if it is not running."""

    def events(self, seconds: float) -> Iterable[tuple[int, Event]]:
        """The events of workers, waiting so long for the first; workers that died are Lost."""

    def kill(self, worker: int) -> str:
        """Stop a worker at once; the end of what it printed. The next task starts another in its place."""

    def memory(self, worker: int) -> int:
        """The bytes that a worker holds; 0 where that is not known."""

    def close(self) -> None:
        """End all workers."""


def tasks(pairs: Iterable[Pair], store: ScoreStore) -> list[Task]:
    """The tasks of these pairs, longest first."""
    groups: dict[tuple[str, str], list[Pair]] = defaultdict(list)
    for pair in pairs:
        own = pair.group or f"alone:{pair.label}"  # without a model there is nothing to share, and more to spread
        groups[pair.dataset, own].append(pair)
    made = [task for (dataset, group), members in groups.items() for task in _of_group(dataset, group, members, store)]
    return sorted(made, key=lambda task: (-task.seconds, task.dataset, task.group, task.span))


def _of_group(dataset: str, group: str, members: Sequence[Pair], store: ScoreStore) -> Iterator[Task]:
    size, cost = SMALLEST, sum(pair.cost for pair in members if not pair.whole)
    while size < LARGEST and 2 * size * cost <= TARGET:
        size *= 2  # a power of two, so that grids of two sizes fit
    together: dict[Span, list[Pair]] = defaultdict(list)
    for pair in members:
        if pair.whole:
            together[0, len(pair.items)].append(pair)
            continue
        for gap in store.gaps(*pair.key, len(pair.items)):
            for part in cut(gap, size):
                together[part].append(pair)
    for span, some in together.items():
        seconds = sum(pair.cost for pair in some) * (span[1] - span[0])
        yield Task(dataset, span, tuple(pair.metric for pair in some), group, seconds)


@dataclass(slots=True)
class Queue:
    """Waiting tasks by group and dataset, longest first."""

    _waiting: dict[tuple[str, str], deque[Task]] = field(default_factory=dict)

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, tasks: Iterable[Task], *, first: bool = False) -> None:
        """Let tasks wait, behind those of their group and dataset or before them."""
        for task in tasks:
            waiting = self._waiting.setdefault((task.group, task.dataset), deque())
            (waiting.appendleft if first else waiting.append)(task)

    def take(self, last: Task | None, allowed: Callable[[Task], bool]) -> Task | None:
        """The next task of a worker that did `last`: one of the same models and data, else of the models, else any."""
        group, dataset = (last.group, last.dataset) if last else ("", "")
        for key in sorted(self._waiting, key=lambda key: (key[0] != group, key != (group, dataset))):
            waiting = self._waiting[key]
            for place, task in enumerate(waiting):
                if allowed(task):
                    del waiting[place]
                    if not waiting:
                        del self._waiting[key]
                    return task
        return None
