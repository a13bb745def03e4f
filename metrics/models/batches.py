"""Batches of texts of similar length, within a budget of tokens that includes padding.

The longest texts come first, so that a lack of memory shows at once; the budget is then halved and the rest rebatched.
On a CPU, all texts of a batch have the same length and every core processes its own batches: nothing is padded, and no
core waits for another within a layer (docs/decisions/0009).
"""

from __future__ import annotations

import sys
import threading
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from metrics.errors import CannotScore
from metrics.models.counters import COUNTERS
from metrics.models.device import single_threaded

Positions = npt.NDArray[np.intp]
Result = TypeVar("Result")
Forward = Callable[[Positions], Sequence[Result]]
"""Computes one result for each of the texts at the given positions."""

_OUT_OF_MEMORY = ("out of memory", "can't allocate memory", "not enough memory", "ALLOC_FAILED")
"""Parts of the error messages of MPS, of the CPU (two) and of cuBLAS."""


def make_batches(lengths: Sequence[int] | npt.NDArray[np.intp], budget: int,
                 equal_lengths: bool = False) -> list[Positions]:
    """Return batches of positions, longest texts first: one text each, or at most `budget` tokens including padding.

    With `equal_lengths`, the texts of a batch all have the same length.
    """
    sizes = np.asarray(lengths, dtype=np.intp)
    order = np.argsort(-sizes, kind="stable")
    ends = (np.searchsorted(-sizes[order], -sizes[order], side="right") if equal_lengths
            else np.full(order.size, order.size))
    batches, start = [], 0
    while start < order.size:
        fitting = max(1, budget // max(1, int(sizes[order[start]])))
        end = min(start + fitting, int(ends[start]))
        batches.append(order[start:end])
        start = end
    return batches


class Batches:
    """Runs batches on one forward function per worker; the budget stays halved after running out of memory."""

    def __init__(self, budget: int, equal_lengths: bool = False) -> None:
        self.budget = budget
        self.equal_lengths = equal_lengths
        self._lock = threading.Lock()

    def run(self, lengths: Sequence[int], forwards: Sequence[Forward[Result]]) -> list[Result]:
        """Return one result per text, in the order of `lengths`; raise CannotScore if one text exceeds the memory."""
        results: dict[int, Result] = {}
        waiting = deque(make_batches(lengths, self.budget, self.equal_lengths))
        COUNTERS.requested_tokens += sum(lengths)

        def work(forward: Forward[Result]) -> None:
            try:
                while (batch := self._next(waiting)) is not None:
                    computed = _computed(forward, batch)
                    if computed is None:
                        self._halve(batch, lengths, waiting)
                        continue
                    with self._lock:
                        COUNTERS.count_tokens(sum(lengths[position] for position in batch))
                        results.update(zip(batch.tolist(), computed, strict=True))
            except BaseException:
                with self._lock:
                    waiting.clear()  # stop the other workers
                raise

        if len(forwards) == 1:
            work(forwards[0])
        else:
            import torch

            with single_threaded(), ThreadPoolExecutor(  # torch otherwise lets each thread use all cores
                    len(forwards), initializer=lambda: torch.set_num_threads(1)) as pool:
                for done in [pool.submit(work, forward) for forward in forwards]:
                    done.result()
        return [results[position] for position in range(len(lengths))]

    def _next(self, waiting: deque[Positions]) -> Positions | None:
        with self._lock:
            return waiting.popleft() if waiting else None

    def _halve(self, batch: Positions, lengths: Sequence[int], waiting: deque[Positions]) -> None:
        if batch.size == 1:
            raise CannotScore(f"out of memory with a single text of {lengths[batch[0]]} tokens")
        if (torch := sys.modules.get("torch")) and torch.cuda.is_available():
            torch.cuda.empty_cache()
        with self._lock:
            self.budget = max(1, min(self.budget, int(batch.size) * lengths[batch[0]] // 2))
            rest = np.concatenate([batch, *waiting])
            waiting.clear()
            sizes = np.asarray(lengths, dtype=np.intp)[rest]
            waiting.extend(rest[positions] for positions in make_batches(sizes, self.budget, self.equal_lengths))


def _computed(forward: Forward[Result], batch: Positions) -> Sequence[Result] | None:
    """Return the results of a batch, or None if memory ran out; keeping the error would keep its tensors."""
    try:
        return forward(batch)
    except (MemoryError, RuntimeError) as error:
        if not out_of_memory(error):
            raise
    return None


def out_of_memory(error: Exception) -> bool:
    """Return True if memory ran out; torch has an exception class for this only on CUDA."""
    return (isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError"
            or any(message in str(error) for message in _OUT_OF_MEMORY))
