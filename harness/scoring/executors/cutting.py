"""From a plan to tasks: which cells are to be scored, cut into parts, those that share a model together, longest first.

What a metric takes per item is known from earlier runs (`report/timings.json`), else guessed from the others. A part is
cut so that its task takes about a minute; what an earlier run has left of a cell is taken as it was cut then.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median

from benchmarks.dataset import Dataset
from harness.results.rows import Timing
from harness.scoring import composites
from harness.scoring.executors.tasks import Task
from harness.scoring.store import ScoreStore, Span
from metrics.composition import Composite
from metrics.errors import MissingResource
from metrics.metric import Metric, checkpoints, options, signature
from metrics.models.service import Models
from metrics.registry import Chosen

TARGET = 60.0
"""Seconds that a task should take."""

SMALLEST, LARGEST = 64, 16_384
"""Items of a part, at least and at most."""

UNKNOWN = {False: 0.0005, True: 0.02}
"""Seconds an item where nothing was ever measured: of a metric without a model, and of one with."""


@dataclass(frozen=True, slots=True)
class Cell:
    """A metric over a dataset, to be scored: what it is kept by, what it shares, and what it costs."""

    dataset: str
    fingerprint: str
    items: tuple[str, ...]
    asked: str
    label: str
    signature: str
    group: str
    whole: bool
    cost: float
    """Seconds an item."""


def cells(dataset: Dataset, chosen: Sequence[Chosen], models: Models, store: ScoreStore,
          costs: Mapping[str, float], *, rescore: bool = False) -> Iterator[Cell]:
    """What is to be scored on a dataset: what is asked for, and what compositions are made of; each once."""
    items = tuple(item.id for item in dataset.items)
    kept = store.kept(dataset.fingerprint)
    seen: set[str] = set()
    for one in singles(chosen):
        try:
            key = signature(one.metric, models)
        except MissingResource:
            continue
        there = not rescore and kept(key)
        if key in seen or there or composites.unmet(one.metric, dataset):
            continue
        seen.add(key)
        group = shared(one.metric, models)
        cost = costs.get(one.label) or costs.get(group) or UNKNOWN[bool(group)]
        yield Cell(dataset.card.name, dataset.fingerprint, items, one.asked, one.label, key, group,
                   one.metric.card.scope == "dataset", cost)


def singles(chosen: Iterable[Chosen]) -> Iterator[Chosen]:
    """The metrics that are scored, with those that compositions are made of in their place."""
    for one in chosen:
        if isinstance(one.metric, Composite):
            yield from singles(part.chosen for part in one.metric.made_of())
        else:
            yield one


def shared(metric: Metric, models: Models) -> str:
    """The models that a metric reads, as one line; empty where it reads none, or what it reads is not here."""
    read = {kind: options(metric)[kind] for kind in metric.card.models}
    if not read and checkpoints(metric):
        read = {"encoder": getattr(metric, "encoder", "")}
    try:
        return "|".join(f"{kind}={models.identity(kind, name)}" for kind, name in read.items())
    except MissingResource:
        return ""


def costs(timings: Iterable[Timing], groups: Mapping[str, str]) -> dict[str, float]:
    """Seconds an item by metric, as earlier runs took, and by group the median of its metrics."""
    seconds: dict[str, float] = defaultdict(float)
    items: dict[str, int] = defaultdict(int)
    for row in timings:
        seconds[row.metric] += row.seconds
        items[row.metric] += row.items
    found = {metric: seconds[metric] / items[metric] for metric in seconds if items[metric]}
    members: dict[str, list[float]] = defaultdict(list)
    for metric, cost in found.items():
        if groups.get(metric):
            members[groups[metric]].append(cost)
    return found | {group: median(values) for group, values in members.items()}


def tasks(found: Iterable[Cell], store: ScoreStore) -> list[Task]:
    """The tasks of these cells, longest first."""
    groups: dict[tuple[str, str], list[Cell]] = defaultdict(list)
    for cell in found:
        own = cell.group or f"alone:{cell.label}"  # without a model there is nothing to share, and more to spread
        groups[cell.dataset, own].append(cell)
    made = [task for (dataset, group), members in groups.items() for task in _of_group(dataset, group, members, store)]
    return sorted(made, key=lambda task: (-task.seconds, task.dataset, task.group, task.span))


def _of_group(dataset: str, group: str, members: Sequence[Cell], store: ScoreStore) -> Iterator[Task]:
    size = _size(sum(cell.cost for cell in members if not cell.whole))
    together: dict[Span, list[Cell]] = defaultdict(list)
    for cell in members:
        for span in _open(cell, store):
            for part in [span] if cell.whole else _cut(span, size):
                together[part].append(cell)
    for span, some in together.items():
        seconds = sum(cell.cost for cell in some) * (span[1] - span[0])
        yield Task(dataset, span, tuple(cell.asked for cell in some), group, seconds)


def _open(cell: Cell, store: ScoreStore) -> Iterator[Span]:
    """What no part of a cell covers yet; all of one that is scored whole."""
    start = 0
    for span in () if cell.whole else store.parts(cell.fingerprint, cell.signature):
        if start < span[0]:
            yield start, span[0]
        start = span[1]
    if start < len(cell.items):
        yield start, len(cell.items)


def _cut(span: Span, size: int) -> Iterator[Span]:
    """A span along the grid of a size, so that two metrics are cut at the same items."""
    start = span[0]
    while start < span[1]:
        stop = min(span[1], (start // size + 1) * size)
        yield start, stop
        start = stop


def _size(cost: float) -> int:
    """Items of a part: a power of two, so that grids of two sizes fit."""
    size = SMALLEST
    while size < LARGEST and 2 * size * cost <= TARGET:
        size *= 2
    return size

