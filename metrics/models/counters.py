"""Count the tokens that networks process and the time they take, for progress and costs; scores do not depend on it."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(slots=True)
class NetworkCounters:
    """Counters of tokens and seconds.

    `tokens` were processed in scoring, `training_tokens` in training, `processed_tokens` since `restart`. The first
    metric of a run loads models and encodes texts that later metrics find in memory. To make the cost of a metric
    independent of the order, `loading_seconds` are subtracted from it and `cached_seconds`, which cached texts once
    took, are added. If answers were read from the store since `restart` (`stored_answers`), the time is not recorded.
    """

    tokens: int = 0
    training_tokens: int = 0
    processed_tokens: int = 0
    requested_tokens: int = 0
    stored_answers: int = 0
    loading_seconds: float = 0.0
    cached_seconds: float = 0.0
    _within: bool = False

    @contextlib.contextmanager
    def count_loading(self) -> Iterator[None]:
        """Count the time of the `with` block as loading; nested blocks count once."""
        if self._within:
            yield
            return
        start, self._within = time.perf_counter(), True
        try:
            yield
        finally:
            self._within = False
            self.loading_seconds += time.perf_counter() - start

    @property
    def excluded(self) -> float:
        """Seconds to subtract from a metric's time."""
        return self.loading_seconds - self.cached_seconds

    def restart(self) -> None:
        self.processed_tokens = self.requested_tokens = self.stored_answers = 0

    def count_tokens(self, tokens: int) -> None:
        self.tokens += tokens
        self.processed_tokens += tokens

    @property
    def fraction_done(self) -> float:
        """The share of the requested tokens that are processed; 0 if none are requested."""
        return self.processed_tokens / self.requested_tokens if self.requested_tokens else 0.0


COUNTERS = NetworkCounters()
