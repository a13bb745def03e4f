"""Locks: what each of several runs in one store is scoring.

    owners/OWNER          written anew every few seconds while its run lives
    locks/NAME.OWNER      what this run is scoring

A lock counts while its owner lives. One whose process has ended on this machine, or whose file was last written more
than STALE seconds ago, is taken over. Two runs that ask at the same moment both step back and try again. No score
depends on locks: they only keep two runs from doing the same work.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import threading
from dataclasses import dataclass, field
from types import TracebackType

from benchmarks.storage.files import MACHINE, runs
from harness.scoring.files import Files

BEAT, STALE = 5.0, 60.0
"""Seconds between two signs of life, and after how many without one an owner counts as dead."""


@dataclass(slots=True)
class Locks:
    """The locks of one run in a store; a context that ends with all of them released."""

    files: Files
    owner: str = field(default_factory=lambda: f"{MACHINE}-{os.getpid()}-{secrets.token_hex(4)}")
    held: set[str] = field(default_factory=set)
    _done: threading.Event = field(default_factory=threading.Event)

    def __enter__(self) -> Locks:
        self._sweep()
        self._beat()
        threading.Thread(target=self._keep_beating, daemon=True).start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None,
                 trace: TracebackType | None) -> None:
        self._done.set()
        for name in list(self.held):
            self.release(name)
        self.files.remove(f"owners/{self.owner}")
        self._sweep()

    def shared(self) -> bool:
        """Whether another run is using this store."""
        return any(_owner(name) != self.owner and self._lives(_owner(name))
                   for name in self.files.names("owners", "*"))

    def take(self, name: str) -> bool:
        """Take a lock; False where another run that lives holds it."""
        own = f"locks/{name}.{self.owner}"
        self.files.write(own, b"", lasting=False)
        rivals = [file for file in self.files.names("locks", f"{name}.*") if file != own]
        if any(self._lives(_owner(file)) for file in rivals):
            self.files.remove(own)
            return False
        for file in rivals:
            self.files.remove(file)
            self.files.remove(f"owners/{_owner(file)}")
        self.held.add(name)
        return True

    def release(self, name: str) -> None:
        """Give a lock back."""
        self.held.discard(name)
        self.files.remove(f"locks/{name}.{self.owner}")

    def _sweep(self) -> None:
        """Remove what dead runs have left: nobody may ever score the same pair again."""
        locks = self.files.names("locks", "*")
        for owner in {_owner(name) for name in [*locks, *self.files.names("owners", "*")]}:
            if not self._lives(owner):
                for name in [*(lock for lock in locks if _owner(lock) == owner), f"owners/{owner}"]:
                    self.files.remove(name)

    def _lives(self, owner: str) -> bool:
        host, process, _ = [*owner.split("-"), "", ""][:3]
        if host == MACHINE and process.isdigit() and not runs(int(process)):
            return False
        try:
            return self.files.age(f"owners/{owner}") < STALE
        except FileNotFoundError:
            return False

    def _beat(self) -> None:
        self.files.write(f"owners/{self.owner}", b"", lasting=False)

    def _keep_beating(self) -> None:
        while not self._done.wait(BEAT):
            with contextlib.suppress(OSError):
                self._beat()


def _owner(name: str) -> str:
    """The owner that a file belongs to."""
    return name.rpartition("/")[2].rpartition(".")[2]
