"""Workers of a Ray cluster: one actor each, so that models stay loaded; where they run and on how many nodes is Ray's.

An actor does the metrics of a task in the order of its calls. If it dies, or its node does, what it was at is lost and
the next task starts another, which Ray places where there is room; a cluster that scales itself makes room for them.
Every node needs this package, the home and the store under the same paths: a shared disk, or a store behind a URL.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from harness.errors import BadConfig, StoreError
from harness.executors.tasks import Began, Event, Finished, Full, Lost, Setup, Task
from harness.executors.work import Worker
from metrics.models import Models


class Remote:
    """What an actor does."""

    def __init__(self, setup: Setup) -> None:
        self._worker = Worker(setup, Models(setup.home, setup.choice))

    def score(self, task: Task, asked: str) -> Event:
        """Score one metric of a task."""
        try:
            return self._worker.score(task, asked)
        except StoreError as error:
            return Full(str(error))

    def close(self) -> None:
        """Write what the models keep for later runs."""
        self._worker.models.close()


@dataclass(slots=True)
class _Given:
    """A task at an actor: the calls that are not answered, in order."""

    task: Task
    calls: list[Any]
    begun: int = 0
    said: list[Event] = field(default_factory=list)


class Cluster:
    """So many actors; `gpus` is the share of a GPU that each has."""

    def __init__(self, setup: Setup, address: str = "", jobs: int = 0, gpus: float = 0.0) -> None:
        try:
            import ray
        except ImportError as error:
            raise BadConfig("--executor ray needs Ray: pip install 'dialogue-harness[ray]'") from error
        self._ray, self._setup, self._gpus = ray, setup, gpus
        self._ours = not ray.is_initialized()
        if self._ours:
            try:
                ray.init(address or None, include_dashboard=False if not address else None, logging_level=logging.ERROR,
                         log_to_driver=False)
            except (ConnectionError, ValueError, RuntimeError) as error:
                raise BadConfig(f"--address {address}: no Ray cluster answers there ({error})") from error
        self.workers = jobs or max(1, int(ray.cluster_resources().get("CPU", 1)))
        self._actors: dict[int, Any] = {}
        self._given: dict[int, _Given] = {}

    def send(self, worker: int, task: Task) -> None:
        """Give an idle worker a task; it is started if it is not there."""
        if worker not in self._actors:
            made = self._ray.remote(num_cpus=1, num_gpus=self._gpus, max_restarts=0)(Remote)
            self._actors[worker] = made.remote(self._setup)
        actor = self._actors[worker]
        self._given[worker] = _Given(task, [actor.score.remote(task, asked) for asked in task.metrics])

    def events(self, seconds: float) -> Iterator[tuple[int, Event]]:
        """What workers have to say, waiting so long for the first of it."""
        for worker, given in list(self._given.items()):
            if given.begun == 0:
                given.begun = 1
                yield worker, Began(given.task.metrics[0])
        calls = {given.calls[0]: worker for worker, given in self._given.items() if given.calls}
        ready, _ = self._ray.wait(list(calls), num_returns=len(calls), timeout=0) if calls else ([], [])
        if calls and not ready:
            ready, _ = self._ray.wait(list(calls), num_returns=1, timeout=seconds)
        for call in ready:
            yield from self._answered(calls[call])

    def _answered(self, worker: int) -> Iterator[tuple[int, Event]]:
        given = self._given[worker]
        try:
            event: Event = self._ray.get(given.calls.pop(0))
        except self._ray.exceptions.RayActorError as error:
            yield worker, Lost(" ".join(str(error).split("\n")[0].split())[:200], self.kill(worker))
            return
        yield worker, event
        if not given.calls:
            self._given.pop(worker, None)
            yield worker, Finished()
        elif worker in self._given:
            yield worker, Began(given.task.metrics[len(given.task.metrics) - len(given.calls)])

    def kill(self, worker: int) -> str:
        """Stop a worker at once; what it printed is in Ray's logs."""
        self._given.pop(worker, None)
        actor = self._actors.pop(worker, None)
        if actor is not None:
            with contextlib.suppress(ValueError, RuntimeError):
                self._ray.kill(actor)
        return ""

    def memory(self, worker: int) -> int:  # noqa: ARG002
        """Not looked at: Ray watches the memory of its nodes itself."""
        return 0

    def close(self) -> None:
        """End all workers, and the cluster if it was started here."""
        closing = [actor.close.remote() for actor in self._actors.values()]
        if closing:
            self._ray.wait(closing, num_returns=len(closing), timeout=30)
        for worker in list(self._actors):
            self.kill(worker)
        if self._ours:
            self._ray.shutdown()
