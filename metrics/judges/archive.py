"""What judges leave behind, every answer, and what a run of one took.

    HOME/judge/answers/PROMPT-MODEL.jsonl     one line an answer, added as it comes: DIGEST {"key": ..., "text": ...}

The key of an answer is the digest of the request and of the number of the sample, not of the host; no key of an account
is in it. A line that was cut short by a kill, or changed since, does not fit its digest and is ignored.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import re
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from metrics.errors import MissingResource
from metrics.judges.answer import Answer

_ONE_AT_A_TIME = threading.Lock()


def answer_key(body: Mapping[str, Any], sample: int, attempt: int) -> str:
    """The name under which an answer is kept."""
    return hashlib.sha256(json.dumps([body, sample, attempt], sort_keys=True).encode()).hexdigest()


class AnswerArchive:
    """The answers of one model to one prompt; several threads, and several runs, may add to them."""

    def __init__(self, home: Path, prompt: str, model: str) -> None:
        own = hashlib.sha256(model.encode()).hexdigest()[:8]
        readable = re.sub(r"[^A-Za-z0-9.-]+", "-", model)[-60:]
        self.path = home / "judge" / "answers" / f"{prompt}-{readable}-{own}.jsonl"
        self._known = dict(_read(self.path))

    def get(self, key: str) -> Answer | None:
        """The answer under a key, if there is one."""
        return self._known.get(key)

    def put(self, key: str, answer: Answer) -> None:
        """Keep an answer."""
        content = json.dumps({"key": key, **dataclasses.asdict(answer)}, separators=(",", ":")).encode()
        _append(self.path, _digest(content) + b" " + content)
        self._known[key] = answer


@dataclass
class Usage:
    """Counts over one run of one judge; `count` and `answered` may be called from several threads."""

    judge: str
    model: str
    sent: int = 0
    """Requests, failed attempts among them."""
    failed: int = 0
    kept: int = 0
    """Answers that were kept from before."""
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
    last_refusal: str = ""
    start: float = field(default_factory=time.monotonic)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def count(self, what: str, *, weighted: bool = False, last_refusal: str = "") -> None:
        """Count one of a kind."""
        with self._lock:
            setattr(self, what, getattr(self, what) + 1)
            self.weighted += weighted
            self.last_refusal = last_refusal or self.last_refusal

    def answered(self, answer: Answer) -> None:
        """Count the tokens of an answer."""
        with self._lock:
            self.prompt_tokens += answer.prompt
            self.completion_tokens += answer.completion

    def line(self) -> str:
        """The line that is printed at the end."""
        parts = [f"{self.sent} requests", f"{self.kept} answers kept from before", f"{self.failed} attempts failed",
                 f"{self.unreadable} answers not readable", f"{self.refused} requests refused",
                 f"{self.unread} questions given up", f"{self.weighted} of {self.read} weighted by probabilities",
                 f"{self.prompt_tokens} + {self.completion_tokens} tokens",
                 f"{time.monotonic() - self.start:.1f} s"]
        return f"{self.judge} ({self.model}): {', '.join(parts)}"

def _append(path: Path, line: bytes) -> None:
    """Add a line to a file, in one piece; it begins the line anew, since the last one may have been cut short."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _ONE_AT_A_TIME, path.open("ab", buffering=0) as stream:
            written = stream.write(b"\n" + line)
            os.fsync(stream.fileno())
    except OSError as error:
        raise MissingResource(f"{path}: answers cannot be kept: {error.strerror}") from error
    if written <= len(line):
        raise MissingResource(f"{path}: answers cannot be kept: the disk is full")


def _read(path: Path) -> Iterator[tuple[str, Answer]]:
    """The answers of a file, but for the lines that are not whole."""
    try:
        with path.open("rb") as stream:
            for line in stream:
                digest, _, content = line.rstrip(b"\n").partition(b" ")
                if content and digest == _digest(content):
                    with contextlib.suppress(ValueError, LookupError, TypeError, AttributeError, OverflowError,
                                             RecursionError):
                        yield _answer(content)  # or it is whole and of another form: ignored as well
    except FileNotFoundError:
        return
    except OSError as error:
        raise MissingResource(f"{path}: kept answers cannot be read: {error.strerror}") from error


def _answer(content: bytes) -> tuple[str, Answer]:
    values = json.loads(content)
    tokens = tuple((int(place), str(token), tuple((str(other), float(logprob)) for other, logprob in others))
                   for place, token, others in values["tokens"])
    texts = {name: str(values[name]) for name in ("text", "finish", "served")}
    return str(values["key"]), Answer(**texts, prompt=int(values["prompt"]), completion=int(values["completion"]),
                                      tokens=tokens)


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest()[:16].encode()
