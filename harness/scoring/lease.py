"""A lock that lets only one run at a time use a score store; a second run names the first and waits.

A folder is locked with `filelock`; the operating system releases the lock when a process dies. A store behind a URL
has a file `lease` that its run renews; a lease that was not renewed for STALE_SECONDS is taken over. A run that was
suspended for so long leaves its successor's lease alone, and ends with StoreError.
"""

from __future__ import annotations

import contextlib
import os
import platform
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from pathlib import Path

from filelock import FileLock, Timeout

from benchmarks.storage.files import Files
from harness.errors import StoreError
from harness.scoring.progress import repeated

RENEWAL_SECONDS, STALE_SECONDS = 5.0, 60.0
"""Seconds between renewals of a lease, and seconds without renewal after which it has expired."""
SETTLE_SECONDS = 0.5
"""Seconds after which a lease is read again, since two runs may have written it at the same moment."""
HOLDER, LEASE = "holder", "lease"


def exclusive(files: Files, announce: Callable[[str], None]) -> AbstractContextManager[None]:
    """Lock a store or a folder of results during the block; if another run holds the lock, announce it and wait."""
    holder = f"process {os.getpid()} on {platform.node()}"

    def announce_waiting(other: str) -> None:
        announce(f"{files.root}: in use by another run ({other}); waiting for it to end")

    if files.path is None:
        return _hold_lease(files, holder, announce_waiting)
    return _lock_folder(files, files.path, holder, announce_waiting)


@contextlib.contextmanager
def _lock_folder(files: Files, path: Path, holder: str, announce_waiting: Callable[[str], None]) -> Iterator[None]:
    path.mkdir(parents=True, exist_ok=True)
    lock = FileLock(path / ".lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        announce_waiting(_read(files, HOLDER) or "unknown process")
        lock.acquire(poll_interval=0.2)
    try:
        files.write(HOLDER, holder.encode(), durable=False)
        yield
    finally:
        with contextlib.suppress(OSError):  # for example a full disk, already reported by an earlier error
            files.remove(HOLDER)
        lock.release()


@contextlib.contextmanager
def _hold_lease(files: Files, holder: str, announce_waiting: Callable[[str], None]) -> Iterator[None]:
    lease, announced = f"{holder} {secrets.token_hex(4)}", False
    while (other := _read(files, LEASE)) != lease:
        if other is None or files.age(LEASE) > STALE_SECONDS:
            files.write(LEASE, lease.encode())
        elif not announced:
            announce_waiting(other)
            announced = True
        time.sleep(SETTLE_SECONDS)

    def renew() -> None:
        with contextlib.suppress(OSError):
            if _read(files, LEASE) == lease:
                files.write(LEASE, lease.encode())

    try:
        with repeated(renew, RENEWAL_SECONDS):
            yield
    finally:
        if (last_holder := _read(files, LEASE)) == lease:
            files.remove(LEASE)
    if last_holder not in (None, lease):
        raise StoreError(f"{files.root}: another run took over this store while this run was suspended; scores are "
                         "kept; run the same command again")


def _read(files: Files, name: str) -> str | None:
    try:
        return files.read(name).decode(errors="replace")
    except FileNotFoundError:
        return None
