"""What `harness run --dry-run` prints: the cells, the parts they are cut into, who shares a model, what it takes."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from benchmarks.errors import BadStore
from harness.run import plan
from harness.run.preparing import state
from harness.scoring import composites
from harness.scoring.executors import cutting
from harness.scoring.executors.seeing import span
from metrics.composition import Composite
from metrics.errors import MissingResource

if TYPE_CHECKING:
    from benchmarks.dataset import Dataset
    from harness.run.preparing import Context
    from harness.scoring.executors.cutting import Cell
    from harness.scoring.executors.tasks import Task
    from metrics.registry import Chosen


@dataclass(slots=True)
class _Sum:
    """What is to be done on all datasets together."""

    tasks: list[Task] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    unmeasured: dict[str, None] = field(default_factory=dict)
    groups: dict[str, dict[str, None]] = field(default_factory=lambda: defaultdict(dict))


def lines(context: Context) -> Iterator[str]:
    """The plan, dataset by dataset, and what it comes to."""
    total = _Sum()
    for card in context.plan.cards:
        try:
            dataset = plan.load(card, context.home, context.plan.selection)
        except BadStore as error:
            yield str(error)
            continue
        if dataset is not None:
            yield (f"{card.name}: {len(dataset.items)} items, {dataset.origin}, "
                   f"{len(context.plan.qualities(card))} qualities, {card.level} level")
            yield from _dataset(context, dataset, total)
    yield from _summed(context, total)


def _dataset(context: Context, dataset: Dataset, total: _Sum) -> Iterator[str]:
    cells = {cell.signature: cell for cell in context.filling.cells(dataset, context.plan.chosen)}
    tasks = cutting.tasks(cells.values(), context.store)
    total.tasks += tasks
    told = {key: _cell(context, cell, tasks, total) for key, cell in cells.items()}
    for chosen in context.plan.chosen:
        words, key = state(context, dataset, chosen), _key(context, dataset, chosen)
        if context.rescore and words == "scored before":
            words = "to be scored"
        if words.startswith("to be") and isinstance(chosen.metric, Composite):
            words += ", made of the scores of others"
        yield f"  {chosen.label:<24} {words}{told.pop(key, '')}"
    for key, more in told.items():
        yield f"  {cells[key].label:<24} to be scored{more}, for a composition"


def _key(context: Context, dataset: Dataset, chosen: Chosen) -> str:
    try:
        return composites.key(chosen.metric, dataset, context.models)
    except MissingResource:
        return ""


def _cell(context: Context, cell: Cell, tasks: Sequence[Task], total: _Sum) -> str:
    """Into how many parts a cell is cut, and how long they will take by what was measured before."""
    own = [task for task in tasks if cell.asked in task.metrics]
    items = sum(task.span[1] - task.span[0] for task in own)
    parts = f" in {_count(len(own), 'part')}"
    if cell.group:
        total.groups[cell.group][cell.label] = None
    if cell.label not in context.filling.costs and cell.group not in context.filling.costs:
        total.unmeasured[cell.label] = None
        return f"{parts}, not measured"
    total.seconds[cell.label] += items * cell.cost
    by = "" if cell.label in context.filling.costs else ", as others with its model"
    return f"{parts}, about {span(items * cell.cost)}{by}"


def _summed(context: Context, total: _Sum) -> Iterator[str]:
    workers = context.filling.executor.workers
    yield (f"in all: {_count(sum(len(task.metrics) for task in total.tasks), 'part')} in "
           f"{_count(len(total.tasks), 'task')}, {_count(workers, 'worker')}")
    for group, labels in total.groups.items():
        if len(labels) > 1:
            yield f"together, with {group}: {', '.join(labels)}"
    for label, seconds in sorted(total.seconds.items(), key=lambda row: -row[1]):
        yield f"estimated: {label} {span(seconds)}"
    if total.unmeasured:
        yield f"not measured by an earlier run here: {', '.join(total.unmeasured)}"
    if total.seconds:
        took = sum(total.seconds.values())
        by = f", about {span(took / workers)} by {workers} workers" if workers > 1 else ""
        yield f"estimated in all: {span(took)} of scoring{by}" + (", and what is not measured" * bool(total.unmeasured))


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'s' * (number != 1)}"
