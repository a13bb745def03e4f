"""Workers of a Ray cluster: a pool of actors, each of which keeps its models loaded and scores one part at a time.

An actor that dies or takes too long is replaced, and its part is tried again, TRIES times in all. Ray could
restart actors and repeat calls by itself, but it counts every attempt to reach an actor that is still restarting as a
try, and it cannot cancel a call that an actor is executing. Every node needs this package, and the home and the store
under the same paths: shared disks, or a store behind a URL.
"""

from __future__ import annotations

import logging
import os
import re
import resource
import socket
import time
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from benchmarks.dataset import Dataset
from benchmarks.errors import BenchmarkError
from harness.errors import BadConfig, HarnessError, ScoringFailed, StoreError
from harness.scoring.parts import TRIES, Part, Result, failure, score_span
from harness.scoring.progress import RunProgress
from harness.scoring.store import ScoreStore, Span
from metrics import registry
from metrics.errors import CannotScore, MetricError, MissingResource, NoAnswer
from metrics.metric import Metric
from metrics.models.reading import READING
from metrics.models.service import Choice, Models

TICK = 0.5
"""Seconds between two looks at the time limit."""

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
    """What a worker needs: datasets by name, the folder of models, the score store, and the chosen models."""

    load: Callable[[str], Dataset | None]
    home: Path
    store: str
    choice: Choice
    precision: str
    seed: int
    memory: int = 0


class Worker:
    """Scores parts; keeps its models, and the dataset that it read last."""

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

    def score(self, name: str, requested: str, key: str, span: Span) -> tuple[float, int, Exception | None]:
        """Score and store a part; return the seconds, the tokens read and the error, which can be pickled."""
        start, tokens = time.monotonic(), READING.tokens
        try:
            dataset = self._loaded(name)
            error = self._scored(dataset, requested, key, span)
        except (BenchmarkError, HarnessError, OSError) as raised:  # of the home or the store, not the metric
            error = StoreError(f"node {socket.gethostname()}: {raised}")
        for kind in (NoAnswer, MissingResource, CannotScore):
            if isinstance(error, kind):
                error = kind(str(error))
                break
        return time.monotonic() - start, READING.tokens - tokens, error

    def _scored(self, dataset: Dataset, requested: str, key: str, span: Span) -> Exception | None:
        try:
            if requested not in self._metrics:
                self._metrics[requested] = registry.choose(requested, seed=self._setup.seed).metric
        except Exception as error:  # a plug-in that only this node cannot load
            return failure(error, None)
        return score_span(self._metrics[requested], dataset, span, key, self._models, self._store)

    def _loaded(self, name: str) -> Dataset:
        if self._dataset is None or self._dataset.card.name != name:
            self._dataset = None  # so that two are never held at once
            self._dataset = self._setup.load(name)
            if self._dataset is None:
                raise StoreError(f"{name}: was installed when the run was planned, and is no longer")
        return self._dataset


@dataclass(frozen=True, slots=True)
class _Call:
    """A part that an actor is scoring."""

    part: Part
    actor: Any
    worker: int
    since: float


