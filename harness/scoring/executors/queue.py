"""The tasks that wait, by what a worker must have loaded for them: taking one costs the same however many there are."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from harness.scoring.executors.tasks import Task

Key = tuple[str, str]
"""Group and dataset of a task: the models and the items that it needs."""


@dataclass(slots=True)
class Queue:
    """Tasks in the order in which they came, which is longest first."""

    _waiting: dict[Key, deque[Task]] = field(default_factory=dict)
    _datasets: dict[str, dict[str, None]] = field(default_factory=dict)
    """The datasets for which tasks of a group wait."""

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, tasks: Iterable[Task], *, first: bool = False) -> None:
        """Let tasks wait, behind those of their kind or before them."""
        for task in tasks:
            key = (task.group, task.dataset)
            waiting = self._waiting.setdefault(key, deque())
            (waiting.appendleft if first else waiting.append)(task)
            self._datasets.setdefault(task.group, {})[task.dataset] = None

    def take(self, last: Task | None, may: Callable[[Task], bool]) -> Task | None:
        """What a worker should do that did `last`: what it has models and data for, then models, else the longest."""
        for key in self._near(last):
            for place, task in enumerate(self._waiting[key]):
                if may(task):
                    self._remove(key, place)
                    return task
        return None

    def _near(self, last: Task | None) -> Iterator[Key]:
        """The kinds of tasks that wait, those that cost least to change to first."""
        if last is not None:
            own = self._datasets.get(last.group, {})
            if last.dataset in own:
                yield last.group, last.dataset
            yield from ((last.group, dataset) for dataset in own if dataset != last.dataset)
        yield from (key for key in self._waiting if last is None or key[0] != last.group)

    def _remove(self, key: Key, place: int) -> None:
        waiting = self._waiting[key]
        del waiting[place]
        if not waiting:
            del self._waiting[key]
            del self._datasets[key[0]][key[1]]
            if not self._datasets[key[0]]:
                del self._datasets[key[0]]
