"""What was computed once in a run: arrays by key, in bounded memory; the longest unused goes first.

With each array stands what it took to compute, which counts as saved when it is first asked for anew (reading.py).
"""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from metrics.models.reading import READING

Vectors = npt.NDArray[np.float32]
Text = TypeVar("Text", bound=Hashable)

MEBIBYTE = 1 << 20
ENTRY = 200
"""Bytes that an entry takes besides its numbers."""


class Remembered(NamedTuple):
    """An array, the seconds that it took, and what else of the same text it was made of: a key and its seconds."""

    array: Vectors
    seconds: float = 0.0
    made_of: tuple[Hashable, float] | None = None


class Memory:
    """A dictionary of arrays that never holds more than its bytes."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.held = 0
        self._entries: OrderedDict[Hashable, Remembered] = OrderedDict()
        self._asked: set[Hashable] = set()
        self._made_of: dict[Any, tuple[Hashable, float]] | None = None
        """Of each text, what was asked for while something else is read of it; None where nothing is."""
        self._inside = 0.0

    def __len__(self) -> int:
        return len(self._entries)

    def begin(self) -> None:
        """Another metric begins to ask."""
        self._asked.clear()

    def get(self, key: Hashable) -> Vectors | None:
        """What was kept under the key, which thereby becomes the last to go."""
        entry = self._entries.get(key)
        if entry is None:
            self._asked.add(key)
            return None
        self._entries.move_to_end(key)
        for one, seconds in ((key, entry.seconds), *([entry.made_of] if entry.made_of else ())):
            if one not in self._asked:
                READING.saved += seconds
                self._asked.add(one)
        return entry.array

    def through(self, key: tuple[Hashable, ...], texts: Sequence[Text],
                read: Callable[[list[Text]], Sequence[Vectors]]) -> list[Vectors]:
        """What is remembered under the key of each text; the others are read, each once, and remembered."""
        known = {text: self.get((*key, text)) for text in dict.fromkeys(texts)}
        arrays = {text: array for text, array in known.items() if array is not None}
        missing = [text for text in known if text not in arrays]
        if missing:
            for text, entry in zip(missing, self._read(missing, read), strict=True):
                arrays[text] = entry.array
                self.put((*key, text), *entry)
        if self._made_of is not None:
            self._made_of |= {text: ((*key, text), self._entries[*key, text].seconds)
                              for text in known if (*key, text) in self._entries}
        return [arrays[text] for text in texts]

    def _read(self, texts: list[Text], read: Callable[[list[Text]], Sequence[Vectors]]) -> list[Remembered]:
        """Read texts; the seconds, without loading and without what was asked for within, are shared out by length."""
        around, before, start = self._made_of, self._inside, time.perf_counter() - READING.loading
        made_of = self._made_of = {}
        try:
            arrays = read(texts)
        finally:
            took = time.perf_counter() - READING.loading - start
            each = (took - (self._inside - before)) / sum(map(_length, texts))
            self._made_of, self._inside = around, before + took
        return [Remembered(array, each * _length(text), made_of.get(text))
                for text, array in zip(texts, arrays, strict=True)]

    def put(self, key: Hashable, array: Vectors, seconds: float = 0.0,
            made_of: tuple[Hashable, float] | None = None) -> None:
        """Keep an array, which must not be a view of a larger one; others go where there is no room.

        It becomes read-only, since every caller gets the same array.
        """
        array.flags.writeable = False
        if (before := self._entries.pop(key, None)) is not None:
            self.held -= before.array.nbytes + ENTRY
        size = array.nbytes + ENTRY
        if size > self.capacity:
            return
        self._entries[key] = Remembered(array, seconds, made_of)
        self.held += size
        while self.held > self.capacity:
            _, gone = self._entries.popitem(last=False)
            self.held -= gone.array.nbytes + ENTRY


def _length(text: object) -> int:
    """How long a text, or all that is read as one, is: by this their reading is shared out."""
    return 1 + (len(text) if isinstance(text, str) else sum(map(_length, text)) if isinstance(text, tuple) else 0)
