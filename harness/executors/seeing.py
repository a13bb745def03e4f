"""Seeing a run at work: a line that renews itself on a terminal, plain lines elsewhere, and a trace of all of it."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.files import write_atomically
from harness.executors.tasks import Task
from harness.progress import Progress

EVERY = 10.0
"""Seconds between two plain lines."""


@dataclass(frozen=True, slots=True)
class Part:
    """A part that a worker was at, in seconds since the run began."""

    worker: int
    dataset: str
    metric: str
    span: tuple[int, int]
    start: float
    end: float
    told: str


@dataclass(slots=True)
class Seen:
    """What a crew does, shown and remembered."""

    progress: Progress
    log: Path | None = None
    started: float = field(default_factory=time.monotonic)
    parts: list[Part] = field(default_factory=list)
    planned_seconds: float = 0.0
    done_seconds: float = 0.0
    planned_parts: int = 0
    _line: float = 0.0

    def planned(self, tasks: Sequence[Task]) -> None:
        """So many parts are to be scored."""
        self.planned_parts += sum(len(task.metrics) for task in tasks)
        self.planned_seconds += sum(task.seconds for task in tasks)

    def done(self, worker: int, task: Task, metric: str, start: float, end: float, told: str) -> None:
        """A part has come to its end."""
        part = Part(worker, task.dataset, metric, task.span, start - self.started, end - self.started, told)
        self.parts.append(part)
        if told != "lost":
            self.done_seconds += task.seconds / len(task.metrics)
        self._logged({"event": "part", "worker": worker, "dataset": task.dataset, "metric": metric,
                      "items": list(task.span), "seconds": round(end - start, 6), "told": told})
        self._shown(part)

    def say(self, text: str) -> None:
        """Something that a reader should know."""
        self.progress.line(text)
        self._logged({"event": "note", "text": text})

    def seconds(self) -> dict[str, float]:
        """The time that went into each metric."""
        found: dict[str, float] = defaultdict(float)
        for part in self.parts:
            found[part.metric] += part.end - part.start
        return dict(sorted(found.items(), key=lambda entry: -entry[1]))

    def _shown(self, part: Part) -> None:
        ended = sum(one.told != "lost" for one in self.parts)
        took = time.monotonic() - self.started
        items = sum(one.span[1] - one.span[0] for one in self.parts if one.told == "scored")
        text = f"{ended}/{self.planned_parts} parts  {items / max(took, 1e-9):,.0f} items/s"
        if self.done_seconds:
            left = took * (self.planned_seconds - self.done_seconds) / self.done_seconds
            text += f"  about {_span(left)} left"
        if self.progress.live:
            self.progress.show(f"{text}  {part.dataset} {part.metric}")
        elif took - self._line >= EVERY:
            self._line = took
            self.progress.line(f"{_span(took)}  {text}")

    def _logged(self, event: dict[str, Any]) -> None:
        if self.log is not None:
            with self.log.open("a", encoding="utf-8") as stream:
                stream.write(json.dumps({"at": round(time.monotonic() - self.started, 3), **event}) + "\n")


def write_trace(parts: Sequence[Part], path: Path) -> None:
    """The parts as a trace that chrome://tracing and Perfetto show: a row for each worker."""
    events = [{"name": part.metric, "cat": part.told, "ph": "X", "pid": 1, "tid": part.worker,
               "ts": round(part.start * 1e6), "dur": max(1, round((part.end - part.start) * 1e6)),
               "args": {"dataset": part.dataset, "items": f"{part.span[0]} to {part.span[1] - 1}", "told": part.told}}
              for part in parts]
    named = [{"name": "thread_name", "ph": "M", "pid": 1, "tid": worker, "args": {"name": f"worker {worker}"}}
             for worker in sorted({part.worker for part in parts})]
    write_atomically(path, (json.dumps({"traceEvents": [*named, *events]}, indent=0) + "\n").encode())


def _span(seconds: float) -> str:
    minutes, rest = divmod(round(max(seconds, 0)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
