"""What goes to a worker, and what comes back from it; all of it can be pickled."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol, TypeAlias

from harness.run.plan import Selection
from harness.scoring.store import Span
from metrics.models.service import Choice


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
class Scored:
    """The scores of a metric are in the store."""

    metric: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Refused:
    """A metric cannot score; `missing` where something is not on this machine, else the items lack something."""

    metric: str
    reason: str
    missing: bool


@dataclass(frozen=True, slots=True)
class Crashed:
    """A metric raised an exception; `stack` is where it came from, if nobody expected it."""

    metric: str
    error: str
    stack: str = ""


@dataclass(frozen=True, slots=True)
class Finished:
    """A worker has done its task and waits for another."""


@dataclass(frozen=True, slots=True)
class Lost:
    """A worker has died; `log` is the end of what it printed."""

    reason: str
    log: str = ""


@dataclass(frozen=True, slots=True)
class Full:
    """The store or the home cannot be used: no fault of a metric, and the end of the run."""

    reason: str


Event: TypeAlias = Began | Scored | Refused | Crashed | Finished | Lost | Full


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