class Cluster:
    """A pool of at most `workers` actors, each with a share of `gpus`."""

    def __init__(self, setup: Setup, address: str = "", workers: int = 0, gpus: float = 0.0, timeout: float = 0.0,
                 ) -> None:
        os.environ.update({name: value for name, value in _QUIET.items() if name not in os.environ})
        try:
            import ray
        except ImportError as error:
            raise BadConfig("--executor ray needs Ray: pip install 'dialogue-harness[ray]'") from error
        device = "cuda" if gpus else "cpu"  # Ray shows a worker its own GPUs alone, whatever their numbers are
        self.device = f"{device} {setup.precision}"
        self._setup = replace(setup, choice=replace(setup.choice, device=device, precision=setup.precision))
        self._ray, self._gpus, self._timeout = ray, gpus, timeout
        self._started = not ray.is_initialized()
        if self._started:
            self._join(address or os.environ.get("RAY_ADDRESS", ""), workers)
        resources = ray.cluster_resources()
        room = min(resources.get("CPU", 0.0), resources.get("GPU", 0.0) / gpus if gpus else float("inf"))
        self.workers = workers or max(1, int(room))  # as many as there is room for now
        self._starting: dict[Any, tuple[int, Any]] = {}
        self._idle: deque[tuple[int, Any]] = deque()
        self._failed = 0
        self._losses: Counter[tuple[str, str, Span]] = Counter()

    def score(self, parts: Sequence[Part], stopping: Callable[[], bool], progress: RunProgress) -> Iterator[Result]:
        """Score parts, those that read the same models by the same actor where possible."""
        waiting, running = _Waiting(parts), dict[Any, _Call]()
        models: dict[int, str] = {}
        heard = time.monotonic()
        for worker in range(len(self._idle) + len(self._starting), min(self.workers, len(parts))):
            self._start(worker)
        while running or (waiting and not stopping()):
            while self._idle and waiting and not stopping():
                worker, actor = self._idle.popleft()
                part = waiting.take(models.get(worker, ""))
                models[worker] = part.pair.group
                call = actor.score.remote(part.pair.dataset, part.pair.metric, part.pair.signature, part.span)
                running[call] = _Call(part, actor, worker, time.monotonic())
            for answer in self._ray.wait([*running, *self._starting], num_returns=1, timeout=TICK)[0]:
                heard = time.monotonic()
                if answer in running:
                    yield from self._ended(answer, running.pop(answer), waiting, progress)
                else:
                    self._ready(answer)
            for answer in [answer for answer, call in running.items() if self._overdue(call)]:
                yield from self._lost(running.pop(answer), f"took longer than {self._timeout:g} s", waiting, progress)
            if not running and not self._idle and time.monotonic() - heard > PATIENCE:
                raise StoreError(f"no node of the Ray cluster had room for a worker of 1 CPU and {self._gpus:g} GPUs "
                                 f"in {PATIENCE:g} s: see `ray status`, or ask for less with --gpus")

    def close(self) -> None:
        """End all actors, and the cluster if it was started here."""
        for _, actor in (*self._idle, *self._starting.values()):
            self._ray.kill(actor)
        if self._started:
            self._ray.shutdown()

    def _start(self, worker: int) -> None:
        options: dict[str, Any] = {"memory": self._setup.memory} if self._setup.memory else {}
        actor: Any = self._ray.remote(num_cpus=1, num_gpus=self._gpus, **options)(Worker).remote(self._setup)
        self._starting[actor.ready.remote()] = worker, actor

    def _ready(self, answer: Any) -> None:
        """Add an actor that has started to the pool; StoreError where it cannot work."""
        worker, actor = self._starting.pop(answer)
        try:
            refused = self._ray.get(answer)
        except self._ray.exceptions.RayError as error:
            self._failed += 1
            if self._failed >= STARTS:
                raise StoreError(f"no worker starts on the Ray cluster: {_last_line(error)}") from error
            self._start(worker)
            return
        if refused:
            raise refused
        self._failed = 0
        self._idle.append((worker, actor))

    def _overdue(self, call: _Call) -> bool:
        return 0 < self._timeout < time.monotonic() - call.since

    def _ended(self, answer: Any, call: _Call, waiting: _Waiting, progress: RunProgress) -> Iterator[Result]:
        try:
            seconds, tokens, error = self._ray.get(answer)
        except self._ray.exceptions.RayError as lost:
            yield from self._lost(call, _cause(lost), waiting, progress)
            return
        self._idle.append((call.worker, call.actor))
        if isinstance(error, StoreError):
            raise error
        yield Result(call.part, seconds, error, tokens, call.worker)

    def _lost(self, call: _Call, reason: str, waiting: _Waiting, progress: RunProgress) -> Iterator[Result]:
        """Replace an actor, and try its part again or give it up."""
        self._ray.kill(call.actor)
        self._start(call.worker)
        pair, (first, end) = call.part.pair, call.part.span
        self._losses[*pair.key, call.part.span] += 1
        tried = self._losses[*pair.key, call.part.span]
        again = "trying again" if tried < TRIES else "giving up"
        progress.say(f"{pair.dataset}: a worker was lost at {pair.label}, items {first} to {end - 1}: {reason}; "
                     f"{again}")
        if tried < TRIES:
            waiting.add(call.part)
        else:
            error = ScoringFailed(f"items {first} to {end - 1} cost {tried} workers: {reason}")
            yield Result(call.part, time.monotonic() - call.since, error, 0, call.worker)

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
        for option, wanted, there in (("--gpus", self._gpus, resources.get("GPU", 0)),
                                      ("--memory", self._setup.memory, resources.get("memory", 0))):
            if not address and wanted > there:
                self._ray.shutdown()
                raise BadConfig(f"{option} {wanted:g}: this machine has only {there:g} for a worker")


class _Waiting:
    """Parts that wait, by the models that they read."""

    def __init__(self, parts: Sequence[Part]) -> None:
        self._groups: dict[str, deque[Part]] = defaultdict(deque)
        self._seconds: dict[str, float] = defaultdict(float)
        for part in parts:
            self.add(part)

    def __bool__(self) -> bool:
        return bool(self._groups)

    def add(self, part: Part) -> None:
        self._groups[part.pair.group].append(part)
        self._seconds[part.pair.group] += part.seconds

    def take(self, group: str) -> Part:
        """Remove the next part of a group; where there is none, of the group that takes longest."""
        if group not in self._groups:
            group = max(self._groups, key=self._seconds.__getitem__)
        part = self._groups[group].popleft()
        self._seconds[group] -= part.seconds
        if not self._groups[group]:
            del self._groups[group]
        return part


def _cause(error: Exception) -> str:
    """Say why an actor died, from the message of Ray."""
    matched = re.search(r"because (its [^.]+)\.(?:.*exit detail: ([^.]+)\.)?", " ".join(str(error).split()))
    if matched is None:
        return f"{type(error).__name__}: {_last_line(error)}"[:200]
    return f"{matched[1]} ({matched[2]})" if matched[2] else matched[1]


def _last_line(error: Exception) -> str:
    return next(reversed(str(error).strip().splitlines()), "")
