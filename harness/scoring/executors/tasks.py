"""From pairs to tasks: pairs that share a model are cut into parts together; and the tasks that wait for a worker.

A part is cut so that its task takes about a minute. What an earlier run has left of a pair is kept as it was cut.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from harness.scoring.executors.messages import Task
from harness.scoring.pairs import Pair
from harness.scoring.store import ScoreStore, Span, cut

TARGET = 60.0
"""Seconds that a task should take."""

SMALLEST, LARGEST = 64, 16_384
"""Items of a part, at least and at most."""


def tasks(pairs: Iterable[Pair], store: ScoreStore) -> list[Task]:
    """The tasks of these pairs, longest first."""
    groups: dict[tuple[str, str], list[Pair]] = defaultdict(list)
    for pair in pairs:
        own = pair.group or f"alone:{pair.label}"  # without a model there is nothing to share, and more to spread
        groups[pair.dataset, own].append(pair)
    made = [task for (dataset, group), members in groups.items() for task in _of_group(dataset, group, members, store)]
    return sorted(made, key=lambda task: (-task.seconds, task.dataset, task.group, task.span))


def _of_group(dataset: str, group: str, members: Sequence[Pair], store: ScoreStore) -> Iterator[Task]:
    size = _size(sum(pair.cost for pair in members if not pair.whole))
    together: dict[Span, list[Pair]] = defaultdict(list)
    for pair in members:
        if pair.whole:
            together[0, len(pair.items)].append(pair)
            continue
        for gap in store.gaps(*pair.key, len(pair.items)):
            for part in cut(gap, size):
                together[part].append(pair)
    for span, some in together.items():
        seconds = sum(pair.cost for pair in some) * (span[1] - span[0])
        yield Task(dataset, span, tuple(pair.metric for pair in some), group, seconds)


def _size(cost: float) -> int:
    """Items of a part: a power of two, so that grids of two sizes fit."""
    size = SMALLEST
    while size < LARGEST and 2 * size * cost <= TARGET:
        size *= 2
    return size


@dataclass(slots=True)
class Queue:
    """Waiting tasks, longest first, by group and dataset: taking one costs the same however many there are."""

    _waiting: dict[tuple[str, str], deque[Task]] = field(default_factory=dict)
    _datasets: dict[str, dict[str, None]] = field(default_factory=dict)
    """The datasets for which tasks of a group wait."""

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, tasks: Iterable[Task], *, first: bool = False) -> None:
        """Let tasks wait, behind those of their group and dataset or before them."""
        for task in tasks:
            waiting = self._waiting.setdefault((task.group, task.dataset), deque())
            (waiting.appendleft if first else waiting.append)(task)
            self._datasets.setdefault(task.group, {})[task.dataset] = None

    def take(self, last: Task | None, allowed: Callable[[Task], bool]) -> Task | None:
        """The next task of a worker that did `last`: one of the same models and data, else of the models, else any."""
        for key in self._nearest(last):
            for place, task in enumerate(self._waiting[key]):
                if allowed(task):
                    self._remove(key, place)
                    return task
        return None

    def _nearest(self, last: Task | None) -> Iterator[tuple[str, str]]:
        """Groups and datasets with waiting tasks, those that cost least to change to first."""
        if last is not None:
            own = self._datasets.get(last.group, {})
            if last.dataset in own:
                yield last.group, last.dataset
            yield from ((last.group, dataset) for dataset in own if dataset != last.dataset)
        yield from (key for key in self._waiting if last is None or key[0] != last.group)

    def _remove(self, key: tuple[str, str], place: int) -> None:
        waiting = self._waiting[key]
        del waiting[place]
        if not waiting:
            del self._waiting[key]
            del self._datasets[key[0]][key[1]]
            if not self._datasets[key[0]]:
                del self._datasets[key[0]]
