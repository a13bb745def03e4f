"""Progress of a run: a live line on a terminal, plain lines elsewhere, and all events as JSON lines.

    {"at": 3.2, "event": "part", "worker": 0, "dataset": ..., "metric": ..., "items": [0, 64], "seconds": 1.5, ...}
    {"at": 4.0, "event": "stage", "stage": "correlating", "dataset": ..., "seconds": 0.8}
    {"at": 4.1, "event": "note", "text": ...}

`at` is the end of an event, in seconds since the run began.
"""

from __future__ import annotations

import contextlib
import json
import shutil
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from benchmarks.dataset import Dataset
from benchmarks.redaction import redacted
from harness.scoring import costs
from harness.scoring.store import Span
from metrics.models.counters import COUNTERS

LOG = "log.jsonl"
SCORING = "scoring"
LINE_SECONDS, LIVE_SECONDS = 10.0, 0.5
"""Seconds between plain lines, and between updates of the live line."""
MAX_LISTED = 5
"""Number of metrics named in the summary."""
PRIOR_SECONDS = 20.0
"""Weight, in seconds, of the assumption that this run is as fast as earlier ones; loading models takes time first."""
Part = tuple[str, str, Span]
"""The name of a dataset, the label of a metric, and the span of items."""


class Progress:
    """A live line on a terminal, and permanent lines."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stderr
        self.live = self.stream.isatty()

    def show(self, text: str) -> None:
        """Update the live line, if there is a terminal."""
        if self.live:
            self.stream.write("\r\x1b[K" + text[:shutil.get_terminal_size().columns - 1])
            self.stream.flush()

    def line(self, text: str) -> None:
        """Print a permanent line."""
        self.show("")
        self.stream.write(redacted(text) + "\n")
        self.stream.flush()


@dataclass(slots=True)
class RunProgress:
    """The progress of a run, displayed while a stage lasts; every event is appended to `log` as it happens.

    `costs` come from earlier runs; a metric without one has the cost of its first part. `done` has the seconds that
    these costs predict for the scored parts. `measured` has the seconds and the size scored per metric.
    """

    log: Path | None = None
    terminal: Progress = field(default_factory=Progress)
    started: float = field(default_factory=time.monotonic)
    workers: int = 1
    scored: int = 0
    lacking: int = 0  # pairs of metric and dataset for which a resource turned out to be missing
    position: str = ""  # such as " (2 of 5)" for the second of five datasets
    metrics: dict[str, float] = field(default_factory=lambda: defaultdict(float))  # seconds, including lost parts
    stages: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    items: int = 0
    planned: int = 0
    waiting: set[Part] = field(default_factory=set)
    done: float = 0.0
    measured: dict[str, tuple[float, float]] = field(default_factory=dict)
    costs: dict[str, float] = field(default_factory=dict)
    sizes: dict[str, float] = field(default_factory=dict)  # the mean size of an item of each dataset
    running: Part | None = None  # the part that this process is scoring
    _stage: tuple[str, str, float] = ("", "", 0.0)
    _tokens: int = field(default_factory=lambda: COUNTERS.tokens)

    def began(self, command: str) -> None:
        """Log the start of a run; raise OSError if the log cannot be written."""
        if self.log:
            self.log.parent.mkdir(parents=True, exist_ok=True)
        self._log({"event": "run", "command": command, "time": time.strftime("%Y-%m-%dT%H:%M:%S%z")})

    def plan(self, part: Part) -> None:
        """Add a part, unless it was added before."""
        self.planned += part not in self.waiting
        self.waiting.add(part)

    def part_began(self, part: Part) -> None:
        COUNTERS.restart()
        self.running = part

    def part_ended(self, part: Part, seconds: float, outcome: str, worker: int = 0, *, measured: bool = True) -> None:
        """Record the end of a part; the outcome is scored, refused, crashed or lost."""
        dataset, metric, (first, last) = part
        self.metrics[metric] += seconds
        self.running = None
        if outcome != "lost":
            self.waiting.discard(part)
        if outcome == "scored":
            self.items += last - first
            self.done += self.costs.setdefault(metric, seconds / self._size(part)) * self._size(part)
        if outcome == "scored" and measured:
            took, size = self.measured.get(metric, (0.0, 0.0))
            self.measured[metric] = took + seconds, size + self._size(part)
        self._log({"event": "part", "worker": worker, "dataset": dataset, "metric": metric, "items": [first, last],
                   "seconds": round(seconds, 6), "outcome": outcome})

    def size(self, dataset: Dataset) -> float:
        """Return the mean size of an item of a dataset."""
        name = dataset.card.name
        if name not in self.sizes:
            self.sizes[name] = costs.size(dataset)
        return self.sizes[name]

    def new_costs(self) -> dict[str, float]:
        """Return the cost of each metric in this run."""
        return {metric: seconds / size for metric, (seconds, size) in self.measured.items()}

    @contextlib.contextmanager
    def stage(self, name: str, dataset: str = "") -> Iterator[None]:
        """Display the name of a stage during the block, and log its time."""
        outer, start = self._stage, time.monotonic()
        self._stage = (name, dataset, start)
        display = repeated(self._show, LIVE_SECONDS if self.terminal.live else LINE_SECONDS)
        try:
            with contextlib.nullcontext() if outer[0] else display:
                yield
        finally:
            self._stage = outer
            self.terminal.show("")
            seconds = time.monotonic() - start
            self.stages[name] += seconds
            self._log({"event": "stage", "stage": name, "dataset": dataset, "seconds": round(seconds, 6)})

    def say(self, text: str, reason: str = "") -> None:
        """Print and log a message for the user; the reason is only logged."""
        self.terminal.line(text)
        self._log({"event": "note", "text": redacted("\n".join(filter(None, (text, reason))))})

    def line(self) -> str:
        """Return the elapsed time, the stage, the parts scored, the speed and the time left."""
        from tqdm import tqdm

        name, dataset, start = self._stage
        text = f"{name} {dataset}{self.position if dataset else ''}".rstrip()
        if self.planned:
            text += f"  {self.planned - len(self.waiting)}/{self.planned} parts"
        if name == SCORING:
            spent, tokens = self.stages[SCORING] + time.monotonic() - start, COUNTERS.tokens - self._tokens
            text += f"  {(tokens or self.items) / max(spent, 1e-9):,.0f} {'tokens' if tokens else 'items'}/s"
        done, left = self._expected()
        elapsed = time.monotonic() - self.started
        speed = (done + PRIOR_SECONDS) / (elapsed + PRIOR_SECONDS)
        return str(tqdm.format_meter(
            done, done + left, elapsed, prefix=text, rate=speed,
            bar_format="{elapsed}  {desc}" + "  {remaining} left" * (left > speed)))

    def _expected(self) -> tuple[float, float]:
        """Return the expected seconds of what is scored and of what is left, both 0 if a metric's cost is unknown."""
        waiting = {part: self.costs.get(part[1], 0.0) * self._size(part) for part in list(self.waiting)}
        if not all(waiting.values()):
            return 0.0, 0.0
        begun = COUNTERS.fraction_done * waiting.get(self.running, 0.0) if self.running else 0.0
        return self.done + begun, sum(waiting.values()) - begun

    def _size(self, part: Part) -> float:
        dataset, _, (first, last) = part
        return (last - first) * self.sizes.get(dataset, 1.0)

    def summary(self) -> str:
        """Return the time by stage and by metric."""
        took = time.monotonic() - self.started
        text = f"time: {duration(took)} in all; {_format_times(self.stages, len(self.stages))}"
        if self.metrics:
            workers = f" by {self.workers} workers" if self.workers > 1 else ""
            text += f"\nscoring{workers}: {_format_times(self.metrics, MAX_LISTED)}"
        return text

    def _show(self) -> None:
        display = self.terminal.show if self.terminal.live else self.terminal.line
        display(self.line())

    def _log(self, event: Mapping[str, Any]) -> None:
        if self.log is None:
            return
        at = round(time.monotonic() - self.started, 6)
        try:
            with self.log.open("a", encoding="utf-8", errors="backslashreplace") as stream:
                stream.write(json.dumps({"at": at, **event}, ensure_ascii=False) + "\n")
        except OSError as error:  # the error of a full disk does not name the file
            raise OSError(error.errno, error.strerror, str(self.log)) from error


@contextlib.contextmanager
def repeated(function: Callable[[], None], seconds: float) -> Iterator[None]:
    """Call a function every few seconds during the block."""
    stopped = threading.Event()

    def loop() -> None:
        while not stopped.wait(seconds):
            function()

    thread = threading.Thread(target=loop, daemon=True)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


def duration(seconds: float) -> str:
    """Format a duration: 0.04 s, 1.4 s, 1:05, 2:00:00."""
    if seconds < 10:
        return f"{max(seconds, 0):.{1 if seconds >= 1 else 2}f} s"
    minutes, remaining_seconds = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{remaining_seconds:02}" if hours else f"{minutes}:{remaining_seconds:02}"


def _format_times(seconds: Mapping[str, float], maximum: int) -> str:
    """List the longest times first, and the sum of the others."""
    rows = sorted(seconds.items(), key=lambda row: (-row[1], row[0]))
    texts = [f"{name} {duration(took)}" for name, took in rows[:maximum]]
    if rows[maximum:]:
        texts.append(f"{len(rows) - maximum} others {duration(sum(took for _, took in rows[maximum:]))}")
    return ", ".join(texts)
