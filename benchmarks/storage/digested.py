"""A key-value store whose file names contain digests of their contents.

Scores, statistics, embeddings and judges' answers are kept in such stores.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from pathlib import Path, PurePosixPath
from typing import TypeVar

from benchmarks.storage.files import Files

Value = TypeVar("Value")


class Store:
    """A store that keeps the key FOLDER/STEM.SUFFIX in FOLDER/STEM-DIGEST.SUFFIX; several processes may share it.

    A file that does not match its digest, or that cannot be parsed, counts as missing: it is renamed to end in .damaged
    and listed in `set_aside`. Writes are atomic; if two processes put the same key, the last one wins.
    """

    def __init__(self, address: Path | str) -> None:
        self.files = Files(address)
        self.set_aside: list[str] = []

    def get(self, key: str, parse: Callable[[bytes], Value]) -> Value | None:
        """Return the parsed content of a key, or None."""
        return next((value for name in self.names(key) if (value := self.read(name, parse)) is not None), None)

    def put(self, key: str, content: bytes, *, durable: bool = True) -> str:
        """Write the content of a key, replacing any other, and return the name of its file."""
        path = PurePosixPath(key)
        name = str(path.with_name(f"{path.stem}-{digest(content)}{path.suffix}"))
        self.files.write(name, content, durable=durable)
        for other in self.names(key):
            if other != name:
                self.files.remove(other)
        return name

    def names(self, key: str) -> list[str]:
        """List the names of the files of a key."""
        path = PurePosixPath(key)
        return self.files.names(str(path.parent), f"{path.stem}-", path.suffix)

    def read(self, name: str, parse: Callable[[bytes], Value]) -> Value | None:
        """Check a file by its digest and return its parsed content, or None."""
        try:
            content = self.files.read(name)
        except FileNotFoundError:  # another process has just replaced it
            return None
        if PurePosixPath(name).stem.rpartition("-")[2] == digest(content):
            try:
                return parse(content)
            except Exception:  # noqa: S110  (an intact file in another format; the error depends on the parser)
                pass
        self.put_aside(name)
        return None

    def verify(self, name: str) -> bool:
        """Return True if a file matches its digest."""
        return self.read(name, lambda _: True) is not None

    def put_aside(self, name: str) -> None:
        """Rename a damaged file, so that its content is computed again."""
        self.files.rename(name, str(PurePosixPath(name).with_suffix(".damaged")))
        self.set_aside.append(f"{self.files.root}/{name}")


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:20]
