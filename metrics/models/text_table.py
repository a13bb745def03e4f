"""Vectors of texts from a frozen encoder: the mean and the maximum of a text's token states, concatenated.

    TextTable        vectors in memory, for one training run or scoring
    PooledVectors    vectors of very many texts, on disk as float16; several processes may write at once
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks.storage.files import Store, digest, sweep
from metrics.errors import MetricError
from metrics.models.encoder import Encoder
from metrics.models.memory import Vectors

BLOCK_TEXTS = 32_768
"""Number of texts that are encoded and stored at a time."""
Rows: TypeAlias = npt.NDArray[np.intp]


class TextTable:
    """The vectors of distinct texts; row 0 is zeros and stands for a missing or blank text."""

    def __init__(self, texts: Iterable[str], encode: Callable[[Sequence[str]], Vectors]) -> None:
        self._encode = encode
        self._rows = {"": 0}
        self.texts = [""]
        self.vectors = encode([""])
        self.add(texts)

    @property
    def width(self) -> int:
        """The width of the encoder."""
        return int(self.vectors.shape[1]) // 2

    def add(self, texts: Iterable[str]) -> None:
        missing = list(dict.fromkeys(text for text in texts if text not in self._rows and text.strip()))
        if missing:
            self._rows |= {text: row for row, text in enumerate(missing, len(self._rows))}
            self.texts += missing
            self.vectors = np.concatenate([self.vectors, self._encode(missing)])

    def rows(self, texts: Iterable[str]) -> Rows:
        return np.array([self._rows.get(text, 0) for text in texts], dtype=np.intp)

    def nonzero_rows(self, texts: Iterable[str]) -> Rows:
        """Return the rows of the texts whose vectors are not zero, that is, of texts with tokens."""
        rows = self.rows(texts)
        return rows[self.vectors[rows].any(axis=1)]

    def tensor(self, rows: Rows) -> Any:
        """Return the vectors of the rows as a float32 tensor: (*rows.shape, 2 · width)."""
        import torch

        return torch.from_numpy(self.vectors[rows].astype(np.float32))


def padded(rows: Sequence[Rows]) -> Rows:
    """Stack arrays of different lengths into one, padded with 0: (len(rows), longest)."""
    stacked = np.zeros((len(rows), max(map(len, rows), default=1) or 1), dtype=np.intp)
    for index, row in enumerate(rows):
        stacked[index, : len(row)] = row
    return stacked


class PooledVectors:
    """A cache of pooled vectors; `report` receives the number of texts encoded, their total, and the seconds so far."""

    def __init__(self, root: Path, encoder: Encoder,
                 report: Callable[[int, int, float], None] = lambda done, total, seconds: None) -> None:
        self.encoder = encoder
        self._report = report
        self._row = np.dtype([("key", "V16"), ("vectors", "<f2", 2 * encoder.width)])
        self._rows: dict[bytes, tuple[Any, int]] = {}
        weights = encoder.weights
        self._folder = root / f"{weights.digest[:16]}-{weights.settings[:8]}-{encoder.machine.precision}"
        sweep(self._folder)
        self._store = Store(self._folder)
        for name in self._store.files.names("", suffix=".rows"):
            if self._store.verify(name):
                self._open(name)

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """Return the vectors as float16: (texts, 2 · width); an interrupted run loses only its current block."""
        keys = {text: hashlib.sha256(text.encode(errors="surrogatepass")).digest()[:16] for text in texts}
        missing, start = [text for text, key in keys.items() if key not in self._rows], time.perf_counter()
        for first in range(0, len(missing), BLOCK_TEXTS):
            block = missing[first : first + BLOCK_TEXTS]
            self._put([keys[text] for text in block], self.encoder.means_and_maxima(block))
            self._report(first + len(block), len(missing), time.perf_counter() - start)
        pooled = np.empty((len(texts), 2 * self.encoder.width), np.float16)
        for index, text in enumerate(texts):
            vectors, row = self._rows[keys[text]]
            pooled[index] = vectors[row]
        return pooled  # type: ignore[return-value]

    def _put(self, keys: Sequence[bytes], vectors: Vectors) -> None:
        rows = np.empty(len(keys), self._row)
        rows["key"] = np.array(keys, "V16")
        with np.errstate(over="ignore"):
            rows["vectors"] = vectors
        if np.isinf(rows["vectors"]).any():
            raise MetricError(f"embeddings cannot be stored: {np.abs(vectors).max():.3g} exceeds the range of float16")
        try:
            name = self._store.put(f"{digest(b''.join(keys))}.rows", rows.tobytes())
        except OSError as error:
            raise MetricError(f"embeddings cannot be stored in {self._folder}: {error.strerror}; check its "
                              "permissions and the free disk space") from error
        self._open(name)

    def _open(self, name: str) -> None:
        rows = np.memmap(self._folder / name, self._row, "r")
        self._rows |= {key: (rows["vectors"], row) for row, key in enumerate(rows["key"].tolist())}
