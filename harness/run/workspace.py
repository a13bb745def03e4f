"""The workspace of a run: stores, models, executor, and the costs of earlier runs."""

from __future__ import annotations

import functools
import math
import re
from dataclasses import dataclass
from pathlib import Path

from harness.errors import BadConfig
from harness.results.cache import Cache
from harness.run.plan import Plan, load_named
from harness.run.settings import Settings
from harness.scoring import costs
from harness.scoring.cluster import Cluster, Setup
from harness.scoring.progress import LOG, RunProgress
from harness.scoring.store import ScoreStore
from metrics.models import weights
from metrics.models.service import Choice, Models

SIZES = {"KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "KB": 10**3, "MB": 10**6, "GB": 10**9}


@dataclass(frozen=True, slots=True)
class Workspace:
    """Stores, models and workers of a run; `executor` is None if the run scores in its own process."""

    home: Path
    store: ScoreStore
    cache: Cache
    models: Models
    progress: RunProgress
    executor: Cluster | None = None


def open_workspace(plan: Plan, home: Path, out: Path, *, choice: Choice | None = None,
                   requested: Settings | None = None) -> Workspace:
    """Open the workspace of a plan with its stores under `out`; raise BadConfig for a missing device.

    The settings choose executor, store and log; without settings, this process scores and writes no log.
    """
    choice, settings = choice or Choice(), requested or Settings()
    models = Models(home, choice)
    machine = models.machine  # checked before anything is scored
    for name in (choice.encoder.partition("+")[0], choice.lm, choice.vectors):
        if suggestion := weights.mistyped(name):
            raise BadConfig(suggestion)
    store = ScoreStore(settings.store or out / "scores")
    earlier = costs.read(home, plan.chosen, models, shipped=not settings.dry_run)
    others = earlier.get(costs.OTHERS, costs.Cost(math.nan, 0, 0)).item * len(plan.chosen) * plan.targets
    log = out / LOG if requested else None
    progress = RunProgress(log, earlier=earlier, others=others)  # before the cluster, so that its start is timed
    executor: Cluster | None = None
    if settings.executor != "local" and not settings.dry_run:
        if settings.store.startswith("memory://"):
            raise BadConfig(f"--store {settings.store}: other processes cannot see it; use --executor local")
        if machine.kind != "cpu" and not settings.gpus:
            raise BadConfig("--executor ray needs the GPUs per worker, such as --gpus 1 or 0.25, or --device cpu")
        setup = Setup(functools.partial(load_named, home=home.absolute(), selection=plan.selection), home.absolute(),
                      store.files.address, choice, machine.precision, plan.selection.seed, bytes_of(settings.memory))
        count = int(settings.executor.partition(":")[2] or 0)  # 0: as many as the cluster has room for
        executor = Cluster(setup, settings.address, count, settings.gpus, settings.timeout)
    return Workspace(home, store, Cache(out / "statistics"), models, progress, executor)


def bytes_of(size: str) -> int:
    """Parse a size such as 4GiB; return 0 if it is empty, and raise BadConfig if it is invalid."""
    matched = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([A-Za-z]+)", size.strip())
    number = float(matched[1]) * SIZES.get(matched[2].upper(), 0) if matched else 0.0
    if size and not 1 <= number < math.inf:
        raise BadConfig(f"--memory {size!r:.40}: must be a size with a unit, such as 4GiB or 800MiB")
    return int(number)
