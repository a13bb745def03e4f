"""Atomic writes, files by name in a folder or behind a URL, and a store of files named by their digests."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import platform
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath
from typing import TypeVar

Value = TypeVar("Value")
STALE = 3600.0  # seconds after which a temporary file counts as abandoned even if its writer may be alive
MACHINE = hashlib.sha256(platform.node().encode()).hexdigest()[:8]  # identifier of this machine in file names
_WRITER = re.compile(r"\.([0-9a-f]{8})-(\d{1,9})\.[^.]*\.part")
"""Suffix of temporary files, with the machine and the id of the writing process."""
_URL, _URL_WITH_PATH = re.compile(r"[a-z][a-z0-9+.-]+:/"), re.compile(r"[a-z][a-z0-9+.-]+://.*[^/]")
_OBJECT_STORE = re.compile(r"(s3a?|gc?s|abfss?|az|adl)://")
"""Protocols of object stores. They have no folders, and creating one would create a bucket."""
_PASSWORD = re.compile(r"(?<=://)[^/@]*@")


def write_atomically(path: Path, content: bytes, *, durable: bool = True) -> None:
    """Write `content` to a temporary file, then rename it to `path`, whose folder is made if it is missing.

    Without `durable`, a power cut may leave the file empty, so the content must be verifiable or easy to recreate.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=_prefix(path), suffix=".part")
    try:
        with os.fdopen(handle, "wb") as stream:
            stream.write(content)
            stream.flush()
            if durable:
                os.fsync(stream.fileno())
        Path(temporary).chmod(0o644)
        Path(temporary).replace(path)
    except BaseException as error:
        Path(temporary).unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno and error.filename is None:
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


