"""Counts of what networks do in this process, for progress and costs; no score depends on them.

A metric that runs first loads models and reads texts that later metrics find in memory. So that its cost does not
depend on the order, `loading` is left out of it and `saved`, the seconds that remembered texts took, is added.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(slots=True)
class Reading:
    """`tokens` read and steps `trained` in this process; tokens `done` of those `asked` since the last restart; seconds
    of `loading` and seconds `saved`.
    """

    tokens: int = 0
    trained: int = 0
    done: int = 0
    asked: int = 0
    loading: float = 0.0
    saved: float = 0.0
    _within: bool = False

    @contextlib.contextmanager
    def loads(self) -> Iterator[None]:
        """Count the seconds of the block as loading, once where such blocks are nested."""
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
    def others(self) -> float:
        """Seconds to subtract from a metric's time: those of loading, less those saved."""
        return self.loading - self.saved

    def restart(self) -> None:
        self.done = self.asked = 0

    def read(self, tokens: int) -> None:
        self.tokens += tokens
        self.done += tokens

    @property
    def share(self) -> float:
        """Return the share of the requested tokens that is read; 0 where none was requested."""
        return self.done / self.asked if self.asked else 0.0


READING = Reading()
