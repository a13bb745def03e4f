"""The workspace of a run: stores, models, executor, and the costs of earlier runs."""

from __future__ import annotations

import functools
import math
import re
from dataclasses import dataclass, replace
from pathlib import Path

from harness.errors import BadConfig
from harness.results.cache import Cache
from harness.run.plan import Plan, load_named
from harness.run.settings import Settings
from harness.scoring import costs
from harness.scoring.cluster import Cluster, Setup
from harness.scoring.progress import LOG, RunProgress
from harness.scoring.store import ScoreStore
from metrics.judges import spending
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


def choice(settings: Settings) -> Choice:
    """Return the models, device and limits that the settings choose."""
    return Choice(
        encoder=settings.encoder, lm=settings.lm, vectors=settings.vectors, device=settings.device,
        precision=settings.precision, batch_tokens=settings.batch_tokens,
        download=not (settings.offline or settings.dry_run),
        price=spending.prices(settings.price) if settings.price else (0.0, 0.0), max_cost=settings.max_cost,
        max_requests=settings.max_requests)


def open_workspace(plan: Plan, home: Path, out: Path, *, log: bool = False) -> Workspace:
    """Open the workspace of a plan with its stores under `out`; raise BadConfig for a missing device."""
    settings, chosen = plan.settings, choice(plan.settings)
    models = Models(home, chosen)
    machine = models.machine  # checked before anything is scored
    if settings.gpus and machine.kind == "cpu":  # signatures are made on a CPU for scores from GPUs
        chosen = replace(chosen, precision=machine.precision)
        models = Models(home, chosen)
    for name in (chosen.encoder.partition("+")[0], chosen.lm, chosen.vectors):
        if suggestion := weights.mistyped(name):
            raise BadConfig(suggestion)
    store = ScoreStore(settings.store or out / "scores")
    earlier = costs.read(home, plan.chosen, models, shipped=not settings.dry_run)
    other_seconds = float(sum(earlier.get(costs.OTHERS, ()))) * len(plan.chosen) * plan.targets
    # created before the cluster, so that its start is timed too
    progress = RunProgress(out / LOG if log else None, earlier=earlier, others=other_seconds)
    executor: Cluster | None = None
    if settings.executor != "local" and not settings.dry_run:
        if settings.store.startswith("memory://"):
            raise BadConfig(f"--store {settings.store}: other processes cannot see it; use --executor local")
        if machine.kind != "cpu" and not settings.gpus:
            raise BadConfig("--executor ray on a GPU machine needs --gpus (GPUs per worker, such as 1 or 0.25), "
                            "or --device cpu")
        setup = Setup(functools.partial(load_named, home=home.absolute(), settings=settings), home.absolute(),
                      store.files.address, chosen, settings.seed, bytes_of(settings.memory))
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
