"""Workers of a Ray cluster: one actor each, so that models stay loaded; where they run and on how many nodes is Ray's.

An actor gets no task before it has started. So a cluster that scales itself has the time it needs, one that is full or
has lost a node goes on with the actors that it has room for, and no part is lost with an actor that never started. The
part that an actor was scoring when it died is lost. Every node needs this package, and the home and the store under the
same paths: disks that are shared, or a store behind a URL.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import socket
import time
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from benchmarks.errors import BenchmarkError
from harness.errors import BadConfig, HarnessError, StoreError
from harness.scoring.executors.tasks import Began, Event, Lost, Setup, Task
from harness.scoring.executors.workers import TAIL, Worker
from metrics.errors import MetricError
from metrics.models.service import Models

PATIENCE = 1800.0
"""Seconds that a run waits while there is not one actor: as long as a cloud may take to start a machine."""

STARTS = 3
"""Actors in a row that may fail to start."""

OBJECTS = 100 << 20
"""Bytes of shared memory of a cluster that is started here: scores go through the store, not through Ray."""

_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
"""Ray sends nothing home; and does not warn that it hides GPUs, since the device of each worker is said."""


@dataclass(frozen=True, slots=True)
class ActorPlace:
    """Where an actor runs, and the files that hold what it prints."""

    node: str
    output: tuple[str, ...]


class Actor:
    """What an actor does."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._worker: Worker

    def ready(self) -> ActorPlace | StoreError:
        """Be there: where it is, or why it cannot work there."""
        node = socket.gethostname()
        try:
            models = Models(self._setup.home, self._setup.choice)
            self._worker = Worker(self._setup, models)
            models.machine  # noqa: B018  (a device that is not there is told before anything is lost)
        except (BenchmarkError, HarnessError, MetricError, OSError) as error:
            return StoreError(f"node {node}: {error}")
        return ActorPlace(node, tuple(os.path.realpath(f"/proc/self/fd/{stream}") for stream in (1, 2)))

    def score(self, task: Task, metric: str) -> Event:
        """Score one metric of a task."""
        try:
            return self._worker.score(task, metric)
        except (BenchmarkError, HarnessError, OSError) as error:  # the home or the store, not the metric
            return StoreError(f"node {socket.gethostname()}: {error}")


@dataclass(slots=True)
class _Assigned:
    """A task; when an actor is at it, its calls that are not answered, in order."""

    task: Task
    calls: list[Any] = field(default_factory=list)


