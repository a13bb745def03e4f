"""A cache of random draws: the same scores and ratings are never resampled twice.

    statistics/KIND-KEY-DIGEST.json    a value
    statistics/KIND-KEY-DIGEST.rows    rows of numbers, each by what it was drawn from

KEY names everything the numbers depend on, DIGEST the content, as in the score store: a damaged file is not taken.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.storage.files import write_atomically
from harness.statistics.panel import Array, Codes

REVISION = 4
"""Raised when a statistic changes."""


class Cache:
    """Numbers by what they depend on, in a folder that several runs may share."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def get(self, kind: str, key: object, make: Callable[[], Any]) -> Any:
        """Return the JSON value for a key, computing it if missing; NaN is allowed."""
        stem = _stem(kind, key)
        for content in self._whole(stem, "json"):
            with contextlib.suppress(ValueError, RecursionError):  # whole, and yet no JSON
                return json.loads(content)
        content = json.dumps(make()).encode()
        self._write(stem, "json", content)
        return json.loads(content)

    def rows(self, kind: str, key: object, names: Sequence[str], make: Callable[[list[int]], Array]) -> Array:
        """Return a row of numbers per name; `make` gets the indices of missing ones. Other rows are dropped."""
        stem, known = _stem(kind, key), dict[str, Array]()
        for content in self._whole(stem, "rows"):
            head, _, body = content.partition(b"\n")
            with contextlib.suppress(ValueError):
                before = json.loads(head)
                known = dict(zip(before, np.frombuffer(body).reshape(len(before), -1), strict=True))
        lacking = [place for place, name in enumerate(names) if name not in known]
        if lacking:
            known |= zip([names[place] for place in lacking], make(lacking), strict=True)
        table = np.array([known[name] for name in names])
        if lacking:
            self._write(stem, "rows", json.dumps(list(names)).encode() + b"\n" + table.tobytes())
        return table

    def _paths(self, stem: str, ending: str) -> list[Path]:
        """Return the files with a stem."""
        with contextlib.suppress(FileNotFoundError):
            names = sorted(entry.name for entry in os.scandir(self.root) if entry.name.startswith(f"{stem}-"))
            return [self.root / name for name in names if name.endswith(ending)]
        return []

    def _whole(self, stem: str, ending: str) -> Iterator[bytes]:
        """Return the contents of the files that match their digest."""
        for path in self._paths(stem, ending):
            with contextlib.suppress(FileNotFoundError):  # another run has just replaced it
                content = path.read_bytes()
                if path.stem.rpartition("-")[2] == _digest(content):
                    yield content

    def _write(self, stem: str, ending: str, content: bytes) -> None:
        """Write a file, replacing those with the same stem."""
        self.root.mkdir(parents=True, exist_ok=True)
        path = self.root / f"{stem}-{_digest(content)}.{ending}"
        write_atomically(path, content, lasting=False)
        for other in self._paths(stem, ending):
            if other != path:
                other.unlink(missing_ok=True)


def digest(*tables: Array | Codes | None) -> str:
    """Return the digest of tables, as part of a cache key."""
    return hashlib.sha256(b"".join(np.ascontiguousarray(table).tobytes() for table in tables
                                   if table is not None)).hexdigest()


def _stem(kind: str, key: object) -> str:
    return f"{kind}-{_digest(json.dumps([REVISION, key], sort_keys=True).encode())}"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:20]
