"""Batches: texts of like length together, as many as a budget of tokens allows, each result in its place.

A batch costs its longest text times its size, padding included. Longest first, so that memory that is too small shows
at once. When memory runs out the budget is halved and the texts that are left are cut anew.

On the processor only texts of the same length share a batch, and every core takes batches of its own: nothing is
padded, no core waits for another within a layer, and an encoder gives a text the same bits whatever batch it was in
and however many cores there are (docs/decisions/0009).
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from metrics.errors import CannotScore
from metrics.models.reading import READING

Positions = npt.NDArray[np.intp]
Result = TypeVar("Result")
Forward = Callable[[Positions], Sequence[Result]]
"""Compute the texts at these positions: one result each."""


def cut(lengths: Sequence[int] | npt.NDArray[np.intp], budget: int, even: bool = False) -> list[Positions]:
    """Positions in batches, longest texts first; no batch of two or more holds over `budget` tokens with padding.

    `even` batches hold texts of one length, and have no padding.
    """
    sizes = np.asarray(lengths, dtype=np.intp)
    order = np.argsort(-sizes, kind="stable")
    ends = np.searchsorted(-sizes[order], -sizes[order], side="right") if even else np.full(order.size, order.size)
    batches, start = [], 0
    while start < order.size:
        many = max(1, budget // max(1, int(sizes[order[start]])))
        end = min(start + many, int(ends[start]))
        batches.append(order[start:end])
        start = end
    return batches


_WORDS = ("out of memory", "can't allocate memory", "not enough memory", "ALLOC_FAILED")
"""How MPS, the processor (two ways) and cuBLAS say that memory ran out."""


class Batches:
    """Runs texts through one forward function per device, and remembers what budget the memory allows."""

    def __init__(self, budget: int, even: bool = False) -> None:
        self.budget = budget
        self.even = even
        self._lock = threading.Lock()

    def run(self, lengths: Sequence[int], forwards: Sequence[Forward[Result]]) -> list[Result]:
        """One result per text, in the order of `lengths`, whichever device computed it."""
        results: list[Result | None] = [None] * len(lengths)
        waiting = deque(cut(lengths, self.budget, self.even))
        READING.asked += sum(lengths)

        def work(forward: Forward[Result]) -> None:
            try:
                while (batch := self._next(waiting)) is not None:
                    computed = _computed(forward, batch)
                    if computed is None:
                        self._halve(batch, lengths, waiting)
                    else:
                        with self._lock:
                            READING.read(sum(lengths[position] for position in batch))
                        for position, result in zip(batch, computed, strict=True):
                            results[position] = result
            except BaseException:
                with self._lock:
                    waiting.clear()  # the other devices need not finish what is lost
                raise

        if len(forwards) == 1:
            work(forwards[0])
        else:
            with _threads(len(forwards)) as pool:
                for done in [pool.submit(work, forward) for forward in forwards]:
                    done.result()
        return results  # type: ignore[return-value]

    def _next(self, waiting: deque[Positions]) -> Positions | None:
        with self._lock:
            return waiting.popleft() if waiting else None

    def _halve(self, batch: Positions, lengths: Sequence[int], waiting: deque[Positions]) -> None:
        """Cut what is left, this batch included, to half of what the batch held."""
        if batch.size == 1:
            raise CannotScore(f"out of memory with a single text of {lengths[batch[0]]} tokens")
        _release()
        with self._lock:
            self.budget = max(1, min(self.budget, int(batch.size) * lengths[batch[0]] // 2))
            left = np.concatenate([batch, *waiting])
            waiting.clear()
            sizes = np.asarray(lengths, dtype=np.intp)[left]
            waiting.extend(left[places] for places in cut(sizes, self.budget, self.even))


@contextlib.contextmanager
def _threads(workers: int) -> Iterator[ThreadPoolExecutor]:
    """Threads that each keep to one core, as torch otherwise lets every one of them use all."""
    import torch

    before = torch.get_num_threads()
    try:
        with ThreadPoolExecutor(workers, initializer=lambda: torch.set_num_threads(1)) as pool:
            yield pool
    finally:
        torch.set_num_threads(before)


def _computed(forward: Forward[Result], batch: Positions) -> Sequence[Result] | None:
    """What the forward function finds; None where memory ran out, once the error has let go of what it held."""
    try:
        return forward(batch)
    except (MemoryError, RuntimeError) as error:
        if not out_of_memory(error):
            raise
    return None


def out_of_memory(error: Exception) -> bool:
    """Whether memory ran out: torch says so by a class of its own on CUDA, and in words elsewhere."""
    if isinstance(error, MemoryError) or type(error).__name__ == "OutOfMemoryError":
        return True
    return any(words in str(error) for words in _WORDS)


def _release() -> None:
    """Give back to CUDA what torch holds in reserve."""
    if (torch := sys.modules.get("torch")) and torch.cuda.is_available():
        torch.cuda.empty_cache()