@contextlib.contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """Yield an empty temporary folder that replaces `folder` on success."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(dir=folder.parent, prefix=_prefix(folder), suffix=".part"))
    try:
        yield temporary
        temporary.chmod(0o755)
        if folder.exists():
            folder.replace(temporary.with_suffix(".old"))
        temporary.replace(folder)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    shutil.rmtree(temporary.with_suffix(".old"), ignore_errors=True)


def _prefix(path: Path) -> str:
    return f".{path.name}.{MACHINE}-{os.getpid()}."


def sweep(folder: Path) -> None:
    """Remove abandoned temporary files below a folder."""
    import psutil

    for temporary in list(folder.rglob(".*.part")):
        with contextlib.suppress(FileNotFoundError):  # another process has just renamed it
            if not (writer := _WRITER.search(temporary.name)):
                continue
            abandoned = writer[1] == MACHINE and not psutil.pid_exists(int(writer[2]))
            if abandoned and temporary.is_dir():
                shutil.rmtree(temporary, ignore_errors=True)
            elif temporary.is_file() and (abandoned or time.time() - temporary.stat().st_mtime > STALE):
                temporary.unlink()


def walk(folder: Path, pattern: str = "*") -> list[Path]:
    """List the files below a folder, without macOS metadata, sorted by depth and then by name."""
    files = (file for file in folder.rglob(pattern) if file.is_file() and not file.name.startswith("._"))
    return sorted(files, key=lambda file: (len(file.parts), str(file)))


class Files:
    """Access to files by slash-separated name, in a folder or behind any URL that fsspec supports (s3://, memory://).

    A missing file raises FileNotFoundError, any other failure OSError. `address` opens the same files in another
    process; `root` is the address without its password, for messages; `path` is None behind a URL.
    """

    def __init__(self, address: Path | str) -> None:
        import fsspec
        from fsspec.implementations.local import LocalFileSystem

        url = str(address).removeprefix("file://")
        self.path = Path(url).absolute() if isinstance(address, Path) or not _URL.match(url) else None
        self.address = str(self.path or url.rstrip("/"))
        self.root = _PASSWORD.sub("", self.address)
        self._system, self._folder = LocalFileSystem(), self.address
        if self.path is not None:
            return
        if not _URL_WITH_PATH.match(url):
            raise OSError(errno.EINVAL, "the URL has no path; expected a URL such as s3://bucket/scores", url)
        with self._errors():
            self._system, self._folder = fsspec.core.url_to_fs(self.address)

    def read(self, name: str) -> bytes:
        with self._errors():
            content: bytes = self._system.cat_file(self._at(name))
        return content

    def write(self, name: str, content: bytes, *, durable: bool = True) -> None:
        """Write a file atomically; in a folder, `durable` ensures that it survives a power cut."""
        with self._errors():
            if self.path is None:
                if not _OBJECT_STORE.match(self.address):
                    self._system.makedirs(self._at(name).rpartition("/")[0], exist_ok=True)
                self._system.pipe_file(self._at(name), content)
            else:
                write_atomically(self.path / name, content, durable=durable)

    def names(self, folder: str, prefix: str = "", suffix: str = "") -> list[str]:
        """List the files in a folder whose names have this prefix and suffix, sorted."""
        file_names: list[str] = []
        with self._errors(), contextlib.suppress(FileNotFoundError, NotADirectoryError):
            if self.path is None:
                self._system.invalidate_cache(self._at(folder))
                file_names = [path.rpartition("/")[2] for path in self._system.ls(self._at(folder), detail=False)]
            else:
                file_names = [path.name for path in (self.path / folder).iterdir()]
        return sorted(str(PurePosixPath(folder, name)) for name in file_names
                      if name.startswith(prefix) and name.endswith(suffix))

    def remove(self, name: str) -> None:
        """Remove a file if it exists."""
        with self._errors(), contextlib.suppress(FileNotFoundError):
            self._system.rm_file(self._at(name))

    def rename(self, name: str, new_name: str) -> None:
        """Rename a file if it exists."""
        with self._errors(), contextlib.suppress(FileNotFoundError):
            self._system.mv(self._at(name), self._at(new_name))

    def age(self, name: str) -> float:
        """Return the seconds since a file was modified, by this machine's clock; 0 if the store does not record it."""
        with self._errors():
            try:
                return time.time() - float(self._system.modified(self._at(name)).timestamp())
            except NotImplementedError:
                return 0.0

    def _at(self, name: str) -> str:
        return f"{self._folder}/{name}"

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            if self.path is not None:
                raise
            if isinstance(error, FileNotFoundError):
                raise FileNotFoundError(errno.ENOENT, "no such file", self.root) from error
            hint = " (S3 and GCS need the extras [s3] and [gcs])" if isinstance(error, ImportError) else ""
            line = next(iter(str(error).strip().splitlines()), "")
            reason = f"cannot access the store: {type(error).__name__}: {line:.250}{hint}"
            raise OSError(getattr(error, "errno", None) or errno.EIO, _PASSWORD.sub("", reason), self.root) from error


class Store:
    """A store that keeps the key FOLDER/STEM.SUFFIX in FOLDER/STEM-DIGEST.SUFFIX; several processes may share it.

    A file that does not match its digest, or that cannot be parsed, counts as missing: it is renamed to end in .damaged
    and listed in `set_aside`. Writes are atomic; if two processes put the same key, the last one wins.
    """

    def __init__(self, address: Path | str) -> None:
        self.files = Files(address)
        self.set_aside: list[str] = []

    def get(self, key: str, parse: Callable[[bytes], Value]) -> Value | None:
        return next((value for name in self.names(key) if (value := self.read(name, parse)) is not None), None)

    def put(self, key: str, content: bytes, *, durable: bool = True) -> str:
        """Write the content of a key, replacing any other, and return the name of its file."""
        path = PurePosixPath(key)
        name = str(path.with_name(f"{path.stem}-{digest(content)}{path.suffix}"))
        self.files.write(name, content, durable=durable)
        for old_name in self.names(key):
            if old_name != name:
                self.files.remove(old_name)
        return name

    def names(self, key: str) -> list[str]:
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
        return self.read(name, lambda _: True) is not None

    def put_aside(self, name: str) -> None:
        self.files.rename(name, str(PurePosixPath(name).with_suffix(".damaged")))
        self.set_aside.append(f"{self.files.root}/{name}")


def digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:20]
