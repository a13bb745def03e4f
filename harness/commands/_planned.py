"""What `harness run --dry-run` prints: the pairs, the parts they are cut into, who shares a model, what it takes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from benchmarks.dataset import Dataset
from benchmarks.errors import BadStore
from harness.run.plan import Plan, load
from harness.run.workspace import Workspace
from harness.scoring import composites
from harness.scoring.executors.tasks import Task, tasks
from harness.scoring.pairs import Pair, pairs
from harness.scoring.progress import duration
from metrics.composition import Composite
from metrics.errors import MissingResource
from metrics.registry import Chosen


@dataclass(slots=True)
class _Sum:
    """What is to be done on all datasets together."""

    tasks: list[Task] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    unmeasured: dict[str, None] = field(default_factory=dict)
    groups: dict[str, dict[str, None]] = field(default_factory=lambda: defaultdict(dict))


def lines(plan: Plan, work: Workspace) -> Iterator[str]:
    """The plan, dataset by dataset, and its sum."""
    total = _Sum()
    for card in plan.cards:
        try:
            dataset = load(card, work.home, plan.selection)
        except BadStore as error:
            yield str(error)
            continue
        if dataset is not None:
            yield (f"{card.name}: {len(dataset.items)} items, {dataset.origin}, "
                   f"{len(plan.qualities(card))} qualities, {card.level} level")
            yield from _dataset(plan, work, dataset, total)
    yield from _summed(work.executor.workers if work.executor else 1, total)


def _dataset(plan: Plan, work: Workspace, dataset: Dataset, total: _Sum) -> Iterator[str]:
    planned = pairs(dataset, plan.chosen, work.models, work.store, work.costs, rescore=plan.rescore)
    cut = tasks(planned, work.store)
    total.tasks += cut
    to_score = {pair.signature: (pair.label, _pair(work, pair, cut, total)) for pair in planned}
    for chosen in plan.chosen:
        key, state = _state(plan, work, dataset, chosen)
        yield f"  {chosen.label:<24} {state}{to_score.pop(key, ('', ''))[1]}"
    for label, parts in to_score.values():
        yield f"  {label:<24} to be scored{parts}, for a composition"


def _state(plan: Plan, work: Workspace, dataset: Dataset, chosen: Chosen) -> tuple[str, str]:
    """What scores are stored by, and what a run would do with a metric on a dataset."""
    try:
        key = composites.key(chosen.metric, dataset, work.models)
    except MissingResource as error:
        return "", f"skip: {error}"
    if lacking := composites.unmet(chosen.metric, dataset):
        return key, f"skip: no item has {lacking}"
    if work.store.has(dataset.fingerprint, key) and not plan.rescore:
        return key, "scored before"
    return key, "to be scored" + ", made of the scores of others" * isinstance(chosen.metric, Composite)


def _pair(work: Workspace, pair: Pair, cut: Sequence[Task], total: _Sum) -> str:
    """Into how many parts a pair is cut, and how long they will take by what was measured before."""
    own = [task for task in cut if pair.metric in task.metrics]
    items = sum(task.span[1] - task.span[0] for task in own)
    parts = f" in {_count(len(own), 'part')}"
    if pair.group:
        total.groups[pair.group][pair.label] = None
    if pair.label not in work.costs and pair.group not in work.costs:
        total.unmeasured[pair.label] = None
        return f"{parts}, not measured"
    total.seconds[pair.label] += items * pair.cost
    by = "" if pair.label in work.costs else ", as others with its model"
    return f"{parts}, about {duration(items * pair.cost)}{by}"


def _summed(workers: int, total: _Sum) -> Iterator[str]:
    yield (f"in all: {_count(sum(len(task.metrics) for task in total.tasks), 'part')} in "
           f"{_count(len(total.tasks), 'task')}, {_count(workers, 'worker')}")
    for group, labels in total.groups.items():
        if len(labels) > 1:
            yield f"together, with {group}: {', '.join(labels)}"
    for label, seconds in sorted(total.seconds.items(), key=lambda row: -row[1]):
        yield f"estimated: {label} {duration(seconds)}"
    if total.unmeasured:
        yield f"not measured by an earlier run here: {', '.join(total.unmeasured)}"
    if total.seconds:
        took = sum(total.seconds.values())
        by = f", about {duration(took / workers)} by {workers} workers" if workers > 1 else ""
        rest = ", and what is not measured" * bool(total.unmeasured)
        yield f"estimated in all: {duration(took)} of scoring{by}{rest}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"
