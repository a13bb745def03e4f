"""A cache of computed statistics, so that the same scores and ratings are never resampled twice.

    statistics/KIND-KEY-DIGEST.json    a value
    statistics/KIND-KEY-DIGEST.rows    rows of numbers, each under the digest of its scores

KEY identifies everything on which the numbers depend; DIGEST is the digest of the content.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.storage import files
from harness.statistics.panel import Array, Codes

REVISION = 6
"""Incremented when a statistic changes."""


class Cache:
    """Computed numbers by key, in a folder that several runs may share."""

    def __init__(self, root: Path) -> None:
        self._store = files.Store(root)

    def get(self, kind: str, key: object, compute: Callable[[], Any]) -> Any:
        """Return the JSON value for a key, computing it if missing; NaN is allowed, null is not."""
        name = _name(kind, key, "json")
        value = self._store.get(name, json.loads)
        if value is None:
            content = json.dumps(compute()).encode()
            self._store.put(name, content, durable=False)
            value = json.loads(content)
        return value

    def rows(self, kind: str, key: object, names: Sequence[str], compute: Callable[[list[int]], Array]) -> Array:
        """Return a row of numbers per name; `compute` gets the indices of missing names.

        If rows are added, rows of other names are dropped from the file.
        """
        file = _name(kind, key, "rows")
        rows_by_name = self._store.get(file, _rows) or {}
        missing = [index for index, name in enumerate(names) if name not in rows_by_name]
        rows_by_name |= zip([names[index] for index in missing], compute(missing) if missing else (), strict=True)
        table = np.array([rows_by_name[name] for name in names])
        if missing:
            self._store.put(file, json.dumps(list(names)).encode() + b"\n" + table.tobytes(), durable=False)
        return table


def digest(*tables: Array | Codes | None) -> str:
    """Return the digest of tables, as part of a cache key."""
    return hashlib.sha256(b"".join(table.tobytes() for table in tables if table is not None)).hexdigest()


def _name(kind: str, key: object, suffix: str) -> str:
    return f"{kind}-{files.digest(json.dumps([REVISION, key], sort_keys=True).encode())}.{suffix}"


def _rows(content: bytes) -> dict[str, Array]:
    head, _, body = content.partition(b"\n")
    names = json.loads(head)
    return dict(zip(names, np.frombuffer(body).reshape(len(names), -1), strict=True))
