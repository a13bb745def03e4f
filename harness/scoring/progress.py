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
from typing import Any, Self, TextIO

from benchmarks.redaction import redacted
from harness.scoring.store import Span
from metrics.models.reading import READING

LOG = "log.jsonl"
"""The events of the last run, in the folder of its results."""

SCORING = "scoring"

EVERY, LIVE = 10.0, 0.5
"""Seconds between plain lines, and between updates on a terminal."""

SLOWEST = 5
"""Metrics named by the summary."""

ENOUGH = 0.01
"""Share of a part that must be read before its time is estimated."""

Part = tuple[str, str, Span]
"""A dataset, a metric by its label, and the items."""


class Progress:
    """A live line on a terminal, and lines that stay."""

    def __init__(self, stream: TextIO | None = None) -> None:
        self.stream = stream or sys.stderr
        self.live = self.stream.isatty()

    def show(self, text: str) -> None:
        """Update the live line; nothing without a terminal."""
        if self.live:
            self.stream.write("\r\x1b[K" + text[:shutil.get_terminal_size().columns - 1])
            self.stream.flush()

    def line(self, text: str) -> None:
        """Print a line that stays."""
        self.show("")
        self.stream.write(redacted(text) + "\n")
        self.stream.flush()


@dataclass(slots=True)
class RunProgress:
    """The progress of a run, displayed while the context lasts; every event is appended to `log` as it happens.

    `lacking` counts pairs of metric and dataset that turned out to lack a resource while being scored, `unanswered`
    those without scores because a server gave no answer. `position` is that of the dataset, such as " (2 of 5)".
    """

    log: Path | None = None
    terminal: Progress = field(default_factory=Progress)
    started: float = field(default_factory=time.monotonic)
    at_once: int = 1
    scored: int = 0
    lacking: int = 0
    unanswered: int = 0
    position: str = ""
    metrics: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    """Seconds of workers per metric, lost parts included."""
    stages: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    items: int = 0
    planned: int = 0
    waiting: dict[Part, float] = field(default_factory=dict)
    """Seconds of each waiting part in an earlier run; 0 if unknown."""
    speeds: dict[str, float] = field(default_factory=dict)
    """Seconds per item in the last finished part of each metric, since its first part also loads models."""
    running: tuple[Part, float] | None = None
    """The part that this process is scoring, and its start."""
    _stage: tuple[str, str, float] = ("", "", 0.0)
    _tokens: int = field(default_factory=lambda: READING.tokens)
    _depth: int = 0
    _showing: contextlib.ExitStack = field(default_factory=contextlib.ExitStack)

    def __enter__(self) -> Self:
        if not self._depth:
            self._showing.enter_context(repeated(self._show, LIVE if self.terminal.live else EVERY))
        self._depth += 1
        return self

    def __exit__(self, *error: object) -> None:
        self._depth -= 1
        if not self._depth:
            self._showing.close()
            self.terminal.show("")

    def began(self, command: str) -> None:
        """Log the start of a run; OSError if the log cannot be written."""
        if self.log:
            self.log.parent.mkdir(parents=True, exist_ok=True)
        self._log({"event": "run", "command": command, "time": time.strftime("%Y-%m-%dT%H:%M:%S%z")})

    def plan(self, part: Part, seconds: float) -> None:
        """Add a part, unless it was added before, with its seconds in an earlier run."""
        self.planned += part not in self.waiting
        self.waiting[part] = seconds

    def part_began(self, part: Part) -> None:
        """Note the start of a part in this process."""
        READING.restart()
        self.running = part, time.monotonic()

    def part_ended(self, part: Part, seconds: float, outcome: str, worker: int = 0) -> None:
        """Note the end of a part; the outcome is scored, refused, crashed or lost."""
        dataset, metric, span = part
        items = span[1] - span[0]
        self.metrics[metric] += seconds
        self.running = None
        if outcome != "lost":
            self.waiting.pop(part, None)
        if outcome == "scored":
            self.items += items
            self.speeds[metric] = seconds / max(1, items)
        self._log({"event": "part", "worker": worker, "dataset": dataset, "metric": metric, "items": list(span),
                   "seconds": round(seconds, 6), "outcome": outcome})

    @contextlib.contextmanager
    def stage(self, name: str, dataset: str = "") -> Iterator[None]:
        """Name what the run does during the block."""
        before, start = self._stage, time.monotonic()
        self._stage = (name, dataset, start)
        try:
            yield
        finally:
            self._stage = before
            seconds = time.monotonic() - start
            self.stages[name] += seconds
            self._log({"event": "stage", "stage": name, "dataset": dataset, "seconds": round(seconds, 6)})

    def say(self, text: str, stack: str = "") -> None:
        """Log a message for the user, with its traceback in the log file only."""
        self.terminal.line(text)
        self._log({"event": "note", "text": redacted("\n".join(filter(None, (text, stack))))})

    def line(self) -> str:
        """Return the stage, the speed and the time left."""
        name, dataset, start = self._stage
        text = f"{self.planned - len(self.waiting)}/{self.planned} parts"
        spent = max(self.stages[SCORING] + time.monotonic() - start, 1e-9)
        if name == SCORING:
            tokens = READING.tokens - self._tokens
            text += f"  {tokens / spent:,.0f} tokens/s" if tokens else f"  {self.items / spent:,.0f} items/s"
        left, complete = self._left()
        if left:
            text += f"  {'about' if complete else 'at least'} {duration(left / self.at_once)} left"
        if name == SCORING:
            return text + (f"  {dataset}{self.position}" if dataset else "")
        return f"{name} {dataset}".strip() + (f"  {text}" if self.waiting else "")

    def _left(self) -> tuple[float, bool]:
        """Return the seconds of all waiting parts, and False if the time of some of them is not known."""
        speeds, complete, total = self.speeds.copy(), True, 0.0
        part, start = self.running or (None, 0.0)
        spent = time.monotonic() - start
        if part and part[1] not in speeds and READING.share >= ENOUGH:
            complete = False  # the metric may ask for more to be read than it has so far
            speeds[part[1]] = spent / READING.share / (part[2][1] - part[2][0])
        for waiting, expected in list(self.waiting.items()):
            _, metric, (first, last) = waiting
            seconds = speeds[metric] * (last - first) if metric in speeds else expected
            complete = complete and seconds > 0
            total += max(0.0, seconds - spent) if waiting == part else seconds
        return total, complete

    def summary(self) -> str:
        """Return the time by stage and by metric."""
        took = time.monotonic() - self.started
        text = f"time: {duration(took)} in all; {_listed(self.stages, len(self.stages))}"
        if self.metrics:
            by = f" by {self.at_once} workers" if self.at_once > 1 else ""
            text += f"\nscoring{by}: {_listed(self.metrics, SLOWEST)}"
        return text

    def _show(self) -> None:
        text = f"{duration(time.monotonic() - self.started)}  {self.line()}"
        if self.terminal.live:
            self.terminal.show(text)
        else:
            self.terminal.line(text)

    def _log(self, event: Mapping[str, Any]) -> None:
        if self.log is None:
            return
        at = round(time.monotonic() - self.started, 6)
        try:
            with self.log.open("a", encoding="utf-8", errors="backslashreplace") as stream:
                stream.write(json.dumps({"at": at, **event}, ensure_ascii=False) + "\n")
        except OSError as error:  # a full disk does not say which file it was
            raise OSError(error.errno, error.strerror, str(self.log)) from error


@contextlib.contextmanager
def repeated(show: Callable[[], None], seconds: float) -> Iterator[None]:
    """Call a function every few seconds during the block."""
    over = threading.Event()

    def keep() -> None:
        while not over.wait(seconds):
            show()

    thread = threading.Thread(target=keep, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()


def duration(seconds: float) -> str:
    """Format a duration: 0.04 s, 1.4 s, 1:05, 2:00:00."""
    if seconds < 10:
        return f"{max(seconds, 0):.{1 if seconds >= 1 else 2}f} s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


def _listed(seconds: Mapping[str, float], most: int) -> str:
    """List the longest first, and the rest as a sum."""
    rows = sorted(seconds.items(), key=lambda row: (-row[1], row[0]))
    texts = [f"{name} {duration(took)}" for name, took in rows[:most]]
    if rows[most:]:
        texts.append(f"{len(rows) - most} others {duration(sum(took for _, took in rows[most:]))}")
    return ", ".join(texts)
