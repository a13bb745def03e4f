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
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.formats.records import Refused, load, value_of
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


class Usage:
    """Counts over one run of one judge; `count` and `answered` may be called from several threads.

    Of `failed` attempts, answers `kept` from before, `refused` requests, samples `read` and those of them `weighted` by
    the probabilities of tokens, `unreadable` answers, and questions given up `unread`.
    """

    def __init__(self, judge: str, model: str) -> None:
        self.judge, self.model = judge, model
        self.counts: Counter[str] = Counter()
        self._start, self._lock = time.monotonic(), threading.Lock()

    def count(self, *what: str) -> None:
        """Count one of each kind."""
        with self._lock:
            self.counts.update(what)

    def answered(self, answer: Answer) -> None:
        """Count the tokens of an answer."""
        with self._lock:
            self.counts.update({"prompt": answer.prompt, "completion": answer.completion})

    def line(self) -> str:
        """The line that is printed at the end."""
        counts = self.counts
        parts = [f"{counts['sent']} requests", f"{counts['kept']} answers kept from before",
                 f"{counts['failed']} attempts failed", f"{counts['unreadable']} answers not readable",
                 f"{counts['refused']} requests refused", f"{counts['unread']} questions given up",
                 f"{counts['weighted']} of {counts['read']} weighted by probabilities",
                 f"{counts['prompt']} + {counts['completion']} tokens", f"{time.monotonic() - self._start:.1f} s"]
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
                    with contextlib.suppress(Refused, LookupError, TypeError, AttributeError):
                        yield _answer(content)  # or it is whole and of another form: ignored as well
    except FileNotFoundError:
        return
    except OSError as error:
        raise MissingResource(f"{path}: kept answers cannot be read: {error.strerror}") from error


def _answer(content: bytes) -> tuple[str, Answer]:
    values = load("an answer", content)
    return str(values.pop("key")), value_of(Answer, values, "an answer")


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest()[:16].encode()