class Cluster:
    """So many actors at most; `gpus` is the share of a GPU that each has."""

    def __init__(self, setup: Setup, address: str = "", jobs: int = 0, gpus: float = 0.0) -> None:
        os.environ.update({name: value for name, value in _QUIET.items() if name not in os.environ})
        try:
            import ray
        except ImportError as error:
            raise BadConfig("--executor ray needs Ray: pip install 'dialogue-harness[ray]'") from error
        self._ray, self._gpus = ray, gpus
        device = "cuda" if gpus else "cpu"  # Ray shows a worker its own GPUs alone, whatever their numbers are
        self.device = f"{device} {setup.choice.precision}"
        self._setup = replace(setup, choice=replace(setup.choice, device=device))
        self._ours = not ray.is_initialized()
        if self._ours:
            self._join(address or os.environ.get("RAY_ADDRESS", ""), jobs)
        resources = ray.cluster_resources()
        rooms = [resources.get("CPU", 0.0), *([resources.get("GPU", 0.0) / gpus] if gpus else [])]
        self.workers = jobs or max(1, int(min(rooms)))  # as many as there is room for now
        self._actors: dict[int, tuple[Any, ActorPlace]] = {}
        self._coming: dict[Any, Any] = {}
        self._assigned: dict[int, _Assigned] = {}
        self._failed = 0
        self._heard = time.monotonic()

    def send(self, worker: int, task: Task) -> None:
        """Give an idle worker a task; it waits until there is an actor."""
        self._assigned[worker] = _Assigned(task)
        waiting = sum(worker not in self._actors for worker in self._assigned)
        for _ in range(waiting - len(self._coming)):
            made: Any = self._ray.remote(num_cpus=1, num_gpus=self._gpus, max_restarts=0)(Actor)
            actor = made.remote(self._setup)
            self._coming[actor.ready.remote()] = actor

    def events(self, seconds: float) -> Iterator[tuple[int, Event]]:
        """What workers have to say, waiting so long for the first of it."""
        self._lend()
        for worker, assigned in self._assigned.items():
            if worker in self._actors and not assigned.calls:
                actor, _ = self._actors[worker]
                assigned.calls = [actor.score.remote(assigned.task, metric) for metric in assigned.task.metrics]
                yield worker, Began(assigned.task.metrics[0])
        calls = {assigned.calls[0]: worker for worker, assigned in self._assigned.items() if assigned.calls}
        for call in self._answers([*calls, *self._coming], seconds):
            yield from self._answered(calls[call]) if call in calls else self._came(call)
        if not self._actors and time.monotonic() - self._heard > PATIENCE:
            yield from self._stuck(f"no node of the Ray cluster had room for a worker of 1 CPU and {self._gpus:g} GPUs "
                                   f"in {PATIENCE:g} s: see `ray status`, or ask for less with --gpus")

    def kill(self, worker: int) -> str:
        """Stop a worker at once; the end of what it printed, or where that is."""
        self._assigned.pop(worker, None)
        if worker not in self._actors:
            return ""
        actor, place = self._actors.pop(worker)
        with contextlib.suppress(ValueError, RuntimeError):
            self._ray.kill(actor)
        return _printed(place)

    def memory(self, worker: int) -> int:  # noqa: ARG002
        """Not looked at: Ray watches the memory of its nodes itself."""
        return 0

    def close(self) -> None:
        """End all workers, and the cluster if it is ours."""
        for actor in [*self._coming.values(), *(actor for actor, _ in self._actors.values())]:
            self._ray.kill(actor)
        if self._ours:
            self._ray.shutdown()

    def _join(self, address: str, jobs: int) -> None:
        """Be part of the cluster there; without an address, of one that is started on this machine."""
        local: dict[str, Any] = {"num_cpus": jobs or None, "include_dashboard": False, "object_store_memory": OBJECTS}
        try:
            if matched := re.fullmatch(r"([\w.-]+):(\d+)", address):  # Ray itself would try for minutes
                socket.create_connection((matched[1], int(matched[2])), 10).close()
            self._ray.init(address or "local", logging_level=logging.ERROR, log_to_driver=False,
                           **({} if address else local))
        except (OSError, ValueError, RuntimeError, ImportError, self._ray.exceptions.RayError) as error:
            where = f"--address {address}: no Ray cluster answers there" if address else "Ray does not start here"
            raise BadConfig(f"{where} ({error})") from error
        if not address and self._ray.cluster_resources().get("GPU", 0) < self._gpus:
            self._ray.shutdown()
            raise BadConfig(f"--gpus {self._gpus:g}: this machine has not as many GPUs for a worker")

    def _lend(self) -> None:
        """Actors that are idle take the tasks of workers that have none."""
        idle = [worker for worker in self._actors if worker not in self._assigned]
        for worker in [worker for worker in self._assigned if worker not in self._actors][:len(idle)]:
            self._actors[worker] = self._actors.pop(idle.pop())

    def _answers(self, calls: list[Any], seconds: float) -> list[Any]:
        """Those of the calls that are answered, waiting so long for the first of them."""
        if not calls:
            return []
        ready: list[Any] = self._ray.wait(calls, num_returns=len(calls), timeout=0)[0]
        return ready or list(self._ray.wait(calls, num_returns=1, timeout=seconds)[0])

    def _came(self, call: Any) -> Iterator[tuple[int, Event]]:
        """An actor is there, or will not come."""
        handle, self._heard = self._coming.pop(call), time.monotonic()
        try:
            place = self._ray.get(call)
        except self._ray.exceptions.RayError as error:
            self._failed += 1
            if self._failed >= STARTS:
                yield from self._stuck(f"no worker starts on the Ray cluster: {str(error).strip().splitlines()[-1]}")
            for worker in [worker for worker in self._assigned if worker not in self._actors][:1]:
                self.send(worker, self._assigned[worker].task)  # which has another placed
            return
        if isinstance(place, StoreError):
            yield from self._stuck(str(place))
            return
        self._failed = 0
        free = [worker for worker in range(self.workers) if worker not in self._actors]
        self._actors[min(free, key=lambda worker: worker not in self._assigned)] = handle, place

    def _stuck(self, reason: str) -> Iterator[tuple[int, Event]]:
        """The run cannot go on; whichever worker has a task says so."""
        yield from ((worker, StoreError(reason)) for worker in list(self._assigned)[:1])

    def _answered(self, worker: int) -> Iterator[tuple[int, Event]]:
        assigned, self._heard = self._assigned[worker], time.monotonic()
        try:
            event: Event = self._ray.get(assigned.calls.pop(0))
        except self._ray.exceptions.RayError as error:
            yield worker, Lost(_cause(error), self.kill(worker))
            return
        if not assigned.calls:
            del self._assigned[worker]
        yield worker, event
        if assigned.calls and worker in self._assigned:  # it was not stopped meanwhile
            yield worker, Began(assigned.task.metrics[-len(assigned.calls)])


def _cause(error: Exception) -> str:
    """Why an actor is no more, from what Ray says about it."""
    lines = str(error).strip().splitlines()
    matched = re.search(r"because (its [^.]+)\.(?:.*exit detail: ([^.]+)\.)?", " ".join(lines))
    if matched is None:
        return f"{type(error).__name__}: {lines[-1] if lines else ''}"[:200]
    return f"{matched[1]} ({matched[2]})" if matched[2] else matched[1]


def _printed(place: ActorPlace) -> str:
    """The end of what an actor printed; on another machine, where it is."""
    ends = []
    for name in place.output:
        with contextlib.suppress(OSError):
            ends.append(Path(name).read_bytes()[-TAIL:].decode(errors="replace"))
    return "".join(ends) if ends else f"what it printed is on node {place.node}: {' '.join(place.output)}"

