"""Files by name in a folder or behind any URL that fsspec knows (s3://, gs://, memory://).

Names use slashes. Writes are atomic: in a folder by renaming, and object stores show only complete files.
"""

from __future__ import annotations

import contextlib
import errno
import os
import re
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from benchmarks.storage.files import write_atomically
from harness.errors import BadConfig

_URL = re.compile(r"[a-z][a-z0-9+.-]*://")
_NOWHERE = re.compile(r"(?!memory:)[a-z][a-z0-9+.-]+:/(?:/*$|(?!/))")
"""A protocol without a path, as an empty variable leaves it, or with one slash for two."""
_FOLDER = re.compile(r"(file|local)://")
_NO_FOLDERS = re.compile(r"(s3a?|gc?s|abfss?|az|adl)://")
"""Object stores, where making a folder would make a bucket."""
_SECRET = re.compile(r"(?<=://)[^/@]*@")


class Files:
    """Files by name below a folder; FileNotFoundError for a missing one, OSError where the store does not answer.

    `place` opens the same files in another process; `root` is shown, without a password that the URL may hold.
    """

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        self.place = self.root = str(self.path)

    def read(self, name: str) -> bytes:
        return (self.path / name).read_bytes()

    def write(self, name: str, content: bytes, *, lasting: bool = True) -> None:
        """Write a file atomically; `lasting` waits until it would survive a power cut."""
        path = self.path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(path, content, lasting=lasting)

    def names(self, folder: str, pattern: str) -> list[str]:
        """List the files in a folder that match a pattern with one star, in order."""
        with contextlib.suppress(FileNotFoundError, NotADirectoryError):
            return _matching(folder, (entry.name for entry in os.scandir(self.path / folder)), pattern)
        return []

    def remove(self, name: str) -> None:
        """Remove a file if it exists."""
        (self.path / name).unlink(missing_ok=True)

    def rename(self, name: str, other: str) -> None:
        """Rename a file if it exists."""
        with contextlib.suppress(FileNotFoundError):
            (self.path / name).replace(self.path / other)

    def age(self, name: str) -> float:
        """Return the seconds since a file was written, by the clock of this machine."""
        return time.time() - (self.path / name).stat().st_mtime


class RemoteFiles(Files):
    """Files below a URL, through fsspec."""

    def __init__(self, url: str) -> None:
        self.place, self.root = url, _SECRET.sub("", url)
        import fsspec

        self._made: set[str] = set()
        with self._errors():
            try:
                self._files, self._path = fsspec.core.url_to_fs(url)
            except (ValueError, ImportError) as error:  # no such protocol, or its package is not here
                extra = "; the extras [s3] and [gcs] bring two of these" if isinstance(error, ImportError) else ""
                raise BadConfig(f"--store {self.root}: {error}{extra}") from error

    def read(self, name: str) -> bytes:
        with self._errors():
            content: bytes = self._files.cat_file(self._at(name))
        return content

    def write(self, name: str, content: bytes, *, lasting: bool = True) -> None:  # noqa: ARG002
        """Write a file; an object store shows it once complete."""
        folder = self._at(name).rpartition("/")[0]
        with self._errors():
            if folder not in self._made and not _NO_FOLDERS.match(self.place):
                self._files.makedirs(folder, exist_ok=True)
                self._made.add(folder)
            self._files.pipe_file(self._at(name), content)

    def names(self, folder: str, pattern: str) -> list[str]:
        """List the files in a folder that match a pattern with one star, in order."""
        listed: list[Any] = []
        with self._errors(), contextlib.suppress(FileNotFoundError):
            self._files.invalidate_cache(self._at(folder))
            listed = self._files.ls(self._at(folder), detail=False)
        return _matching(folder, (str(path).rpartition("/")[2] for path in listed), pattern)

    def remove(self, name: str) -> None:
        """Remove a file if it exists."""
        with self._errors(), contextlib.suppress(FileNotFoundError):
            self._files.rm_file(self._at(name))

    def rename(self, name: str, other: str) -> None:
        """Rename a file if it exists."""
        with self._errors(), contextlib.suppress(FileNotFoundError):
            self._files.mv(self._at(name), self._at(other))

    def age(self, name: str) -> float:
        """Seconds since a file was written, by the clock of this machine; 0 where the place does not tell."""
        with self._errors():
            try:
                return time.time() - float(self._files.modified(self._at(name)).timestamp())
            except NotImplementedError:
                return 0.0

    def _at(self, name: str) -> str:
        return f"{self._path}/{name}"

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        """Turn whatever the package of the protocol raises into an OSError that names the store."""
        try:
            yield
        except BadConfig:
            raise
        except FileNotFoundError as error:
            raise FileNotFoundError(errno.ENOENT, "is not there", self.root) from error
        except Exception as error:  # each package has errors of its own
            lines = str(error).strip().splitlines()
            reason = f"does not answer as a store should: {type(error).__name__}: {lines[0] if lines else ''}"[:300]
            raise OSError(getattr(error, "errno", None) or errno.EIO, _SECRET.sub("", reason), self.root) from error


def _matching(folder: str, names: Iterable[str], pattern: str) -> list[str]:
    start, _, end = pattern.partition("*")
    return sorted(f"{folder}/{name}" for name in names if name.startswith(start) and name.endswith(end))


def open_files(place: str | Path) -> Files:
    """Open a folder or a URL."""
    if isinstance(place, str) and _NOWHERE.match(place):
        raise BadConfig(f"--store {place}: has no path; a URL looks like s3://bucket/scores")
    if isinstance(place, str) and _URL.match(place) and not _FOLDER.match(place):
        return RemoteFiles(place.rstrip("/"))
    return Files(Path(_FOLDER.sub("", str(place), count=1)))
