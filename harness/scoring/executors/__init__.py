"""Executors: several workers that score the pairs of a run before its first dataset is correlated.

    local:N      N processes of this machine, one per device where several are named
    ray, ray:N   workers of a Ray cluster

With one process (`--executor local`) nothing of this package is used. `tasks.py` cuts pairs into tasks, `scheduler.py`
hands tasks to workers and retries what is lost, `workers.py` does them; an executor only starts workers, sends them
tasks and passes on their events. Every way of scoring ends in the same scores, and so in the same results.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from harness.errors import BadConfig
from harness.scoring.executors.scheduler import Limits, Scheduler
from harness.scoring.executors.tasks import Executor, Setup
from harness.scoring.locks import Locks
from harness.scoring.pairs import Pair
from harness.scoring.progress import RunProgress
from harness.scoring.scorer import until_scored
from harness.scoring.store import ScoreStore, lock_name
from metrics.models.service import Models


def open_executor(
    name: str, setup: Setup, models: Models, devices: tuple[str, ...] = (), address: str = "", gpus: float = 0.0,
) -> Executor | None:
    """The executor of a name, with its workers not yet started; None for this process."""
    kind, colon, number = name.partition(":")
    if name == "local":
        return None
    counted = number.isdecimal() and 1 <= int(number) <= 1024
    if setup.store.startswith("memory://"):
        raise BadConfig(f"--store {setup.store}: no other process sees it; it is for --executor local")
    if kind == "local" and counted:
        from harness.scoring.executors.workers import Processes

        return Processes(setup, int(number), devices)
    if kind == "ray" and (counted or not colon):
        from harness.scoring.executors.ray import Cluster

        if models.machine.kind != "cpu" and not gpus:
            raise BadConfig("--executor ray: say what a worker has, --gpus 1 or a share such as 0.25, or --device cpu")
        alike = replace(setup.choice, precision=models.machine.precision)  # on every node, whatever its device
        return Cluster(replace(setup, choice=alike), address, int(number or 0), gpus)
    raise BadConfig(f"--executor {name!r:.40}: should be local, local:N for N processes, ray or ray:N")


@dataclass(slots=True)
class Outcome:
    """What workers did: which pairs they scored, by fingerprint and signature, and why others have no scores."""

    scored: set[tuple[str, str]] = field(default_factory=set)
    errors: dict[tuple[str, str], Exception] = field(default_factory=dict)


def score_pairs(pairs: Sequence[Pair], executor: Executor, store: ScoreStore, locks: Locks, limits: Limits,
                progress: RunProgress, *, rescore: bool = False) -> Outcome:
    """Score pairs by the workers of an executor; what another run is scoring is waited for at the end."""
    outcome = Outcome()

    def attempt(waiting: Sequence[Pair]) -> list[Pair]:
        busy: list[Pair] = []
        for batch in _batches(waiting, locks, executor.workers):
            own = [pair for pair in batch if locks.take(lock_name(*pair.key))]
            busy += [pair for pair in batch if pair not in own]
            _score(own, executor, store, locks, limits, progress, outcome, rescore=rescore)
        return [pair for pair in busy if not store.has(*pair.key)]

    until_scored(pairs, attempt, locks, progress)
    return outcome


def _batches(pairs: Sequence[Pair], locks: Locks, workers: int) -> Iterator[list[Pair]]:
    """What is locked at once: everything; beside another run a model for each worker, so that both find some."""
    if not locks.shared():
        yield list(pairs)
        return
    groups: dict[tuple[str, str], list[Pair]] = {}
    for pair in pairs:
        groups.setdefault((pair.dataset, pair.group or pair.label), []).append(pair)
    members = list(groups.values())
    for start in range(0, len(members), workers):
        yield list(chain(*members[start:start + workers]))


def _score(pairs: Sequence[Pair], executor: Executor, store: ScoreStore, locks: Locks, limits: Limits,
           progress: RunProgress, outcome: Outcome, *, rescore: bool) -> None:
    """Score locked pairs, but for those that another run has scored since they were planned."""
    try:
        to_score = [pair for pair in pairs if rescore or not store.has(*pair.key)]
        if rescore:
            for pair in to_score:
                store.clear(*pair.key)
        errors = Scheduler(executor, store, limits, progress).run(to_score) if to_score else {}
        outcome.errors |= errors
        outcome.scored |= {pair.key for pair in to_score} - errors.keys()
    finally:
        for pair in pairs:
            locks.release(lock_name(*pair.key))
