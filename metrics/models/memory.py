"""A cache of arrays in bounded memory; the least recently used are dropped first.

Each array is stored with the seconds it took, which count as saved when a metric first reuses it (batches.py).
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from metrics.models.counters import COUNTERS

Vectors = npt.NDArray[np.float32]
Text = TypeVar("Text", bound=Hashable)

MEBIBYTE = 1 << 20
ENTRY_OVERHEAD = 200  # bytes


class ArrayCache:
    """A cache of arrays that never holds more than `capacity` bytes."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.bytes_used = 0
        self._entries: OrderedDict[Hashable, tuple[Vectors, float]] = OrderedDict()
        self._counted: set[Hashable] = set()
        self._reused = 0.0

    def start_metric(self) -> None:
        self._counted.clear()

    def get(self, key: Hashable) -> Vectors | None:
        array, seconds = self._entries.get(key, (None, 0.0))
        if array is not None:
            self._entries.move_to_end(key)
        self._reused += seconds
        if key not in self._counted:
            COUNTERS.cached_seconds += seconds
            self._counted.add(key)
        return array

    def get_all(self, key: tuple[Hashable, ...], texts: Sequence[Text],
                compute: Callable[[list[Text]], Sequence[Vectors]]) -> list[Vectors]:
        """Return the array of each text, computing missing arrays once; time is attributed to texts by length."""
        arrays = {text: self.get((*key, text)) for text in dict.fromkeys(texts)}
        if missing := [text for text, array in arrays.items() if array is None]:
            start = self._clock()
            computed = compute(missing)
            seconds_per_character = (self._clock() - start) / sum(map(length, missing))
            for text, array in zip(missing, computed, strict=True):
                arrays[text] = array
                self.put((*key, text), array, seconds_per_character * length(text))
        return [arrays[text] for text in texts]  # type: ignore[misc]

    def _clock(self) -> float:
        """Return a time that includes the seconds of reused arrays but not the loading of models."""
        return time.perf_counter() - COUNTERS.loading_seconds + self._reused

    def put(self, key: Hashable, array: Vectors, seconds: float = 0.0) -> None:
        """Store an array and make it read-only; it must not be a view of a larger array."""
        array.flags.writeable = False
        if key in self._entries:
            self.bytes_used -= self._entries.pop(key)[0].nbytes + ENTRY_OVERHEAD
        if array.nbytes + ENTRY_OVERHEAD > self.capacity:
            return
        self._entries[key] = array, seconds
        self.bytes_used += array.nbytes + ENTRY_OVERHEAD
        while self.bytes_used > self.capacity:
            _, (dropped, _) = self._entries.popitem(last=False)
            self.bytes_used -= dropped.nbytes + ENTRY_OVERHEAD


def length(text: object) -> int:
    """Return 1 + the characters of a text, or 1 + the lengths of the members of a tuple."""
    return 1 + (len(text) if isinstance(text, str) else sum(map(length, text)) if isinstance(text, tuple) else 0)
