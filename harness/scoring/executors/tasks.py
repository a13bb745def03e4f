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
    """All that a worker must know once: where data and scores are, and which models were chosen."""

    selection: Selection
    home: Path
    store: str
    choice: Choice


@dataclass(frozen=True, slots=True)
class Task:
    """Metrics, as they are asked for, that share a model, to be scored on the same items of a dataset, in turn.

    `group` names what they share, `seconds` is what they will take by what was measured before.
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
    """A metric raised; `log` is what a reader needs beside the error's own line."""

    metric: str
    error: str
    log: str = ""


@dataclass(frozen=True, slots=True)
class Finished:
    """A worker has done its task and waits for another."""


@dataclass(frozen=True, slots=True)
class Lost:
    """A worker is no more; `log` is the end of what it printed."""

    reason: str
    log: str = ""


@dataclass(frozen=True, slots=True)
class Full:
    """The store takes no more: no fault of a metric, and the end of the run."""

    reason: str


Event: TypeAlias = Began | Scored | Refused | Crashed | Finished | Lost | Full


class Executor(Protocol):
    """Starts workers, by number from 0, and carries tasks and events between them and the crew."""

    workers: int
    device: str
    """What its workers compute on, where that is not what the run itself does; else empty."""

    def send(self, worker: int, task: Task) -> None:
        """Give an idle worker a task; it is started if it is not there."""

    def events(self, seconds: float) -> Iterable[tuple[int, Event]]:
        """What workers have to say, waiting so long for the first of it; those that died are Lost."""

    def kill(self, worker: int) -> str:
        """Stop a worker at once; the end of what it printed. The next task starts another in its place."""

    def memory(self, worker: int) -> int:
        """The bytes that a worker holds; 0 where that is not known."""

    def close(self) -> None:
        """End all workers."""
