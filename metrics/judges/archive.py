"""The stored answers of judges: HOME/judge/answers/PROMPT-MODEL-SERVER/KEY-DIGEST.json.

SERVER is a digest of the model's name and the server's address, KEY a digest of the request, the sample and the
attempt; neither contains an API key.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from benchmarks.formats.records import load, value_of
from benchmarks.storage.files import Store
from metrics.errors import MissingResource
from metrics.judges.answer import Answer


def answer_key(body: Mapping[str, Any], sample: int, attempt: int) -> str:
    """Return the key of an answer; its first two digits are a folder, which keeps listings short."""
    digest = hashlib.sha256(json.dumps([body, sample, attempt], sort_keys=True).encode()).hexdigest()
    return f"{digest[:2]}/{digest[2:]}.json"


class AnswerArchive:
    """The answers of a model on a server to a prompt; threads and runs may add to them concurrently."""

    def __init__(self, home: Path, prompt: str, model: str, url: str) -> None:
        name = re.sub(r"[^A-Za-z0-9.-]+", "-", model)[-60:]
        digest = hashlib.sha256(f"{model} {url}".encode()).hexdigest()[:8]
        self.folder = home / "judge" / "answers" / f"{prompt}-{name}-{digest}"
        self._store = Store(self.folder)

    def get(self, key: str) -> Answer | None:
        with self._errors():
            return self._store.get(key, _answer)

    def has(self, key: str) -> bool:
        with self._errors():
            return bool(self._store.names(key))

    def put(self, key: str, answer: Answer) -> None:
        with self._errors():
            self._store.put(key, json.dumps(dataclasses.asdict(answer), separators=(",", ":")).encode())

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            raise MissingResource(f"{self.folder}: cannot read or store answers: {error.strerror}") from error


def _answer(content: bytes) -> Answer:
    answer: Answer = value_of(Answer, load("an answer", content), "an answer")
    return answer
