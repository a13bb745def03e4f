"""What networks do in this process, for those who wait or ask what a metric costs: no score depends on it.

A metric that comes first loads a model and reads the texts that others find remembered. So that its cost does not say
who came first, `loading` is not counted and `saved`, what the remembered texts took to read, is.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(slots=True)
class Reading:
    """`tokens` since the process began, `trained` in steps of training; `done` of the `asked` since the last restart;
    seconds `loading` and `saved`.
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
        """Count what the block takes as loading; a load within another is part of it."""
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
        """Seconds that belong to others: those of loading, less those that were saved."""
        return self.loading - self.saved

    def restart(self) -> None:
        """Begin to count anew how much of what is asked for is done."""
        self.done = self.asked = 0

    def read(self, tokens: int) -> None:
        """Count a batch that was read."""
        self.tokens += tokens
        self.done += tokens

    @property
    def share(self) -> float:
        """How much of what was asked for is read, from 0 to 1; 0 where nothing is."""
        return self.done / self.asked if self.asked else 0.0


READING = Reading()
