"""Writing files so that a reader, or the next run after a kill, never meets half of one."""

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
"""Seconds after which a half-written file is taken to be left by a killed process, of whatever machine."""

MACHINE = hashlib.sha256(platform.node().encode()).hexdigest()[:8]
"""What this machine is called in the names of files."""

_WRITER = re.compile(rf"\.{MACHINE}-(\d+)\.[^.]*\.part")
"""The end of the name of a half-written file, with the number of the process of this machine that writes it."""


def write_atomically(path: Path, content: bytes, *, lasting: bool = True) -> None:
    """Write `content` beside `path`, then rename: the file is there whole, or as it was before.

    Without `lasting` a power cut may leave it empty, which is for files whose name tells their digest.
    """
    with beside(path, lasting=lasting) as stream:
        stream.write(content)


@contextlib.contextmanager
def beside(path: Path, *, lasting: bool = True) -> Iterator[IO[bytes]]:
    """A file that takes the place of `path` once all of it is written."""
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
    """An empty folder that takes the place of this one once it is filled; what goes wrong before leaves nothing."""
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
    """How the name of what is half-written begins: by whom, and for what."""
    return f".{path.name}.{MACHINE}-{os.getpid()}."


def sweep(folder: Path) -> None:
    """Remove what killed processes left half-written in a folder and below."""
    for part in list(folder.rglob(".*.part")):
        with contextlib.suppress(FileNotFoundError):  # another process has just renamed it
            writer = _WRITER.search(part.name)
            abandoned = writer is not None and not runs(int(writer[1]))
            if abandoned and part.is_dir():
                shutil.rmtree(part, ignore_errors=True)
            elif part.is_file() and (abandoned or time.time() - part.stat().st_mtime > STALE):
                part.unlink()


def runs(process: int) -> bool:
    """Whether there is a process of this number on this machine; where the system does not tell, there is."""
    if os.name == "posix":
        with contextlib.suppress(PermissionError, OverflowError):
            try:
                os.kill(process, 0)
            except ProcessLookupError:
                return False
    return True
