"""Count the tokens that networks process and the time they take, for progress and costs; scores do not depend on it.

The first metric of a run loads models and encodes texts that later metrics find in memory. To make the cost of a metric
independent of the order, `loading` is subtracted from it, and `saved`, the time that cached texts took, is added.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(slots=True)
class Reading:
    """Counters of tokens and seconds.

    `tokens` were processed in scoring, `trained` in training. Since `restart`, `done` of the `requested` tokens were
    processed. `loading` and `saved` are seconds.
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
        """Count the time of the `with` block as loading; nested blocks count once."""
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
        """Seconds to subtract from a metric's time: loading minus saved."""
        return self.loading - self.saved

    def restart(self) -> None:
        self.done = self.requested = 0

    def read(self, tokens: int) -> None:
        self.tokens += tokens
        self.done += tokens

    @property
    def share(self) -> float:
        """The share of the requested tokens that is done; 0 if none are requested."""
        return self.done / self.requested if self.requested else 0.0


READING = Reading()
