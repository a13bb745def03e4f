"""Vectors of a frozen encoder by text: the mean and the maximum of its token states, side by side."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from metrics.models.memory import Vectors

Rows: TypeAlias = npt.NDArray[np.intp]


class TextTable:
    """The vectors of distinct texts; row 0 is zeros and stands for a missing or blank text."""

    def __init__(self, texts: Iterable[str], read: Callable[[Sequence[str]], Vectors]) -> None:
        """`read` is an encoder's `means_and_maxima`, or a cache of it."""
        self._read = read
        self._rows = {"": 0}
        self.vectors = read([""])
        self.add(texts)

    @property
    def texts(self) -> list[str]:
        return list(self._rows)

    @property
    def width(self) -> int:
        """The width of the encoder: half the length of a row."""
        return int(self.vectors.shape[1]) // 2

    def add(self, texts: Iterable[str]) -> None:
        """Read the texts that the table lacks."""
        new = list(dict.fromkeys(text for text in texts if text not in self._rows and text.strip()))
        if new:
            self._rows |= {text: row for row, text in enumerate(new, len(self._rows))}
            self.vectors = np.concatenate([self.vectors, self._read(new)])

    def rows(self, texts: Iterable[str]) -> Rows:
        return np.array([self._rows.get(text, 0) for text in texts], dtype=np.intp)

    def spoken(self, texts: Iterable[str]) -> Rows:
        """Return the rows of the texts in which the encoder reads something."""
        rows = self.rows(texts)
        return rows[self.vectors[rows].any(axis=1)]

    def tensor(self, rows: Rows) -> Any:
        """Return the vectors of the rows as a tensor of floats: (*rows, 2 · width)."""
        import torch

        return torch.from_numpy(self.vectors[rows].astype(np.float32))


def padded(rows: Sequence[Rows]) -> Rows:
    """Return rows of several texts each as one array (len(rows), most texts), padded with 0."""
    filled = np.zeros((len(rows), max(map(len, rows), default=1) or 1), dtype=np.intp)
    for row, texts in enumerate(rows):
        filled[row, : len(texts)] = texts
    return filled
