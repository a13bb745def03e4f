"""Workers of a Ray cluster: a pool of actors, each of which keeps its models loaded and scores one part at a time.

An actor that dies or takes too long is replaced, and the loop over parts tries its part again (docs/decisions/0026 says
why Ray's own retries are not used). Every node needs this package, and the home and the store under the same paths:
shared disks, or a store behind a URL.
"""

from __future__ import annotations

import logging
import os
import re
import resource
import socket
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.dataset import Dataset
from benchmarks.errors import BenchmarkError
from harness.errors import BadConfig, HarnessError, StoreError
from harness.scoring.parts import Part, Result, failure, score_span
from harness.scoring.progress import RunProgress
from harness.scoring.store import ScoreStore, Span
from metrics import registry
from metrics.errors import MetricError
from metrics.metric import Metric
from metrics.models.service import Choice, Models

TICK = 0.5
"""Seconds between two checks of the time limit."""

PATIENCE = 1800.0
"""Seconds without a single actor before the run gives up: as long as a cloud may take to start a machine."""

STARTS = 3
"""Actors in a row that may fail to start."""

OBJECTS = 100 << 20
"""Bytes of shared memory of a cluster that is started here: scores go through the store, not through Ray."""

_QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
"""Ray reports no usage, and does not warn that it hides GPUs, since each worker is given its device."""


@dataclass(frozen=True, slots=True)
class Setup:
    """Settings of a worker: datasets by name, the folder of models, the score store, and the chosen models."""

    load: Callable[[str], Dataset | None]
    home: Path
    store: str
    choice: Choice
    precision: str
    seed: int
    memory: int = 0


class Worker:
    """Scores parts; keeps its models, its metrics, and the dataset that it read last."""

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._dataset: Dataset | None = None
        self._metrics: dict[str, Metric] = {}

    def ready(self) -> StoreError | None:
        """Open the models and the store; return why this node cannot score."""
        try:
            if self._setup.memory and self._setup.choice.device == "cpu":  # CUDA reserves far more than it uses
                resource.setrlimit(resource.RLIMIT_DATA, (self._setup.memory, self._setup.memory))
            self._models = Models(self._setup.home, self._setup.choice)
            self._store = ScoreStore(self._setup.store)
            self._models.machine  # noqa: B018  (raises where the device is missing)
        except (BenchmarkError, HarnessError, MetricError, OSError) as error:
            return StoreError(f"node {socket.gethostname()}: {error}")
        return None

    def score(self, name: str, requested: str, key: str, span: Span) -> tuple[float, Exception | None]:
        """Score and store a part; return the seconds and the error."""
        start = time.monotonic()
        try:
            error = self._score(name, requested, key, span)
        except (BenchmarkError, HarnessError, OSError) as raised:  # of the home or the store, not the metric
            error = StoreError(f"node {socket.gethostname()}: {raised}")
        return time.monotonic() - start, error

    def _score(self, name: str, requested: str, key: str, span: Span) -> Exception | None:
        if self._dataset is None or self._dataset.card.name != name:
            self._dataset = None  # so that two are never held at once
            self._dataset = self._setup.load(name)
            if self._dataset is None:
                raise StoreError(f"{name}: was installed when the run was planned, and is no longer")
        try:
            if requested not in self._metrics:
                self._metrics[requested] = registry.choose(requested, seed=self._setup.seed).metric
        except Exception as error:  # a plug-in that only this node cannot load
            return failure(error, None)
        return score_span(self._metrics[requested], self._dataset, span, key, self._models, self._store)


@dataclass(frozen=True, slots=True)
class _Call:
    """A call under way: an actor that scores a part, or that starts."""

    worker: int
    actor: Any
    part: Part | None = None
    since: float = 0.0


