"""The crew: hands tasks to workers, and takes care that what is lost with a worker is tried again.

A worker that dies, hangs or grows too large costs the part that it was at: that part is tried again, elsewhere if there
is an elsewhere, at most so many times; what the task held besides goes to whoever is free. When all parts of a cell are
there they become one. Ctrl-C once lets what is being scored come to its end; a second one kills the workers.
"""

from __future__ import annotations

import contextlib
import functools
import signal
import threading
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import FrameType
from typing import Protocol

from harness.errors import CellFailed, StoreError
from harness.scoring.executors import cutting
from harness.scoring.executors.cutting import Cell
from harness.scoring.executors.queue import Queue
from harness.scoring.executors.tasks import Began, Crashed, Event, Executor, Finished, Full, Lost, Refused, Scored, Task
from harness.scoring.store import ScoreStore, Span
from metrics.errors import CannotScore, MissingResource

Outcomes = Mapping[tuple[str, str], Exception]
"""Why cells, by fingerprint and signature, have no scores; those that are not here have theirs in the store."""

TICK = 0.5
"""Seconds between two looks at the limits."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one part may take: seconds and bytes, 0 for any; and how often it is tried."""

    seconds: float = 0.0
    memory: int = 0
    tries: int = 3


class Watcher(Protocol):
    """Whoever wants to see the crew at work."""

    def planned(self, tasks: Sequence[Task]) -> None:
        """These are to be done."""

    def done(self, worker: int, task: Task, metric: str, start: float, end: float, told: str) -> None:
        """A worker has ended a part, at these moments of the monotonic clock; `told` says how."""

    def say(self, text: str) -> None:
        """Something that a reader should know."""


@dataclass(slots=True)
class _Running:
    task: Task
    left: list[str]
    metric: str = ""
    since: float = field(default_factory=time.monotonic)


