"""Workers of a Ray cluster: a pool of actors, each of which keeps its models loaded and scores one part at a time.

An actor that dies or takes too long is replaced, and the loop over parts retries its part (docs/decisions/0026 says
why Ray's own retries are not used). Every node needs this package, and the home and the store under the same paths, on
shared disks or, for the store, behind a URL.
"""

from __future__ import annotations

import functools
import logging
import os
import re
import resource
import socket
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.dataset import Dataset
from benchmarks.errors import BenchmarkError
from harness.errors import BadConfig, HarnessError, StoreError
from harness.scoring.pairs import signed
from harness.scoring.parts import Part, Result, failure, score_span
from harness.scoring.progress import RunProgress
from harness.scoring.score import restrict
from harness.scoring.store import ScoreStore, Span
from metrics import registry
from metrics.errors import MetricError
from metrics.models.counters import COUNTERS
from metrics.models.service import Choice, Models

POLL_SECONDS = 0.5
"""Seconds between two checks of the time limit."""
START_TIMEOUT = 1800.0
"""Seconds without an answer or a part in progress before the run gives up; starting a cloud machine may take long."""
MAX_FAILED_STARTS = 3
"""Number of consecutive failed starts after which the run gives up."""
OBJECT_STORE_BYTES = 100 << 20
"""Bytes of shared memory of a cluster started by the run: few, since scores go through the store, not through Ray."""
_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
"""Turns off Ray's usage reports and its warning about hidden GPUs: the device of each worker is set explicitly."""


@dataclass(frozen=True, slots=True)
class Setup:
    """Settings of a worker: a function that loads a dataset, the home, the address of the score store, and models."""

    load: Callable[[str], Dataset | None]
    home: Path
    store: str
    choice: Choice
    seed: int
    memory: int = 0


class Worker:
    """An actor that scores parts; it keeps its models, its metrics and the last dataset in memory.

    Opening the models and the store raises StoreError if this node cannot score.
    """

    def __init__(self, setup: Setup) -> None:
        self._load = setup.load
        self._dataset: Dataset | None = None
        self._choose = functools.cache(lambda requested: registry.choose(requested, seed=setup.seed).metric)
        try:
            if setup.memory and setup.choice.device == "cpu":  # CUDA reserves far more than it uses
                resource.setrlimit(resource.RLIMIT_DATA, (setup.memory, setup.memory))
            self._models, self._store = Models(setup.home, setup.choice), ScoreStore(setup.store)
            self._models.machine  # noqa: B018  (raises if the device is missing)
        except (BenchmarkError, HarnessError, MetricError, OSError) as error:
            raise StoreError(f"node {socket.gethostname()}: {error}") from error

    def score(self, name: str, requested: str, key: str, span: Span) -> tuple[float, Exception | None, bool]:
        """Score and store a part; return the seconds, the error, and whether the time was measured."""
        COUNTERS.restart()
        start = time.monotonic()
        try:
            error = self._score(name, requested, key, span)
        except (BenchmarkError, HarnessError, OSError) as raised:  # from the home or the store, not the metric
            error = StoreError(f"node {socket.gethostname()}: {raised}")
        return time.monotonic() - start, error, not COUNTERS.stored_answers

    def _score(self, name: str, requested: str, key: str, span: Span) -> Exception | None:
        if self._dataset is None or self._dataset.card.name != name:
            self._dataset = None  # free memory before loading another
            self._dataset = self._load(name)
            if self._dataset is None:
                raise StoreError(f"{name}: has been removed since the run was planned")
        try:
            metric = self._choose(requested)
        except Exception as error:  # a plug-in that only this node cannot load
            return failure(error, None)
        if signed(restrict(metric, self._dataset), self._models) != key:
            raise StoreError(f"{requested}: its code, models or resources differ from those of the run")
        return score_span(metric, self._dataset, span, key, self._models, self._store)


@dataclass(frozen=True, slots=True)
class _Call:
    """A pending call to an actor, which is scoring a part or starting up."""

    worker: int
    actor: Any
    part: Part | None = None
    since: float = 0.0


