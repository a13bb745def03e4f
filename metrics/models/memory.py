"""What was computed once in a run: arrays by key, in bounded memory; the longest unused goes first."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from typing import TypeVar

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]
Text = TypeVar("Text", bound=Hashable)

MEBIBYTE = 1 << 20
ENTRY = 200
"""Bytes that an entry takes besides its numbers."""


class Memory:
    """A dictionary of arrays that never holds more than its bytes."""

    def __init__(self, capacity: int) -> None:
        self.capacity = capacity
        self.held = 0
        self._entries: OrderedDict[Hashable, Vectors] = OrderedDict()

    def __len__(self) -> int:
        return len(self._entries)

    def get(self, key: Hashable) -> Vectors | None:
        """What was kept under the key, which thereby becomes the last to go."""
        array = self._entries.get(key)
        if array is not None:
            self._entries.move_to_end(key)
        return array

    def through(self, key: tuple[Hashable, ...], texts: Sequence[Text],
                read: Callable[[list[Text]], Sequence[Vectors]]) -> list[Vectors]:
        """What is remembered under the key of each text; the others are read, each once, and remembered."""
        known = {text: self.get((*key, text)) for text in dict.fromkeys(texts)}
        arrays = {text: array for text, array in known.items() if array is not None}
        missing = [text for text in known if text not in arrays]
        for text, array in zip(missing, read(missing) if missing else (), strict=True):
            arrays[text] = array
            self.put((*key, text), array)
        return [arrays[text] for text in texts]

    def put(self, key: Hashable, array: Vectors) -> None:
        """Keep an array, which must not be a view of a larger one; others go where there is no room.

        It becomes read-only, since every caller gets the same array.
        """
        array.flags.writeable = False
        if (before := self._entries.pop(key, None)) is not None:
            self.held -= before.nbytes + ENTRY
        size = array.nbytes + ENTRY
        if size > self.capacity:
            return
        self._entries[key] = array
        self.held += size
        while self.held > self.capacity:
            _, gone = self._entries.popitem(last=False)
            self.held -= gone.nbytes + ENTRY
