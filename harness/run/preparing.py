"""What a run needs before it begins: stores, models, who scores, and what earlier runs took."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

from benchmarks.dataset import Dataset
from harness.results.rows import Timing
from harness.run.cache import Memo
from harness.run.compare import Draws
from harness.run.plan import Plan
from harness.scoring import composites, executors
from harness.scoring.executors import cutting
from harness.scoring.executors.filling import Filling
from harness.scoring.executors.scheduler import Limits
from harness.scoring.executors.seeing import Seen
from harness.scoring.executors.tasks import Setup
from harness.scoring.locks import Claims
from harness.scoring.progress import Progress
from harness.scoring.store import ScoreStore
from metrics.errors import MissingResource
from metrics.models.service import Choice, Models
from metrics.registry import Chosen


@dataclass(frozen=True, slots=True)
class CrewChoice:
    """Who scores, where scores are kept, and what a part may take."""

    executor: str = "local"
    address: str = ""
    jobs: int = 0
    gpus: float = 0.0
    store: str = ""
    limits: Limits = field(default_factory=Limits)
    logs: tuple[Path, ...] = ()
    """Files to which everything that happens is written as it happens."""


@dataclass(frozen=True, slots=True)
class Context:
    """What every cell of a run shares."""

    plan: Plan
    home: Path
    store: ScoreStore
    models: Models
    progress: Progress
    memo: Memo
    draws: Draws
    filling: Filling
    seen: Seen
    rescore: bool = False
    examples: int = 0


def prepared(
    planned: Plan, home: Path, out: Path, draws: Draws, *, choice: Choice | None = None, rescore: bool = False,
    examples: int = 0, crew: CrewChoice | None = None,
) -> Context:
    """What a plan needs to run: its stores under `out`, its models as chosen; a device that is not here is refused."""
    chosen, crew = choice or Choice(), crew or CrewChoice()
    models = Models(home, chosen)
    devices = models.machine.devices  # known before anything is scored
    progress = Progress(len(planned.cards) * len(planned.chosen))
    store = ScoreStore(crew.store or out / "scores")
    setup = Setup(planned.selection, home.absolute(), store.blobs.place, chosen)
    seen = Seen(progress, crew.logs)  # its clock runs from here: a cluster takes seconds to start
    executor = executors.opened(crew.executor, setup, models, devices, crew.address, crew.jobs, crew.gpus)
    costs = cutting.costs(_earlier(out), {one.label: cutting.shared(one.metric, models) for one in planned.chosen})
    filling = Filling(executor, store, models, Claims(store.blobs), seen, crew.limits, costs, rescore)
    return Context(planned, home, store, models, progress, Memo(out / "statistics"), draws, filling, seen, rescore,
                   examples)


def _earlier(out: Path) -> list[Timing]:
    """What the last run under `out` has measured."""
    try:
        return [Timing(**row) for row in json.loads((out / "report" / "timings.json").read_bytes())]
    except (OSError, ValueError, TypeError):
        return []


def state(context: Context, dataset: Dataset, chosen: Chosen) -> str:
    """What a run would do with a cell."""
    try:
        key = composites.key(chosen.metric, dataset, context.models)
    except MissingResource as error:
        return f"skip: {error}"
    if lacking := composites.unmet(chosen.metric, dataset):
        return f"skip: no item has {lacking}"
    return "scored before" if context.store.has(dataset.fingerprint, key) else "to be scored"
