"""What a run works with: its stores, its models, who scores, and what earlier runs took."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.results.cache import Cache
from harness.run.plan import Plan
from harness.scoring.executors import open_executor
from harness.scoring.executors.scheduler import Limits
from harness.scoring.executors.tasks import Executor, Setup
from harness.scoring.locks import Locks
from harness.scoring.pairs import measured_costs
from harness.scoring.progress import RunProgress
from harness.scoring.store import ScoreStore
from metrics.models.service import Choice, Models


@dataclass(frozen=True, slots=True)
class Workers:
    """Who scores, where scores are stored, and what a part may take; `log` is written as things happen."""

    executor: str = "local"
    address: str = ""
    gpus: float = 0.0
    store: str = ""
    limits: Limits = field(default_factory=Limits)
    log: Path | None = None


@dataclass(frozen=True, slots=True)
class Workspace:
    """Stores, models and workers of a run; `executor` is None where its own process scores."""

    home: Path
    store: ScoreStore
    cache: Cache
    models: Models
    locks: Locks
    progress: RunProgress
    costs: Mapping[str, float]
    executor: Executor | None = None
    limits: Limits = field(default_factory=Limits)


def open_workspace(plan: Plan, home: Path, out: Path, *, choice: Choice | None = None,
                   workers: Workers | None = None) -> Workspace:
    """Everything that a plan needs to run, its stores under `out`; a device that is not here is refused."""
    choice, workers = choice or Choice(), workers or Workers()
    models = Models(home, choice)
    devices = models.machine.devices  # checked before anything is scored
    store = ScoreStore(workers.store or out / "scores")
    progress = RunProgress(workers.log)  # its clock starts here: a cluster takes seconds to start
    setup = Setup(plan.selection, home.absolute(), store.files.place, choice)
    executor = open_executor(workers.executor, setup, models, devices, workers.address, workers.gpus)
    return Workspace(home, store, Cache(out / "statistics"), models, Locks(store.files), progress,
                     measured_costs(out, plan.chosen, models), executor, workers.limits)