class Cluster:
    """A pool of at most `workers` actors, each with `gpus` GPUs; 0 workers means as many as the cluster can hold."""

    def __init__(self, setup: Setup, address: str = "", workers: int = 0, gpus: float = 0.0, timeout: float = 0.0,
                 ) -> None:
        os.environ.update({name: value for name, value in _QUIET.items() if name not in os.environ})
        try:
            import ray
        except ImportError as error:
            raise BadConfig("--executor ray needs Ray: pip install 'dialogue-harness[ray]'") from error
        self.device = "cuda" if gpus else "cpu"  # Ray shows a worker only its own GPUs, whatever their numbers are
        self._setup = replace(setup, choice=replace(setup.choice, device=self.device))
        self._ray, self._gpus, self._timeout = ray, gpus, timeout
        self._started = not ray.is_initialized()
        if self._started:
            self._join(address or os.environ.get("RAY_ADDRESS", ""), workers)
        resources = ray.cluster_resources()
        capacity = min(resources.get("CPU", 0.0), resources.get("GPU", 0.0) / gpus if gpus else float("inf"))
        self.workers = workers or max(1, int(capacity))
        self._calls: dict[Any, _Call] = {}
        self._idle: list[tuple[int, Any]] = []
        self._failed_starts = 0

    def score(self, parts: Sequence[Part], stopping: Callable[[], bool], progress: RunProgress) -> Iterator[Result]:
        """Score parts; parts that use the same models go to the same actor if possible."""
        waiting, models, last_answer = list(parts), dict[int, str](), time.monotonic()
        for worker in range(len(self._idle) + len(self._calls), min(self.workers, len(parts))):
            self._start(worker)
        while any(call.part for call in self._calls.values()) or (waiting and not stopping()):
            while self._idle and waiting and not stopping():
                worker, actor = self._idle.pop(0)
                part = _next_part(waiting, models.get(worker, ""))
                models[worker] = part.pair.group
                future = actor.score.remote(part.pair.dataset, part.pair.chosen.requested, part.pair.signature,
                                            part.span)
                self._calls[future] = _Call(worker, actor, part, time.monotonic())
            for future in self._ray.wait(list(self._calls), timeout=POLL_SECONDS)[0]:
                last_answer = time.monotonic()
                yield from self._finish(future, self._calls.pop(future))
            for future, call in list(self._calls.items()):
                if call.part and 0 < self._timeout < time.monotonic() - call.since:
                    yield from self._replace(self._calls.pop(future), f"took longer than {self._timeout:g} s")
            if time.monotonic() - last_answer > START_TIMEOUT and not any(call.part for call in self._calls.values()):
                raise StoreError(f"no node of the Ray cluster had room for a worker of 1 CPU and {self._gpus:g} GPUs "
                                 f"in {START_TIMEOUT:g} s: see `ray status`, or ask for less with --gpus")

    def close(self) -> None:
        """Kill all actors, and shut down the cluster if this run started it."""
        for actor in (*(actor for _, actor in self._idle), *(call.actor for call in self._calls.values())):
            self._ray.kill(actor)
        if self._started:
            self._ray.shutdown()

    def _start(self, worker: int) -> None:
        options: dict[str, Any] = {"memory": self._setup.memory} if self._setup.memory else {}
        actor: Any = self._ray.remote(num_cpus=1, num_gpus=self._gpus, **options)(Worker).remote(self._setup)
        self._calls[actor.__ray_ready__.remote()] = _Call(worker, actor)

    def _finish(self, future: Any, call: _Call) -> Iterator[Result]:
        """Handle an actor's answer and mark the actor idle, or replace it if it was lost."""
        try:
            value = self._ray.get(future)
        except self._ray.exceptions.RayError as error:
            yield from self._replace(call, _cause(error))
            return
        self._failed_starts = 0
        self._idle.append((call.worker, call.actor))
        if call.part:
            seconds, scoring_error, measured = value
            if isinstance(scoring_error, StoreError):
                raise scoring_error
            yield Result(call.part, seconds, scoring_error, call.worker, measured=measured)

    def _replace(self, call: _Call, reason: str) -> Iterator[Result]:
        self._failed_starts += call.part is None
        if self._failed_starts >= MAX_FAILED_STARTS:
            raise StoreError(f"no worker could be started on the Ray cluster: {reason}")
        self._ray.kill(call.actor)
        self._start(call.worker)
        if call.part:
            yield Result(call.part, time.monotonic() - call.since, worker=call.worker, lost=reason)

    def _join(self, address: str, workers: int) -> None:
        """Connect to the cluster at `address`, or start one on this machine if it is empty."""
        local: dict[str, Any] = {"num_cpus": workers or None, "include_dashboard": False,
                                 "object_store_memory": OBJECT_STORE_BYTES}
        try:
            if matched := re.fullmatch(r"([\w.-]+):(\d+)", address):  # Ray itself would try for minutes
                socket.create_connection((matched[1], int(matched[2])), 10).close()
            self._ray.init(address or "local", logging_level=logging.ERROR, log_to_driver=False,
                           **({} if address else local))
        except (OSError, ValueError, RuntimeError, ImportError, self._ray.exceptions.RayError) as error:
            problem = f"--address {address}: no Ray cluster answers" if address else "Ray cannot be started"
            raise BadConfig(f"{problem} ({error})") from error
        resources = self._ray.cluster_resources()
        for option, requested, available in (("--gpus", self._gpus, resources.get("GPU", 0)),
                                             ("--memory", self._setup.memory, resources.get("memory", 0))):
            if not address and requested > available:
                self._ray.shutdown()
                raise BadConfig(f"{option} {requested:g}: this machine has only {available:g}")


def _next_part(waiting: list[Part], group: str) -> Part:
    """Remove and return the next part of a group or, if none is left, of the group with the most remaining time."""
    seconds: dict[str, float] = defaultdict(float)
    for part in waiting:
        seconds[part.pair.group] += part.estimated_seconds
    group = group if group in seconds else max(seconds, key=seconds.__getitem__)
    return waiting.pop(next(index for index, part in enumerate(waiting) if part.pair.group == group))


def _cause(error: Exception) -> str:
    """Return why an actor died, according to Ray's message, or else the last line of that message."""
    matched = re.search(r"because (its [^.]+)", " ".join(str(error).split()))
    last_line = str(error).strip().splitlines()[-1].removeprefix(f"{StoreError.__module__}.{StoreError.__name__}: ")
    return matched[1] if matched else last_line[:200]
