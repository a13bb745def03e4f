"""The digest of a metric's folder: its code and whatever lies beside it, so that an edited metric is scored anew."""

from __future__ import annotations

import functools
import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from metrics.errors import BrokenPlugin

SKIPPED = frozenset({"__pycache__", "build", "dist", "node_modules", "tests", "results", "report", "scores", "site",
                     "statistics"})
"""Folders that decide no score: what is built, tests, and what a run leaves; likewise hidden ones and *.egg-info."""


def digest(folder: Path) -> str:
    """The sha256 over name and content of every file of a folder but those of the folders in SKIPPED."""
    found = hashlib.sha256()
    try:
        for path in files(folder):
            found.update(f"{path.relative_to(folder).as_posix()}\0{_content(path)}\n".encode(errors="surrogateescape"))
    except OSError as error:
        raise BrokenPlugin(f"{error.filename or folder}: {error.strerror}") from error
    return found.hexdigest()


def files(folder: Path) -> Iterator[Path]:
    """The files that count, in the order of their names."""
    for where, inside, names in os.walk(folder):
        inside[:] = sorted(name for name in inside
                           if name not in SKIPPED and not name.startswith(".") and not name.endswith(".egg-info"))
        yield from (path for name in sorted(names) if (path := Path(where, name)).is_file())


def _content(path: Path) -> str:
    state = path.stat()
    return _digest(path, state.st_size, state.st_mtime_ns)


@functools.lru_cache(maxsize=4096)
def _digest(path: Path, _size: int, _modified: int) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()
