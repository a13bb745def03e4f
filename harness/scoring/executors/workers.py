"""Workers: what scores tasks, and the processes of this machine that do so, one worker each.

Tasks and events go over a pipe. What a process prints goes to a file, whose end is shown if the process dies. The file
has no name, so that a run that is killed leaves none behind. A worker on `--device cuda:0,cuda:1` has one of the
devices; on a processor each has its share of the cores. Workers ignore Ctrl-C, which the scheduler answers, and end by
themselves when the run that started them has died.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from multiprocessing import connection, resource_tracker
from multiprocessing.connection import Connection
from typing import Any, BinaryIO

import psutil

from benchmarks import registry as datasets
from benchmarks.dataset import Dataset
from harness.errors import StoreError
from harness.run import plan
from harness.scoring.executors.tasks import Began, Ended, Event, Lost, Setup, Task
from harness.scoring.score import score_part
from harness.scoring.scorer import failure
from harness.scoring.store import ScoreStore
from metrics import registry
from metrics.errors import CannotScore, MissingResource, NoAnswer
from metrics.external.isolation.process import family, safe_path
from metrics.metric import Metric, signature
from metrics.models.reading import READING
from metrics.models.service import Models

TAIL = 4000
"""How much of a dead worker's log to show, in bytes."""


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
        datasets.know(self.setup.home)

    def run(self, task: Task) -> Iterator[Event]:
        """Do a task; an exception fails only its metric."""
        for metric in task.metrics:
            yield Began(metric)
            yield self.score(task, metric)

    def score(self, task: Task, name: str) -> Event:
        """Score one metric of a task, and store the part."""
        whole = self._loaded(task.dataset)
        part = Dataset(whole.card, whole.items[slice(*task.span)], (), whole.origin, whole.fingerprint)
        before = READING.tokens
        try:
            if name not in self.metrics:
                self.metrics[name] = registry.choose(name, seed=self.setup.selection.seed).metric
            metric = self.metrics[name]
            scores = score_part(metric, part, self.models)
            key = signature(metric, self.models)
        except (MissingResource, CannotScore) as error:
            kinds = (NoAnswer, MissingResource, CannotScore)  # which can be pickled
            kind = next(kind for kind in kinds if isinstance(error, kind))
            return Ended(name, kind(str(error)))
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # a metric is foreign code
            return Ended(name, failure(error, self.metrics.get(name)))
        self.store.put_part(whole.fingerprint, key, task.span, scores)
        return Ended(name, tokens=READING.tokens - before)

    def _loaded(self, name: str) -> Dataset:
        if self.dataset is None or self.dataset.card.name != name:
            self.dataset = None  # so that two are never held at once
            dataset = plan.load(datasets.card(name), self.setup.home, self.setup.selection)
            if dataset is None:
                raise StoreError(f"{name}: was here when the run was planned, and is no longer")
            self.dataset = dataset
        return self.dataset


@dataclass(frozen=True, slots=True)
class _Child:
    process: Any
    pipe: Connection
    log: BinaryIO


