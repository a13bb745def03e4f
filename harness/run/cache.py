"""What was drawn at random once from the same scores and ratings is not drawn again.

    statistics/KIND-KEY-DIGEST.json

KEY names everything the numbers depend on, DIGEST the content, as in the score store: a damaged file is not taken.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.storage.files import write_atomically

REVISION = 3
"""Raised when a statistic changes."""


class Cache:
    """Numbers by what they depend on, in a folder that several runs may share."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def get(self, kind: str, key: object, make: Callable[[], Any]) -> Any:
        """The value for a key, made if it is not there; whatever JSON can hold, NaN included."""
        stem = f"{kind}-{_digest(json.dumps([REVISION, key], sort_keys=True).encode())}"
        for path in sorted(self.root.glob(f"{stem}-*.json")):
            content = path.read_bytes()
            if path.stem.rpartition("-")[2] == _digest(content):
                with contextlib.suppress(ValueError, RecursionError):  # whole, and yet no JSON
                    return json.loads(content)
        value = make()
        content = json.dumps(value).encode()
        self.root.mkdir(parents=True, exist_ok=True)
        write_atomically(self.root / f"{stem}-{_digest(content)}.json", content)
        return json.loads(content)


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:20]
