"""Who works on what, where several runs share a store: a claim on a cell, and the heartbeat of the run that holds it.

    owners/OWNER           written anew every few seconds while its run lives
    claims/CELL.OWNER      what it works on

A claim counts as long as its owner's heart beats; one whose process is no more on this machine, or whose last beat is
older than STALE, is taken over. Two runs that ask at the same moment both step back and come again. No score depends on
this: it only keeps two runs from doing the same work.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import platform
import secrets
import threading
from dataclasses import dataclass, field
from types import TracebackType

from harness.scoring.storage import Blobs

BEAT, STALE = 5.0, 60.0
"""Seconds between two beats, and after how many without one an owner is taken for dead."""

_HERE = hashlib.sha256(platform.node().encode()).hexdigest()[:8]


def _me() -> str:
    return f"{_HERE}-{os.getpid()}-{secrets.token_hex(4)}"


@dataclass(slots=True)
class Claims:
    """The claims of one run in a store; a context that ends with all of them given back."""

    blobs: Blobs
    owner: str = field(default_factory=_me)
    held: set[str] = field(default_factory=set)
    _done: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Claims:
        self._sweep()
        self._beat()
        threading.Thread(target=self._keep_beating, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._done.set()
        for cell in list(self.held):
            self.release(cell)
        self.blobs.remove(f"owners/{self.owner}")
        self._sweep()

    def company(self) -> bool:
        """Whether another run in this store lives."""
        return any(_owner(name) != self.owner and self._lives(_owner(name))
                   for name in self.blobs.names("owners", "*"))

    def take(self, cell: str) -> bool:
        """Claim a cell; False where another run that lives has done so."""
        mine = f"claims/{cell}.{self.owner}"
        self.blobs.write(mine, b"", lasting=False)
        others = [name for name in self.blobs.names("claims", f"{cell}.*") if name != mine]
        if any(self._lives(_owner(name)) for name in others):
            self.blobs.remove(mine)
            return False
        for name in others:
            self.blobs.remove(name)
            self.blobs.remove(f"owners/{_owner(name)}")
        self.held.add(cell)
        return True

    def release(self, cell: str) -> None:
        """Give a claim back."""
        self.held.discard(cell)
        self.blobs.remove(f"claims/{cell}.{self.owner}")

    def _sweep(self) -> None:
        """Take away what dead runs have left: nobody may ever ask for what they were at again."""
        claims = self.blobs.names("claims", "*")
        for owner in {_owner(name) for name in [*claims, *self.blobs.names("owners", "*")]}:
            if not self._lives(owner):
                for name in [*(claim for claim in claims if _owner(claim) == owner), f"owners/{owner}"]:
                    self.blobs.remove(name)

    def _lives(self, owner: str) -> bool:
        host, process, _ = [*owner.split("-"), "", ""][:3]
        if host == _HERE and os.name == "posix" and process.isdigit() and not _runs(int(process)):
            return False
        try:
            return self.blobs.age(f"owners/{owner}") < STALE
        except FileNotFoundError:
            return False

    def _beat(self) -> None:
        self.blobs.write(f"owners/{self.owner}", b"", lasting=False)

    def _keep_beating(self) -> None:
        while not self._done.wait(BEAT):
            with contextlib.suppress(OSError):
                self._beat()


def _owner(name: str) -> str:
    """Whose heart or claim a file is."""
    return name.rpartition("/")[2].rpartition(".")[2]


def _runs(process: int) -> bool:
    """Whether there is a process of this number on this machine."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