class Processes:
    """So many worker processes, each started when it gets its first task."""

    device = ""

    def __init__(self, setup: Setup, workers: int, devices: tuple[str, ...] = ()) -> None:
        self.workers = workers
        self._setup, self._devices = setup, devices
        self._context = multiprocessing.get_context("spawn")
        self._children: dict[int, _Child] = {}

    def send(self, worker: int, task: Task) -> None:
        """Give an idle worker a task; it is started if it is not running."""
        if worker not in self._children:
            self._children[worker] = self._started(worker)
        with contextlib.suppress(OSError):  # it has just died, which `events` notices
            self._children[worker].pipe.send(task)

    def events(self, seconds: float) -> Iterator[tuple[int, Event]]:
        """The events of workers, waiting so long for the first."""
        ready = connection.wait([child.pipe for child in self._children.values()], seconds)
        for worker, child in list(self._children.items()):
            dead = child.process.exitcode is not None  # not seen from its pipe if a child of its own holds it
            if dead or child.pipe in ready:
                yield from self._received(worker, child, dead=dead)

    def _received(self, worker: int, child: _Child, *, dead: bool) -> Iterator[tuple[int, Event]]:
        try:
            while self._children.get(worker) is child and child.pipe.poll():
                yield worker, child.pipe.recv()
        except (EOFError, OSError):
            dead = True
            child.process.join(5)
        if dead and self._children.get(worker) is child:
            reason = _ending(child.process.exitcode)
            yield worker, Lost(reason, self.kill(worker))

    def kill(self, worker: int) -> str:
        """Stop a worker and all it started at once; the end of what it printed."""
        child = self._children.pop(worker, None)
        if child is None:
            return ""
        for number in _members(child):
            with contextlib.suppress(psutil.Error):  # it has just ended
                psutil.Process(number).kill()
        child.process.join()
        child.pipe.close()
        with child.log as log:
            start = max(0, os.fstat(log.fileno()).st_size - TAIL)
            return os.pread(log.fileno(), TAIL, start).decode(errors="replace")

    def memory(self, worker: int) -> int:
        """The resident bytes of a worker and of all it started."""
        child, resident = self._children.get(worker), 0
        for number in _members(child) if child else ():
            with contextlib.suppress(psutil.Error):  # it has just ended
                resident += psutil.Process(number).memory_info().rss
        return resident

    def close(self) -> None:
        """End all workers: they write what their models keep."""
        for child in self._children.values():
            with contextlib.suppress(OSError):
                child.pipe.send(None)
        until = time.monotonic() + 30
        for worker, child in list(self._children.items()):
            child.process.join(max(0.0, until - time.monotonic()))
            self.kill(worker)

    def _started(self, worker: int) -> _Child:
        ours, theirs = self._context.Pipe()
        log = tempfile.TemporaryFile()  # noqa: SIM115  (closed when the worker is no more)
        device = self._devices[worker % len(self._devices)] if self._devices else self._setup.choice.device
        setup = replace(self._setup, choice=replace(self._setup.choice, device=device))
        prints = Connection(os.dup(log.fileno()), readable=False)  # the form in which a child is handed a file
        process = self._context.Process(target=serve, args=(theirs, setup, prints), daemon=True)
        with _threads(max(1, (os.cpu_count() or 1) // self.workers)), _ignoring_interrupts(), prints, safe_path():
            process.start()
        theirs.close()
        return _Child(process, ours, log)


def serve(pipe: Connection, setup: Setup, prints: Connection) -> None:
    """What a child process does: one task after the other, until the run ends it or has died."""
    os.environ.pop("PYTHONSAFEPATH")  # what a metric starts looks where it always does
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with prints:
        for descriptor in (1, 2):
            os.dup2(prints.fileno(), descriptor)
    sys.stdout, sys.stderr = (os.fdopen(stream, "w", buffering=1, errors="replace") for stream in (1, 2))
    threading.Thread(target=_end_with_parent, args=(os.getppid(),), daemon=True).start()
    worker = Worker(setup, Models(setup.home, setup.choice))
    with contextlib.suppress(EOFError):  # the run has died
        while (task := pipe.recv()) is not None:
            try:
                for event in worker.run(task):
                    pipe.send(event)
            except StoreError as error:
                pipe.send(error)


def _end_with_parent(parent: int) -> None:
    """A run that was killed cannot end its workers: they check for themselves."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def _members(child: _Child) -> set[int]:
    """A worker's process and all it started, by number; none where it has ended, whose number may be another's."""
    return family(child.process.pid or 0) if child.process.is_alive() else set()


@contextlib.contextmanager
def _threads(count: int) -> Iterator[None]:
    """Let libraries of a process that is started now use so many threads, unless the environment says otherwise."""
    names = [name for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS") if name not in os.environ]
    os.environ.update(dict.fromkeys(names, str(count)))
    try:
        yield
    finally:
        for name in names:
            del os.environ[name]


@contextlib.contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    """Keep Ctrl-C from a process that is started now, which is to ignore it from its first moment."""
    resource_tracker.ensure_running()  # which is started with the first one, and would end the block
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _ending(code: int | None) -> str:
    """How a process ended, in words."""
    if code is None:
        return "it closed its pipe"
    if code < 0:
        with contextlib.suppress(ValueError):
            return f"killed by {signal.Signals(-code).name}"
    return f"ended with status {code}"
