"""Atomic writing of files and folders."""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import re
import shutil
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

STALE = 3600.0
"""Seconds after which a temporary file of another machine counts as abandoned."""

MACHINE = hashlib.sha256(platform.node().encode()).hexdigest()[:8]
"""Identifier of this machine in file names."""

_WRITER = re.compile(rf"\.{MACHINE}-(\d+)\.[^.]*\.part")
"""Suffix of temporary files, with the id of the writing process."""


def write_atomically(path: Path, content: bytes, *, lasting: bool = True) -> None:
    """Write `content` to a temporary file, then rename it to `path`.

    Without `lasting` a power cut may leave it empty, which is for files whose name tells their digest.
    """
    with beside(path, lasting=lasting) as stream:
        stream.write(content)


@contextlib.contextmanager
def beside(path: Path, *, lasting: bool = True) -> Iterator[IO[bytes]]:
    """Yield a stream whose file replaces `path` once it is complete."""
    handle, part = tempfile.mkstemp(dir=path.parent, prefix=_mark(path), suffix=".part")
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            if lasting:
                os.fsync(stream.fileno())
        Path(part).chmod(0o644)
        Path(part).replace(path)
    except BaseException as error:
        Path(part).unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno and error.filename is None:
            raise OSError(error.errno, error.strerror, str(path)) from error
        raise


@contextlib.contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """Yield an empty folder that replaces this one on success."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(dir=folder.parent, prefix=_mark(folder), suffix=".part"))
    try:
        yield part
        part.chmod(0o755)
        if folder.exists():
            folder.replace(part.with_suffix(".old"))
        part.replace(folder)
    finally:
        shutil.rmtree(part, ignore_errors=True)
    shutil.rmtree(part.with_suffix(".old"), ignore_errors=True)


def _mark(path: Path) -> str:
    """Return the prefix of temporary names for a path."""
    return f".{path.name}.{MACHINE}-{os.getpid()}."


def sweep(folder: Path) -> None:
    """Remove abandoned temporary files below a folder."""
    for part in list(folder.rglob(".*.part")):
        with contextlib.suppress(FileNotFoundError):  # another process has just renamed it
            writer = _WRITER.search(part.name)
            abandoned = writer is not None and not runs(int(writer[1]))
            if abandoned and part.is_dir():
                shutil.rmtree(part, ignore_errors=True)
            elif part.is_file() and (abandoned or time.time() - part.stat().st_mtime > STALE):
                part.unlink()


def runs(process: int) -> bool:
    """Return True if the process exists, or if the system cannot tell."""
    if os.name == "posix":
        with contextlib.suppress(PermissionError, OverflowError):
            try:
                os.kill(process, 0)
            except ProcessLookupError:
                return False
    return True
