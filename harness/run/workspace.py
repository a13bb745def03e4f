"""The workspace of a run: stores, models, executor, and the costs of earlier runs."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.errors import BadConfig
from harness.results.cache import Cache
from harness.run.plan import Plan, load_named
from harness.scoring.cluster import Cluster, Setup
from harness.scoring.pairs import measured_costs
from harness.scoring.progress import RunProgress
from harness.scoring.store import ScoreStore
from metrics.models.service import Choice, Models


@dataclass(frozen=True, slots=True)
class Workers:
    """The executor with its limits, the store, and the log of events."""

    executor: str = "local"
    address: str = ""
    gpus: float = 0.0
    store: str = ""
    timeout: float = 0.0
    memory: int = 0
    log: Path | None = None

    @property
    def count(self) -> int:
        """Requested workers; 0 means as many as a Ray cluster has room for."""
        kind, _, number = self.executor.partition(":")
        return 1 if kind == "local" else int(number or 0)


@dataclass(frozen=True, slots=True)
class Workspace:
    """Stores, models and workers of a run; `executor` is None where the process of the run scores."""

    home: Path
    store: ScoreStore
    cache: Cache
    models: Models
    progress: RunProgress
    costs: Mapping[str, float]
    executor: Cluster | None = None


def open_workspace(plan: Plan, home: Path, out: Path, *, choice: Choice | None = None,
                   workers: Workers | None = None) -> Workspace:
    """Open the workspace of a plan, its stores under `out`; BadConfig for a missing device."""
    choice, workers = choice or Choice(), workers or Workers()
    models = Models(home, choice)
    machine = models.machine  # checked before anything is scored
    store = ScoreStore(workers.store or out / "scores")
    progress = RunProgress(workers.log)  # its clock starts here: a cluster takes seconds to start
    executor: Cluster | None = None
    if workers.executor != "local":
        if workers.store.startswith("memory://"):
            raise BadConfig(f"--store {workers.store}: other processes cannot see it; use --executor local")
        if machine.kind != "cpu" and not workers.gpus:
            raise BadConfig("--executor ray: give the GPUs per worker, --gpus 1 or a share such as 0.25, or "
                            "--device cpu")
        setup = Setup(functools.partial(load_named, home=home.absolute(), selection=plan.selection), home.absolute(),
                      store.files.place, choice, machine.precision, plan.selection.seed, workers.memory)
        executor = Cluster(setup, workers.address, workers.count, workers.gpus, workers.timeout)
    return Workspace(home, store, Cache(out / "statistics"), models, progress,
                     measured_costs(out, plan.chosen, models), executor)
