"""What `harness run --dry-run` prints: each metric on each dataset, the parts it is cut into, and what it takes."""

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
    """The plan, dataset by dataset, and its sum."""
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
            own = [task for task in cut if pair.metric in task.metrics]
            took = pair.cost * sum(task.span[1] - task.span[0] for task in own)
            known = pair.label in work.costs or pair.group in work.costs
            states[pair.signature] = (
                pair.label, f" in {_count(len(own), 'part')}, {f'about {duration(took)}' if known else 'not measured'}")
            parts, seconds = parts + len(own), seconds + took * known
            unmeasured |= {} if known else {pair.label: None}
        cuts += len(cut)
        for chosen in plan.chosen:
            key, state = _state(plan, work, dataset, chosen)
            yield f"  {chosen.label:<24} {state}{states.pop(key, ('', ''))[1]}"
        for label, how in states.values():
            yield f"  {label:<24} to be scored{how}, for a composition"
    workers = work.executor.workers if work.executor else 1
    yield f"in all: {_count(parts, 'part')} in {_count(cuts, 'task')}, {_count(workers, 'worker')}"
    if unmeasured:
        yield f"not measured by an earlier run here: {', '.join(unmeasured)}"
    if seconds:
        by = f", about {duration(seconds / workers)} by {workers} workers" if workers > 1 else ""
        yield (f"estimated in all: {duration(seconds)} of scoring{by}"
               f"{', and what is not measured' * bool(unmeasured)}")


def _state(plan: Plan, work: Workspace, dataset: Dataset, chosen: Chosen) -> tuple[str, str]:
    """What scores are stored by, and what a run would do with a metric on a dataset."""
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
    return key, "to be scored" + ", made of the scores of others" * isinstance(chosen.metric, Composite)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"
