"""Answers that were paid for are kept: one line an answer, added as it comes, `DIGEST {"key": ..., "text": ...}`.

    HOME/judge/answers/PROMPT-MODEL.jsonl

The key is the digest of the request and of the number of the sample, not of the host; no key of an account is in it. A
line that was cut short by a kill, or changed since, does not fit its digest: it is passed over and asked for again.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import os
import re
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from metrics.errors import MissingResource
from metrics.judges.answer import Answer


def folder(home: Path) -> Path:
    """Where all that judges leave behind lies."""
    return home / "judge"


def key(body: Mapping[str, Any], sample: int, attempt: int) -> str:
    """What an answer is kept by."""
    return hashlib.sha256(json.dumps([body, sample, attempt], sort_keys=True).encode()).hexdigest()


class Kept:
    """The answers of one model to one prompt; several threads, and several runs, may add to them."""

    def __init__(self, home: Path, prompt: str, model: str) -> None:
        own = hashlib.sha256(model.encode()).hexdigest()[:8]
        readable = re.sub(r"[^A-Za-z0-9.-]+", "-", model)[-60:]
        self.path = folder(home) / "answers" / f"{prompt}-{readable}-{own}.jsonl"
        self._known = dict(_read(self.path))

    def get(self, name: str) -> Answer | None:
        """The answer that is kept under a key."""
        return self._known.get(name)

    def put(self, name: str, answer: Answer) -> None:
        """Keep an answer."""
        content = json.dumps({"key": name, **dataclasses.asdict(answer)}, separators=(",", ":")).encode()
        append(self.path, _digest(content) + b" " + content)
        self._known[name] = answer


_ONE_AT_A_TIME = threading.Lock()


def append(path: Path, line: bytes) -> None:
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
                        yield _answer(content)  # or it is whole and of another form: passed over as well
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
