"""Processes of this machine: one worker each, over a pipe; what it prints goes to a file, whose end is told if it dies.

A worker on `--device cuda:0,cuda:1` has one of the devices; on a processor each has its share of the cores. Workers
ignore Ctrl-C, which is for the crew to answer, and end by themselves when the run that started them is no more.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import resource
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from multiprocessing import connection, resource_tracker
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from harness.errors import StoreError
from harness.executors.tasks import Event, Full, Lost, Setup, Task

TAIL = 4000
"""Bytes of what a dead worker printed that are told."""


@dataclass(frozen=True, slots=True)
class _Child:
    process: Any
    pipe: Connection
    log: Path


class Processes:
    """So many workers, each started when it gets its first task."""

    device = ""

    def __init__(self, setup: Setup, workers: int, devices: tuple[str, ...] = ()) -> None:
        self.workers = workers
        self._setup, self._devices = setup, devices
        self._context = multiprocessing.get_context("spawn")
        self._children: dict[int, _Child] = {}
        self._logs = tempfile.TemporaryDirectory(prefix="harness-workers-")

    def send(self, worker: int, task: Task) -> None:
        """Give an idle worker a task; it is started if it is not there."""
        if worker not in self._children:
            self._children[worker] = self._started(worker)
        with contextlib.suppress(OSError):  # it has died just now, which its end tells
            self._children[worker].pipe.send(task)

    def events(self, seconds: float) -> Iterator[tuple[int, Event]]:
        """What workers have to say, waiting so long for the first of it."""
        pipes = {child.pipe: worker for worker, child in self._children.items()}
        for pipe in connection.wait(list(pipes), seconds):
            worker = pipes[pipe]  # type: ignore[index]
            child = self._children.get(worker)
            if child is None or child.pipe is not pipe:
                continue
            try:
                while child.pipe.poll():
                    yield worker, child.pipe.recv()
            except (EOFError, OSError):
                child.process.join(5)
                reason = _ending(child.process.exitcode)
                yield worker, Lost(reason, self.kill(worker))

    def kill(self, worker: int) -> str:
        """Stop a worker at once; the end of what it printed."""
        child = self._children.pop(worker, None)
        if child is None:
            return ""
        child.process.kill()
        child.process.join()
        child.pipe.close()
        if not child.log.exists():  # it had not even begun
            return ""
        log = child.log.read_bytes()[-TAIL:].decode(errors="replace")
        child.log.unlink()
        return log

    def memory(self, worker: int) -> int:
        """The resident bytes of a worker, where the system tells."""
        child = self._children.get(worker)
        if child is None:
            return 0
        try:
            pages = int(Path(f"/proc/{child.process.pid}/statm").read_text(encoding="ascii").split()[1])
        except (OSError, ValueError, IndexError):
            return 0
        return pages * resource.getpagesize()

    def close(self) -> None:
        """End all workers: they write what their models keep."""
        for child in self._children.values():
            with contextlib.suppress(OSError):
                child.pipe.send(None)
        until = time.monotonic() + 30
        for worker, child in list(self._children.items()):
            child.process.join(max(0.0, until - time.monotonic()))
            self.kill(worker)
        self._logs.cleanup()

    def _started(self, worker: int) -> _Child:
        ours, theirs = self._context.Pipe()
        log = Path(self._logs.name) / f"{worker}-{time.monotonic_ns()}.log"
        device = self._devices[worker % len(self._devices)] if self._devices else self._setup.choice.device
        setup = replace(self._setup, choice=replace(self._setup.choice, device=device))
        process = self._context.Process(target=serve, args=(theirs, setup, str(log)), daemon=True)
        with _threads(max(1, (os.cpu_count() or 1) // self.workers)), _deaf():
            process.start()
        theirs.close()
        return _Child(process, ours, log)


def serve(pipe: Connection, setup: Setup, log: str) -> None:
    """What a child process does: one task after the other, until it is told to end or the run is no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with Path(log).open("ab", buffering=0) as stream:
        for descriptor in (1, 2):
            os.dup2(stream.fileno(), descriptor)
    sys.stdout, sys.stderr = os.fdopen(1, "w", buffering=1), os.fdopen(2, "w", buffering=1)
    threading.Thread(target=_outlive_no_parent, args=(os.getppid(),), daemon=True).start()
    from harness.executors.work import Worker
    from metrics.models import Models

    worker = Worker(setup, Models(setup.home, setup.choice))
    while (task := _next(pipe)) is not None:
        try:
            for event in worker.run(task):
                pipe.send(event)
        except StoreError as error:
            pipe.send(Full(str(error)))
    worker.models.close()


def _next(pipe: Connection) -> Task | None:
    try:
        task: Task | None = pipe.recv()
    except EOFError:
        return None
    return task


def _outlive_no_parent(parent: int) -> None:
    """A run that was killed cannot end its workers: they look for it themselves."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


@contextlib.contextmanager
def _threads(count: int) -> Iterator[None]:
    """Let libraries of a process that is started now use so many threads, unless the user has said."""
    names = [name for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS") if name not in os.environ]
    os.environ.update(dict.fromkeys(names, str(count)))
    try:
        yield
    finally:
        for name in names:
            del os.environ[name]


@contextlib.contextmanager
def _deaf() -> Iterator[None]:
    """Let a process that is started now not hear Ctrl-C, even before it has come so far as to ignore it."""
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