@dataclass(slots=True)
class Crew:
    """One run of tasks by the workers of an executor."""

    executor: Executor
    store: ScoreStore
    limits: Limits
    watcher: Watcher
    stopping: bool = False
    outcomes: dict[tuple[str, str], Exception] = field(default_factory=dict)
    _cells: dict[tuple[str, str], Cell] = field(default_factory=dict)
    _queue: Queue = field(default_factory=Queue)
    _running: dict[int, _Running] = field(default_factory=dict)
    _last: dict[int, Task] = field(default_factory=dict)
    _lost: Counter[tuple[str, str, Span]] = field(default_factory=Counter)
    _avoid: dict[tuple[str, str, Span], int] = field(default_factory=dict)
    _open: dict[tuple[str, str], set[Span]] = field(default_factory=dict)
    _bad: dict[tuple[str, str], dict[Span, Exception]] = field(default_factory=dict)
    _merged: Counter[tuple[str, str]] = field(default_factory=Counter)

    def run(self, cells: Iterable[Cell]) -> Outcomes:
        """Score cells; why some have no scores. KeyboardInterrupt once it was stopped and all is put away."""
        for cell in cells:
            self._cells[cell.dataset, cell.asked] = cell
        self._add(list(self._cells.values()))
        try:
            with _interrupts(self):
                self._work()
        except KeyboardInterrupt:
            for worker in self._running:
                self.executor.kill(worker)
            raise
        if self.stopping:
            raise KeyboardInterrupt
        return self.outcomes

    def _work(self) -> None:
        while (self._queue and not self.stopping) or self._running:
            self._send()
            for worker, event in self.executor.events(TICK):
                self._heard(worker, event)
            self._enforce()

    def stop(self) -> None:
        """Begin nothing more."""
        self.stopping = True
        count = len(self._running)
        self.watcher.say(f"stopping: waiting for {count} part{'s' * (count != 1)} to end; what is scored is kept, and "
                         "the same command goes on; Ctrl-C again does not wait")

    def _add(self, cells: Sequence[Cell]) -> None:
        made = cutting.tasks(cells, self.store)
        for task in made:
            for asked in task.metrics:
                self._open.setdefault((task.dataset, asked), set()).add(task.span)
        self._queue.add(made)
        self.watcher.planned(made)
        for cell in cells:
            if not self._open.get((cell.dataset, cell.asked)):
                self._complete(cell)  # a run before was killed when all its parts were there

    def _send(self) -> None:
        for worker in range(self.executor.workers):
            if worker in self._running or self.stopping:
                continue
            task = self._queue.take(self._last.get(worker), functools.partial(self._may, worker))
            if task is not None:
                self._running[worker] = _Running(task, list(task.metrics))
                self._last[worker] = task
                self.executor.send(worker, task)

    def _may(self, worker: int, task: Task) -> bool:
        return self.executor.workers == 1 or all(
            self._avoid.get((task.dataset, asked, task.span)) != worker for asked in task.metrics)

    def _heard(self, worker: int, event: Event) -> None:
        running = self._running.get(worker)
        if running is None:
            return
        if isinstance(event, Began):
            running.metric, running.since = event.metric, time.monotonic()
        elif isinstance(event, Scored | Refused | Crashed):
            self._ended(worker, running, event)
        elif isinstance(event, Finished):
            del self._running[worker]
        elif isinstance(event, Lost):
            self._take_back(worker, event)
        elif isinstance(event, Full):
            raise StoreError(event.reason)

    def _ended(self, worker: int, running: _Running, event: Scored | Refused | Crashed) -> None:
        task, key = running.task, (running.task.dataset, event.metric)
        running.left.remove(event.metric)
        if isinstance(event, Refused):
            kind = MissingResource if event.missing else CannotScore
            self._bad.setdefault(key, {})[task.span] = kind(event.reason)
        elif isinstance(event, Crashed):
            self._bad.setdefault(key, {})[task.span] = CellFailed(event.error)
            self.watcher.say(f"{task.dataset}: {self._cells[key].label} crashed: {event.error}"
                             + (f"\n{event.log}" if event.log else ""))
        told = {Scored: "scored", Refused: "refused", Crashed: "crashed"}[type(event)]
        self.watcher.done(worker, task, self._cells[key].label, running.since, time.monotonic(), told)
        running.metric, running.since = "", time.monotonic()
        self._close(key, task.span)
        if self.stopping and running.left:
            self.executor.kill(worker)
            del self._running[worker]

    def _take_back(self, worker: int, lost: Lost) -> None:
        """What a dead worker had: the part that it was at is tried again or given up, the others go back."""
        running = self._running.pop(worker)
        if not running.left:  # it had done all of it
            return
        task, metric = running.task, running.metric or running.left[0]
        part, label = (task.dataset, metric, task.span), self._cells[task.dataset, metric].label
        self._lost[part] += 1
        self._avoid[part] = worker
        self.watcher.done(worker, task, label, running.since, time.monotonic(), "lost")
        others = tuple(asked for asked in running.left if asked != metric)
        if others:
            self._queue.add([replace(task, metrics=others)], first=True)
        again = self._lost[part] < self.limits.tries
        then = ("left to the next run" if self.stopping else "tried again") if again else "given up"
        log = f"\n{lost.log}" if lost.log.strip() else ""
        self.watcher.say(f"{task.dataset}: a worker was lost at {label}, items {task.span[0]} to {task.span[1] - 1}: "
                         f"{lost.reason}; {then}{log}")
        if again:
            self._queue.add([replace(task, metrics=(metric,))])
        else:
            self._bad.setdefault((task.dataset, metric), {})[task.span] = CellFailed(
                f"items {task.span[0]} to {task.span[1] - 1} cost a worker {self.limits.tries} times: {lost.reason}")
            self._close((task.dataset, metric), task.span)

    def _enforce(self) -> None:
        """End what takes too long or too much."""
        for worker, running in list(self._running.items()):
            took = time.monotonic() - running.since
            reason = ""
            if self.limits.seconds and running.metric and took > self.limits.seconds:
                reason = f"took longer than {self.limits.seconds:g} s"
            elif self.limits.memory and self.executor.memory(worker) > self.limits.memory:
                reason = f"held more than {self.limits.memory / (1 << 30):.3g} GiB"
            if reason:
                self._take_back(worker, Lost(reason, self.executor.kill(worker)))

    def _close(self, key: tuple[str, str], span: Span) -> None:
        self._open[key].discard(span)
        if not self._open[key]:
            self._complete(self._cells[key])

    def _complete(self, cell: Cell) -> None:
        """All parts of a cell have been tried: they become one, or it has none."""
        bad = self._bad.pop((cell.dataset, cell.asked), {})
        failed = [error for _, error in sorted(bad.items()) if not isinstance(error, CannotScore)]
        if failed:
            self.outcomes[cell.fingerprint, cell.signature] = failed[0]
        elif self.store.merge(cell.fingerprint, cell.signature, cell.items, bad):
            return
        elif sum(stop - start for start, stop in bad) == len(cell.items):
            self.outcomes[cell.fingerprint, cell.signature] = bad[min(bad)]
        elif self._merged[cell.dataset, cell.asked] < self.limits.tries:
            self._merged[cell.dataset, cell.asked] += 1
            self._add([cell])  # a part was damaged, and set aside
        else:
            raise StoreError(f"{self.store.root}: parts of {cell.label} on {cell.dataset} do not read back")


@contextlib.contextmanager
def _interrupts(crew: Crew) -> Iterator[None]:
    """The first Ctrl-C, or SIGTERM as schedulers send it, stops the crew; the second is a signal like any other."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = {number: signal.getsignal(number) or signal.SIG_DFL for number in (signal.SIGINT, signal.SIGTERM)}

    def restore() -> None:
        for number, handler in before.items():
            signal.signal(number, handler)

    def stop(number: int, frame: FrameType | None) -> None:  # noqa: ARG001
        restore()
        crew.stop()

    for number in before:
        signal.signal(number, stop)
    try:
        yield
    finally:
        restore()
