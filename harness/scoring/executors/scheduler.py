"""The scheduler: hands tasks to workers, and retries what is lost with a worker.

A worker that dies, hangs or grows too large loses the part that it was scoring. That part is tried again, by another
worker if there is one, at most `Limits.tries` times; the rest of its task goes to any free worker. When all parts of a
pair are there they are joined.
"""

from __future__ import annotations

import functools
import time
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from harness.errors import ScoringFailed, StoreError
from harness.scoring.executors.tasks import Began, Ended, Event, Executor, Lost, Queue, Task, tasks
from harness.scoring.pairs import Pair
from harness.scoring.progress import RunProgress
from harness.scoring.scorer import first_waits
from harness.scoring.store import ScoreStore, Span
from metrics.errors import CannotScore, MissingResource

TICK = 0.5
"""Seconds between two looks at the limits."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one part may take: seconds and bytes, 0 for any; and how often it is tried."""

    seconds: float = 0.0
    memory: int = 0
    tries: int = 3


@dataclass(slots=True)
class _Running:
    """What a worker is at, and which metrics of its task are not done."""

    task: Task
    left: list[str]
    metric: str = ""
    since: float = field(default_factory=time.monotonic)


@dataclass(slots=True)
class _Open:
    """A pair: its parts that are not done, why some have no scores, and which workers each has cost."""

    pair: Pair
    parts: set[Span] = field(default_factory=set)
    errors: dict[Span, Exception] = field(default_factory=dict)
    lost: dict[Span, list[int]] = field(default_factory=lambda: defaultdict(list))
    rounds: int = 0


