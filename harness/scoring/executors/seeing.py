"""Seeing a run at work: a line that renews itself on a terminal, plain lines elsewhere, and everything that happens as
JSON lines, of which `tracing.py` makes a trace.

    {"at": 3.2, "event": "part", "worker": 0, "dataset": ..., "metric": ..., "items": [0, 64], "seconds": 1.5, ...}
    {"at": 4.0, "event": "stage", "stage": "measuring", "dataset": ..., "seconds": 0.8}
    {"at": 4.1, "event": "note", "text": ...}

`at` is in seconds since the run began, and of what took time the moment at which it ended.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from harness.run.redaction import redacted
from harness.scoring.executors.tasks import Task
from harness.scoring.progress import Progress

SCORING = "scoring"
"""The stage in which the crew is at work."""

EVERY, LIVE = 10.0, 0.5
"""Seconds between two plain lines, and between two looks of the line on a terminal."""

FIRST = 5
"""As many metrics are named in the summary, those that took longest."""


@dataclass(slots=True)
class Seen:
    """What a run does, shown while the context lasts, and written to `logs` as it happens."""

    progress: Progress
    logs: tuple[Path, ...] = ()
    every: float = EVERY
    started: float = field(default_factory=time.monotonic)
    metrics: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    """Seconds that workers were at each metric, what was lost included."""
    stages: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    """Seconds that the run was in each stage."""
    parts: Counter[str] = field(default_factory=Counter)
    """How many parts came to which end."""
    workers: set[int] = field(default_factory=set)
    planned_parts: int = 0
    planned_seconds: float = 0.0
    done_seconds: float = 0.0
    items: int = 0
    place: str = ""
    """Which of the datasets it is at, where they come one by one."""
    _stage: tuple[str, str, float] = ("", "", 0.0)
    _over: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Self:
        threading.Thread(target=self._keep_showing, daemon=True).start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._over.set()
        self.progress.show("")

    def began(self, command: str) -> None:
        """A run begins; a log that cannot be written is known before anything is done."""
        self._logged({"event": "run", "command": command, "time": time.strftime("%Y-%m-%dT%H:%M:%S%z")})

    def planned(self, tasks: Sequence[Task]) -> None:
        """So many parts are to be scored."""
        self.planned_parts += sum(len(task.metrics) for task in tasks)
        self.planned_seconds += sum(task.seconds for task in tasks)

    def done(self, worker: int, task: Task, metric: str, start: float, end: float, told: str) -> None:
        """A part has come to its end."""
        self.workers.add(worker)
        self.metrics[metric] += end - start
        self.parts[told] += 1
        if told != "lost":
            self.done_seconds += task.seconds / len(task.metrics)
        if told == "scored":
            self.items += task.span[1] - task.span[0]
        self._logged({"event": "part", "worker": worker, "dataset": task.dataset, "metric": metric,
                      "items": list(task.span), "seconds": round(end - start, 6), "told": told}, end)

    @contextlib.contextmanager
    def stage(self, name: str, dataset: str = "") -> Iterator[None]:
        """What the run itself is at."""
        before, start = self._stage, time.monotonic()
        self._stage = (name, dataset, start)
        try:
            yield
        finally:
            end = time.monotonic()
            self._stage = before
            self.stages[name] += end - start
            self._logged({"event": "stage", "stage": name, "dataset": dataset, "seconds": round(end - start, 6)}, end)

    def say(self, text: str) -> None:
        """Something that a reader should know."""
        self.progress.line(text)
        self._logged({"event": "note", "text": redacted(text)})

    def line(self) -> str:
        """What the run is at, how fast it goes and how long it will take."""
        name, dataset, start = self._stage
        if name != SCORING:
            return f"{name} {dataset}".strip()
        took = self.stages[SCORING] + time.monotonic() - start
        ended = self.parts.total() - self.parts["lost"]
        text = f"{ended}/{self.planned_parts} parts  {self.items / max(took, 1e-9):,.0f} items/s"
        if self.done_seconds:
            left = took * (self.planned_seconds - self.done_seconds) / self.done_seconds
            text += f"  about {span(left)} left" + " of this dataset" * bool(dataset)
        return text + (f"  {dataset}{self.place}" if dataset else "")

    def summary(self) -> str:
        """Where the time went, by stage and by metric."""
        took = time.monotonic() - self.started
        text = f"time: {span(took)} in all; {_listed(self.stages, len(self.stages))}"
        if self.metrics:
            by = f" by {len(self.workers)} workers" if len(self.workers) > 1 else ""
            text += f"\nscoring{by}: {_listed(self.metrics, FIRST)}"
        return text

    def _keep_showing(self) -> None:
        while not self._over.wait(LIVE if self.progress.live else self.every):
            if text := self.line():
                told = f"{span(time.monotonic() - self.started)}  {text}"
                (self.progress.show if self.progress.live else self.progress.line)(told)

    def _logged(self, event: Mapping[str, Any], moment: float | None = None) -> None:
        at = round((moment or time.monotonic()) - self.started, 6)
        line = json.dumps({"at": at, **event}, ensure_ascii=False) + "\n"
        for path in self.logs:
            try:
                with path.open("a", encoding="utf-8", errors="backslashreplace") as stream:
                    stream.write(line)
            except OSError as error:  # a full disk does not say which file it was
                raise OSError(error.errno, error.strerror, str(path)) from error


def span(seconds: float) -> str:
    """A time as one reads it: 0.04 s, 1.4 s, 1:05, 2:00:00."""
    if seconds < 10:
        return f"{max(seconds, 0):.{1 if seconds >= 1 else 2}f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _listed(seconds: Mapping[str, float], most: int) -> str:
    """The longest first, the others as one."""
    rows = sorted(seconds.items(), key=lambda row: (-row[1], row[0]))
    told = [f"{name} {span(took)}" for name, took in rows[:most]]
    if rows[most:]:
        told.append(f"{len(rows) - most} others {span(sum(took for _, took in rows[most:]))}")
    return ", ".join(told)
