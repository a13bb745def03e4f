"""Counters of the networks' work in this process, for progress and costs; no score depends on them.

The first metric of a run loads models and reads texts that later metrics find in memory. So that the cost of a metric
does not depend on the order, `loading` is subtracted from it and `saved`, the time that cached texts took, is added.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(slots=True)
class Reading:
    """Tokens read and steps trained in this process, tokens `done` of those `requested` since the last restart, and the
    seconds of loading and seconds saved.
    """

    tokens: int = 0
    trained: int = 0
    done: int = 0
    requested: int = 0
    loading: float = 0.0
    saved: float = 0.0
    _within: bool = False

    @contextlib.contextmanager
    def loads(self) -> Iterator[None]:
        """Count the seconds of the block as loading, only once if such blocks are nested."""
        if self._within:
            yield
            return
        start, self._within = time.perf_counter(), True
        try:
            yield
        finally:
            self._within = False
            self.loading += time.perf_counter() - start

    @property
    def excluded(self) -> float:
        """Seconds to subtract from a metric's time: those of loading minus those saved."""
        return self.loading - self.saved

    def restart(self) -> None:
        self.done = self.requested = 0

    def read(self, tokens: int) -> None:
        self.tokens += tokens
        self.done += tokens

    @property
    def share(self) -> float:
        """Return the share of the requested tokens that has been read; 0 if none is requested."""
        return self.done / self.requested if self.requested else 0.0


READING = Reading()