class Cluster:
    """A pool of at most `workers` actors, each with a share of `gpus`."""

    def __init__(self, setup: Setup, address: str = "", workers: int = 0, gpus: float = 0.0, timeout: float = 0.0,
                 ) -> None:
        os.environ.update({name: value for name, value in _QUIET.items() if name not in os.environ})
        try:
            import ray
        except ImportError as error:
            raise BadConfig("--executor ray needs Ray: pip install 'dialogue-harness[ray]'") from error
        device = "cuda" if gpus else "cpu"  # Ray shows a worker only its own GPUs, whatever their numbers are
        self.device = f"{device} {setup.precision}"
        self._setup = replace(setup, choice=replace(setup.choice, device=device, precision=setup.precision))
        self._ray, self._gpus, self._timeout = ray, gpus, timeout
        self._started = not ray.is_initialized()
        if self._started:
            self._join(address or os.environ.get("RAY_ADDRESS", ""), workers)
        resources = ray.cluster_resources()
        room = min(resources.get("CPU", 0.0), resources.get("GPU", 0.0) / gpus if gpus else float("inf"))
        self.workers = workers or max(1, int(room))
        self._calls: dict[Any, _Call] = {}
        self._idle: list[tuple[int, Any]] = []
        self._failed = 0

    def score(self, parts: Sequence[Part], stopping: Callable[[], bool], progress: RunProgress,
              ) -> Iterator[Result]:
        """Score parts; parts that read the same models go to the same actor if possible."""
        waiting, models, heard = list(parts), dict[int, str](), time.monotonic()
        for worker in range(len(self._idle) + len(self._calls), min(self.workers, len(parts))):
            self._start(worker)
        while any(call.part for call in self._calls.values()) or (waiting and not stopping()):
            while self._idle and waiting and not stopping():
                worker, actor = self._idle.pop(0)
                part = _next(waiting, models.get(worker, ""))
                models[worker] = part.pair.group
                answer = actor.score.remote(part.pair.dataset, part.pair.chosen.requested, part.pair.signature,
                                            part.span)
                self._calls[answer] = _Call(worker, actor, part, time.monotonic())
            for answer in self._ray.wait(list(self._calls), timeout=TICK)[0]:
                heard = time.monotonic()
                yield from self._ended(answer, self._calls.pop(answer))
            for answer, call in list(self._calls.items()):
                if call.part and 0 < self._timeout < time.monotonic() - call.since:
                    yield from self._lost(self._calls.pop(answer), f"took longer than {self._timeout:g} s")
            if time.monotonic() - heard > PATIENCE and not any(call.part for call in self._calls.values()):
                raise StoreError(f"no node of the Ray cluster had room for a worker of 1 CPU and {self._gpus:g} GPUs "
                                 f"in {PATIENCE:g} s: see `ray status`, or ask for less with --gpus")

    def close(self) -> None:
        """End all actors, and the cluster if it was started here."""
        for actor in (*(actor for _, actor in self._idle), *(call.actor for call in self._calls.values())):
            self._ray.kill(actor)
        if self._started:
            self._ray.shutdown()

    def _start(self, worker: int) -> None:
        options: dict[str, Any] = {"memory": self._setup.memory} if self._setup.memory else {}
        actor: Any = self._ray.remote(num_cpus=1, num_gpus=self._gpus, **options)(Worker).remote(self._setup)
        self._calls[actor.ready.remote()] = _Call(worker, actor)

    def _ended(self, answer: Any, call: _Call) -> Iterator[Result]:
        """Take the answer of an actor, which is then idle, or replace an actor that is lost."""
        try:
            value = self._ray.get(answer)
        except self._ray.exceptions.RayError as error:
            yield from self._lost(call, _cause(error))
            return
        seconds, refusal = value if call.part else (0.0, value)
        if isinstance(refusal, StoreError):
            raise refusal
        self._failed = 0
        self._idle.append((call.worker, call.actor))
        if call.part:
            yield Result(call.part, seconds, refusal, call.worker)

    def _lost(self, call: _Call, reason: str) -> Iterator[Result]:
        self._failed += call.part is None
        if self._failed >= STARTS:
            raise StoreError(f"no worker starts on the Ray cluster: {reason}")
        self._ray.kill(call.actor)
        self._start(call.worker)
        if call.part:
            yield Result(call.part, time.monotonic() - call.since, worker=call.worker, lost=reason)

    def _join(self, address: str, workers: int) -> None:
        """Connect to the cluster there; without an address, start one on this machine."""
        local: dict[str, Any] = {"num_cpus": workers or None, "include_dashboard": False,
                                 "object_store_memory": OBJECTS}
        try:
            if matched := re.fullmatch(r"([\w.-]+):(\d+)", address):  # Ray itself would try for minutes
                socket.create_connection((matched[1], int(matched[2])), 10).close()
            self._ray.init(address or "local", logging_level=logging.ERROR, log_to_driver=False,
                           **({} if address else local))
        except (OSError, ValueError, RuntimeError, ImportError, self._ray.exceptions.RayError) as error:
            where = f"--address {address}: no Ray cluster answers there" if address else "Ray does not start here"
            raise BadConfig(f"{where} ({error})") from error
        resources = self._ray.cluster_resources()
        for option, wanted, available in (("--gpus", self._gpus, resources.get("GPU", 0)),
                                          ("--memory", self._setup.memory, resources.get("memory", 0))):
            if not address and wanted > available:
                self._ray.shutdown()
                raise BadConfig(f"{option} {wanted:g}: this machine has only {available:g} for a worker")


def _next(waiting: list[Part], group: str) -> Part:
    """Remove the next part of a group or, if it has none left, of the group with the most remaining time."""
    seconds = Counter[str]()
    for part in waiting:
        seconds[part.pair.group] += part.seconds  # type: ignore[assignment]
    group = group if group in seconds else max(seconds, key=seconds.__getitem__)
    return waiting.pop(next(index for index, part in enumerate(waiting) if part.pair.group == group))


def _cause(error: Exception) -> str:
    """Return the reason of a death in the message of Ray, else the last line of the message."""
    matched = re.search(r"because (its [^.]+)", " ".join(str(error).split()))
    return matched[1] if matched else str(error).strip().splitlines()[-1][:200]
