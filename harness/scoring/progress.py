"""Progress: a line that renews itself on a terminal, plain lines elsewhere, and all events of a run as JSON lines.

    {"at": 3.2, "event": "part", "worker": 0, "dataset": ..., "metric": ..., "items": [0, 64], "seconds": 1.5, ...}
    {"at": 4.0, "event": "stage", "stage": "correlating", "dataset": ..., "seconds": 0.8}
    {"at": 4.1, "event": "note", "text": ...}

`at` is in seconds since the run began, and the moment at which an event ended.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
import threading
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self, TextIO

from harness.run.redaction import redacted
from harness.scoring.store import Span

LOG = "log.jsonl"
"""The events of the last run, in the folder of its results."""

SCORING = "scoring"

EVERY, LIVE = 10.0, 0.5
"""Seconds between two plain lines, and between two updates of the line on a terminal."""

FIRST = 5
"""How many metrics the summary names, those that took longest."""


class Progress:
    """Counts steps, and says which one is being done."""

    def __init__(self, total: int = 0, stream: TextIO | None = None) -> None:
        self.total, self.done = total, 0
        self.stream = stream or sys.stderr
        self.live = self.stream.isatty()
        self.start = time.monotonic()

    def at(self, dataset: str, metric: str) -> None:
        """Say what is being scored; on a terminal only."""
        filled = round(24 * self.done / max(self.total, 1))
        bar = "█" * filled + "·" * (24 - filled)
        self.show(f"{bar} {self.done}/{self.total} {time.monotonic() - self.start:.0f}s {dataset} {metric}")

    def show(self, text: str) -> None:
        """Renew the line; on a terminal only."""
        if self.live:
            self._renew(text)

    def advance(self) -> None:
        """Count one step as done."""
        self.done += 1

    def line(self, text: str) -> None:
        """Print a line that stays."""
        if self.live:
            self._renew("")
        self.stream.write(redacted(text) + "\n")
        self.stream.flush()

    def _renew(self, text: str) -> None:
        width = shutil.get_terminal_size().columns - 1
        self.stream.write("\r\x1b[K" + text[:width])
        self.stream.flush()


@dataclass(slots=True)
class RunProgress:
    """The progress of a run, displayed while the context lasts; every event is appended to `logs` as it happens."""

    logs: tuple[Path, ...] = ()
    terminal: Progress = field(default_factory=Progress)
    every: float = EVERY
    started: float = field(default_factory=time.monotonic)
    metrics: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    """Seconds that workers spent on each metric, lost parts included."""
    stages: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    """Seconds that the run spent in each stage."""
    parts: Counter[str] = field(default_factory=Counter)
    """How many parts ended in which way: scored, refused, crashed, lost."""
    workers: set[int] = field(default_factory=set)
    planned_parts: int = 0
    planned_seconds: float = 0.0
    done_seconds: float = 0.0
    items: int = 0
    scored: int = 0
    """How many pairs of metric and dataset have new scores."""
    lacking: int = 0
    """How many pairs lacked something only when they were scored; the next run looks for it again."""
    position: str = ""
    """Which of the datasets the run is at."""
    _stage: tuple[str, str, float] = ("", "", 0.0)
    _over: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Self:
        threading.Thread(target=self._keep_showing, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._over.set()
        self.terminal.show("")

    def began(self, command: str) -> None:
        """A run begins, and its log's folder is made; a log that cannot be written stops it here."""
        for path in self.logs[:1]:
            path.parent.mkdir(parents=True, exist_ok=True)
        self._log({"event": "run", "command": command, "time": time.strftime("%Y-%m-%dT%H:%M:%S%z")})

    def planned(self, parts: int, seconds: float) -> None:
        """So many parts are to be scored, estimated to take so long in all."""
        self.planned_parts += parts
        self.planned_seconds += seconds

    def part(self, dataset: str, metric: str, span: Span, start: float, end: float, outcome: str, *,
             worker: int = 0, estimate: float = 0.0) -> None:
        """A worker has ended a part, between these moments of the monotonic clock."""
        self.workers.add(worker)
        self.metrics[metric] += end - start
        self.parts[outcome] += 1
        if outcome != "lost":
            self.done_seconds += estimate
        if outcome == "scored":
            self.items += span[1] - span[0]
        self._log({"event": "part", "worker": worker, "dataset": dataset, "metric": metric, "items": list(span),
                   "seconds": round(end - start, 6), "outcome": outcome}, end)

    @contextlib.contextmanager
    def stage(self, name: str, dataset: str = "") -> Iterator[None]:
        """What the run itself is doing."""
        before, start = self._stage, time.monotonic()
        self._stage = (name, dataset, start)
        try:
            yield
        finally:
            end = time.monotonic()
            self._stage = before
            self.stages[name] += end - start
            self._log({"event": "stage", "stage": name, "dataset": dataset, "seconds": round(end - start, 6)}, end)

    def say(self, text: str) -> None:
        """Something that a reader should know."""
        self.terminal.line(text)
        self._log({"event": "note", "text": redacted(text)})

    def line(self) -> str:
        """What the run is doing, how fast it goes and how long it will take."""
        name, dataset, start = self._stage
        if name != SCORING:
            return f"{name} {dataset}".strip()
        took = self.stages[SCORING] + time.monotonic() - start
        ended = self.parts.total() - self.parts["lost"]
        text = f"{ended}/{self.planned_parts} parts  {self.items / max(took, 1e-9):,.0f} items/s"
        if self.done_seconds:
            left = took * (self.planned_seconds - self.done_seconds) / self.done_seconds
            text += f"  about {duration(left)} left" + " of this dataset" * bool(dataset)
        return text + (f"  {dataset}{self.position}" if dataset else "")

    def summary(self) -> str:
        """Where the time went, by stage and by metric."""
        took = time.monotonic() - self.started
        text = f"time: {duration(took)} in all; {_listed(self.stages, len(self.stages))}"
        if self.metrics:
            by = f" by {len(self.workers)} workers" if len(self.workers) > 1 else ""
            text += f"\nscoring{by}: {_listed(self.metrics, FIRST)}"
        return text

    def _keep_showing(self) -> None:
        while not self._over.wait(LIVE if self.terminal.live else self.every):
            if text := self.line():
                (self.terminal.show if self.terminal.live else self.terminal.line)(
                    f"{duration(time.monotonic() - self.started)}  {text}")

    def _log(self, event: Mapping[str, Any], moment: float | None = None) -> None:
        at = round((moment or time.monotonic()) - self.started, 6)
        line = json.dumps({"at": at, **event}, ensure_ascii=False) + "\n"
        for path in self.logs:
            try:
                with path.open("a", encoding="utf-8", errors="backslashreplace") as stream:
                    stream.write(line)
            except OSError as error:  # a full disk does not say which file it was
                raise OSError(error.errno, error.strerror, str(path)) from error


def duration(seconds: float) -> str:
    """A duration for people: 0.04 s, 1.4 s, 1:05, 2:00:00."""
    if seconds < 10:
        return f"{max(seconds, 0):.{1 if seconds >= 1 else 2}f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _listed(seconds: Mapping[str, float], most: int) -> str:
    """The longest first, the remaining ones as one."""
    rows = sorted(seconds.items(), key=lambda row: (-row[1], row[0]))
    texts = [f"{name} {duration(took)}" for name, took in rows[:most]]
    if rows[most:]:
        texts.append(f"{len(rows) - most} others {duration(sum(took for _, took in rows[most:]))}")
    return ", ".join(texts)
