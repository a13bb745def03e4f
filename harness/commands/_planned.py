"""The plan printed by `harness run --dry-run`: the state, parts and estimated time of each metric on each dataset."""

from __future__ import annotations

from collections.abc import Iterator

from benchmarks.dataset import Dataset
from benchmarks.errors import BadStore
from harness.run.plan import Plan, load
from harness.run.run import to_score
from harness.run.workspace import Workspace
from harness.scoring import composites
from harness.scoring.executors.tasks import tasks
from harness.scoring.progress import duration
from metrics.composition import Composite
from metrics.errors import MissingResource
from metrics.registry import Chosen


def lines(plan: Plan, work: Workspace) -> Iterator[str]:
    """Describe the plan, dataset by dataset, and its totals."""
    parts, cuts, seconds, unmeasured = 0, 0, 0.0, dict[str, None]()
    for card in plan.cards:
        try:
            dataset = load(card, work.home, plan.selection)
        except BadStore as error:
            yield str(error)
            continue
        if dataset is None:
            continue
        yield (f"{card.name}: {len(dataset.items)} items, {dataset.origin}, "
               f"{len(plan.qualities(card))} qualities, {card.level} level")
        planned = to_score(plan, work, dataset)
        cut, states = tasks(planned, work.store), {}
        for pair in planned:
            of_pair = [task for task in cut if pair.metric in task.metrics]
            took = pair.cost * sum(task.span[1] - task.span[0] for task in of_pair)
            known = pair.label in work.costs or pair.group in work.costs
            estimate = f"about {duration(took)}" if known else "not measured"
            states[pair.signature] = (pair.label, f" in {_count(len(of_pair), 'part')}, {estimate}")
            parts, seconds = parts + len(of_pair), seconds + took * known
            unmeasured |= {} if known else {pair.label: None}
        cuts += len(cut)
        for chosen in plan.chosen:
            key, state = _state(plan, work, dataset, chosen)
            yield f"  {chosen.label:<24} {state}{states.pop(key, ('', ''))[1]}"
        for label, how in states.values():
            yield f"  {label:<24} to be scored{how}, as an input"
    workers = work.executor.workers if work.executor else 1
    yield f"in all: {_count(parts, 'part')} in {_count(cuts, 'task')}, {_count(workers, 'worker')}"
    if unmeasured:
        yield f"not measured by an earlier run here: {', '.join(unmeasured)}"
    if seconds:
        by = f", about {duration(seconds / workers)} by {workers} workers" if workers > 1 else ""
        more = ", plus metrics without an estimate" if unmeasured else ""
        yield f"estimated in all: {duration(seconds)}{by}{more}"


def _state(plan: Plan, work: Workspace, dataset: Dataset, chosen: Chosen) -> tuple[str, str]:
    """Return the storage key of the scores, and what a run would do."""
    try:
        key = composites.key(chosen.metric, dataset, work.models)
    except MissingResource as error:
        return "", f"skip: {error}"
    if lacking := composites.unmet(chosen.metric, dataset):
        return key, f"skip: no item has {lacking}"
    if chosen.label in plan.reused.scores(dataset):
        return key, f"from the bundle {plan.reused.name}"
    if work.store.has(dataset.fingerprint, key) and not plan.rescore:
        return key, "scored before"
    return key, "to be scored" + ", from the scores of its inputs" * isinstance(chosen.metric, Composite)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"