@dataclass(slots=True)
class Scheduler:
    """Scores pairs by the workers of an executor, once.

    `errors` has why pairs, by fingerprint and signature, have no scores; those of all others are in the store.
    """

    executor: Executor
    store: ScoreStore
    limits: Limits
    progress: RunProgress
    stopping: bool = False
    errors: dict[tuple[str, str], Exception] = field(default_factory=dict)
    _open: dict[tuple[str, str], _Open] = field(default_factory=dict)
    """By dataset and metric, as it was requested."""
    _queue: Queue = field(default_factory=Queue)
    _running: dict[int, _Running] = field(default_factory=dict)
    _last: dict[int, Task] = field(default_factory=dict)

    def run(self, pairs: Iterable[Pair]) -> dict[tuple[str, str], Exception]:
        """Score pairs; why some have no scores. KeyboardInterrupt once it was stopped and all is stored."""
        self.progress.at_once = self.executor.workers
        self._open = {(pair.dataset, pair.metric): _Open(pair) for pair in pairs}
        self._add(list(self._open.values()))
        try:
            with first_waits(self.stop):
                while (self._queue and not self.stopping) or self._running:
                    self._send()
                    for worker, event in self.executor.events(TICK):
                        self._handle(worker, event)
                    self._enforce()
        except KeyboardInterrupt:
            for worker in self._running:
                self.executor.kill(worker)
            raise
        if self.stopping:
            raise KeyboardInterrupt
        return self.errors

    def stop(self) -> None:
        """Begin nothing more."""
        self.stopping = True
        count = len(self._running)
        self.progress.say(f"stopping: waiting for {count} part{'s' * (count != 1)} to end; what is scored is kept, and "
                          "the same command goes on; Ctrl-C again does not wait")

    def _add(self, some: Sequence[_Open]) -> None:
        made = tasks([one.pair for one in some], self.store)
        for task in made:
            for metric in task.metrics:
                self._open[task.dataset, metric].parts.add(task.span)
                pair = self._open[task.dataset, metric].pair
                self.progress.estimate.plan((task.dataset, pair.label, task.span), *pair.expected(task.span))
        self._queue.add(made)
        for one in some:
            if not one.parts:
                self._complete(one)  # an earlier run was killed when all its parts were there

    def _send(self) -> None:
        for worker in range(self.executor.workers):
            if worker in self._running or self.stopping:
                continue
            task = self._queue.take(self._last.get(worker), functools.partial(self._allowed, worker))
            if task is not None:
                self._running[worker] = _Running(task, list(task.metrics))
                self._last[worker] = task
                self.executor.send(worker, task)

    def _allowed(self, worker: int, task: Task) -> bool:
        """Whether a worker may try a task: not where it has just lost a part of it."""
        losses = (self._open[task.dataset, metric].lost.get(task.span) for metric in task.metrics)
        return self.executor.workers == 1 or all(not lost or lost[-1] != worker for lost in losses)

    def _handle(self, worker: int, event: Event) -> None:
        running = self._running.get(worker)
        if running is None:
            return
        if isinstance(event, Began):
            running.metric, running.since = event.metric, time.monotonic()
        elif isinstance(event, Ended):
            self._ended(worker, running, event)
        elif isinstance(event, Lost):
            self._lost(worker, event)
        else:
            raise event

    def _ended(self, worker: int, running: _Running, event: Ended) -> None:
        refused = isinstance(event.error, CannotScore | MissingResource)
        self._report(worker, running, event.metric,
                     "scored" if event.error is None else "refused" if refused else "crashed", event.tokens)
        running.left.remove(event.metric)
        running.metric, running.since = "", time.monotonic()
        self._close(self._open[running.task.dataset, event.metric], running.task.span, event.error)
        if self.stopping and running.left:
            self.executor.kill(worker)
        if self.stopping or not running.left:
            del self._running[worker]

    def _report(self, worker: int, running: _Running, metric: str, outcome: str, tokens: int = 0) -> None:
        task = running.task
        self.progress.part(task.dataset, self._open[task.dataset, metric].pair.label, task.span, running.since,
                           time.monotonic(), outcome, worker=worker, tokens=tokens)

    def _lost(self, worker: int, lost: Lost) -> None:
        """A worker has died: its part is tried again or given up, the rest of its task goes back to the queue."""
        running = self._running.pop(worker)
        task, metric = running.task, running.metric or running.left[0]
        own = self._open[task.dataset, metric]
        own.lost[task.span].append(worker)
        self._report(worker, running, metric, "lost")
        if rest := tuple(other for other in running.left if other != metric):
            self._queue.add([replace(task, metrics=rest)], first=True)
        again, where = len(own.lost[task.span]) < self.limits.tries, f"items {task.span[0]} to {task.span[1] - 1}"
        then = ("left to the next run" if self.stopping else "tried again") if again else "given up"
        log = f"\n{lost.log}" if lost.log.strip() else ""
        self.progress.say(f"{task.dataset}: a worker was lost at {own.pair.label}, {where}: {lost.reason}; {then}{log}")
        if again:
            self._queue.add([replace(task, metrics=(metric,))])
        else:
            error = ScoringFailed(f"{where} cost a worker {self.limits.tries} times: {lost.reason}")
            self._close(own, task.span, error)

    def _enforce(self) -> None:
        """Kill workers that take too long or hold too much."""
        for worker, running in list(self._running.items()):
            took = time.monotonic() - running.since
            reason = ""
            if self.limits.seconds and running.metric and took > self.limits.seconds:
                reason = f"took longer than {self.limits.seconds:g} s"
            elif self.limits.memory and self.executor.memory(worker) > self.limits.memory:
                reason = f"held more than {self.limits.memory / (1 << 30):.3g} GiB"
            if reason:
                self._lost(worker, Lost(reason, self.executor.kill(worker)))

    def _close(self, own: _Open, span: Span, error: Exception | None) -> None:
        if error is not None:
            own.errors[span] = error
        own.parts.discard(span)
        if not own.parts:
            self._complete(own)

    def _complete(self, own: _Open) -> None:
        """All parts of a pair have been tried: they are joined, or it has no scores."""
        pair, bad = own.pair, own.errors
        own.errors = {}
        failed = [error for _, error in sorted(bad.items()) if not isinstance(error, CannotScore)]
        if failed:
            self.errors[pair.key] = failed[0]
        elif (scores := self.store.joined(*pair.key, pair.items, bad)) is not None:
            self.store.put(*pair.key, scores)
        elif sum(stop - start for start, stop in bad) == len(pair.items):
            self.errors[pair.key] = bad[min(bad)]
        elif own.rounds < self.limits.tries:
            own.rounds += 1
            self._add([own])  # a part was damaged, and set aside
        else:
            raise StoreError(f"{self.store.root}: parts of {pair.label} on {pair.dataset} do not read back")
