"""What a judge was asked, what came of it and what it cost: told when it is done, and kept.

    HOME/judge/usage.jsonl          one line for each time that a judge judged the items of a dataset
    HOME/judge/running/RUN.json     the same of a run that has not come to its end, as of its last answer

The second is written anew with every answer and goes when the line is there; what a killed run leaves behind stays, so
that what it paid for is counted.
"""

from __future__ import annotations

import contextlib
import json
import threading
import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from metrics.errors import MissingResource
from metrics.judges.answer import Answer
from metrics.judges.kept import append, folder

COUNTED = ("sent", "failed", "kept", "refused", "read", "weighted", "unreadable", "unread", "prompt_tokens",
           "completion_tokens", "cost")
"""The numbers of a line that is kept."""


@dataclass
class Usage:
    """Counts over one run of one judge; `count` and `answered` may be called from several threads."""

    judge: str
    model: str
    home: Path
    price_in: float = 0.0
    price_out: float = 0.0
    sent: int = 0
    """Requests, attempts that failed among them."""
    failed: int = 0
    kept: int = 0
    """Answers that were there before."""
    refused: int = 0
    read: int = 0
    weighted: int = 0
    """Of those that were read, how many by the probabilities of the tokens."""
    unreadable: int = 0
    """Answers that could not be read."""
    unread: int = 0
    """Questions given up without an answer that could be read."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    served: set[str] = field(default_factory=set)
    last_refusal: str = ""
    start: float = field(default_factory=time.monotonic)
    run: str = field(default_factory=lambda: uuid.uuid4().hex)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def count(self, what: str, *, weighted: bool = False, last_refusal: str = "") -> None:
        """Count one of a kind."""
        with self._lock:
            setattr(self, what, getattr(self, what) + 1)
            self.weighted += weighted
            self.last_refusal = last_refusal or self.last_refusal

    def answered(self, answer: Answer) -> None:
        """Count what an answer took, and keep the counts so far."""
        with self._lock:
            self.prompt_tokens += answer.prompt
            self.completion_tokens += answer.completion
            self.served.add(answer.served or self.model)
            self._keep_so_far()

    @property
    def cost(self) -> float | None:
        """What the answers of this run cost, in the currency of the prices; None where those are not told."""
        if not (self.price_in or self.price_out):
            return None
        return (self.prompt_tokens * self.price_in + self.completion_tokens * self.price_out) / 1e6

    def record(self) -> dict[str, Any]:
        """The line that is kept."""
        at = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        return {"at": at, "run": self.run, "judge": self.judge, "model": self.model,
                **{name: getattr(self, name) for name in COUNTED},
                "served": sorted(self.served), "seconds": round(time.monotonic() - self.start, 3)}

    def line(self) -> str:
        """What is told when it is done."""
        parts = [f"{self.sent} requests", f"{self.kept} answers kept from before", f"{self.failed} attempts failed",
                 f"{self.unreadable} answers not readable", f"{self.refused} requests refused",
                 f"{self.unread} questions given up",
                 f"{self.weighted} of {self.read} weighted by probabilities",
                 f"{self.prompt_tokens} + {self.completion_tokens} tokens"]
        cost = [] if self.cost is None else [f"cost {self.cost:.4f}"]
        told = ", ".join([*parts, *cost, f"{time.monotonic() - self.start:.1f} s"])
        return f"{self.judge} ({self.model}): {told}"

    def keep(self) -> None:
        """Add it to what is kept, if anything was asked."""
        if self.sent:
            append(_path(self.home), json.dumps(self.record()).encode())
            with contextlib.suppress(OSError):  # what stays is known by its run, and not counted twice
                (_running(self.home) / f"{self.run}.json").unlink(missing_ok=True)

    def _keep_so_far(self) -> None:
        path = _running(self.home) / f"{self.run}.json"
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.with_suffix(".new").write_text(json.dumps(self.record()))
            path.with_suffix(".new").replace(path)
        except OSError as error:
            raise MissingResource(f"{path}: usage cannot be kept: {error.strerror}") from error


def records(home: Path) -> Iterator[dict[str, Any]]:
    """What was kept of every run so far, killed ones among them; a line that was cut short is passed over."""
    so_far = []  # read first: a run that ends meanwhile is then in both, and not in neither
    for path in sorted(_running(home).glob("*.json")):
        with contextlib.suppress(FileNotFoundError):
            so_far.append(path.read_bytes())
    ended = _path(home).read_bytes().splitlines() if _path(home).is_file() else []
    seen: set[str] = set()
    for line in [*ended, *so_far]:
        try:
            found = json.loads(line)
        except ValueError:
            continue
        if isinstance(found, dict) and {"judge", "model", *COUNTED} <= found.keys():
            run = str(found.get("run", ""))  # lines of before runs had names have none
            if not run or run not in seen:
                seen.add(run)
                yield found


def _running(home: Path) -> Path:
    return folder(home) / "running"


def _path(home: Path) -> Path:
    return folder(home) / "usage.jsonl"
