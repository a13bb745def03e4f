"""The mean and the largest of an encoder's token states for very many texts, read once and kept in the home as float16.

A file holds rows, each a text's digest and its vectors, and is named by the sha256 of its content: one that was
damaged is removed, and its texts are read anew. Several processes may write at once; a text that two of them read is
kept twice.
"""

from __future__ import annotations

import contextlib
import hashlib
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.storage.files import sweep, write_atomically
from metrics.errors import MetricError
from metrics.models.encoder import Encoder
from metrics.models.memory import Vectors

TOGETHER = 32_768
"""Texts that are sorted by length, read and written together."""


class PooledVectors:
    """What an encoder makes of texts; `report` receives how many of how many are read, and after how many seconds."""

    def __init__(self, root: Path, encoder: Encoder,
                 report: Callable[[int, int, float], None] = lambda done, total, seconds: None) -> None:
        self.encoder = encoder
        self._report = report
        self._row = np.dtype([("key", "V16"), ("vectors", "<f2", 2 * encoder.width)])
        self._rows: dict[bytes, tuple[Any, int]] = {}
        self._folder = (
            root / f"{encoder.weights.digest[:16]}-{encoder.weights.settings[:8]}-{encoder.machine.precision}")
        sweep(self._folder)
        for path in sorted(self._folder.glob("*.rows")):
            self._open(path)

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """The vectors of the texts, float16: (texts, 2 · width); a killed reading loses the block it was at."""
        keys = {text: _key(text) for text in texts}
        missing, start = [text for text, key in keys.items() if key not in self._rows], time.perf_counter()
        for first in range(0, len(missing), TOGETHER):
            block = missing[first : first + TOGETHER]
            self._keep([keys[text] for text in block], self.encoder.means_and_maxima(block))
            self._report(first + len(block), len(missing), time.perf_counter() - start)
        pooled = np.empty((len(texts), 2 * self.encoder.width), np.float16)
        for place, text in enumerate(texts):
            vectors, row = self._rows[keys[text]]
            pooled[place] = vectors[row]
        return pooled  # type: ignore[return-value]

    def _keep(self, keys: Sequence[bytes], vectors: Vectors) -> None:
        """Write a file of new rows; MetricError where the disk takes no more, or float16 holds no such number."""
        rows = np.empty(len(keys), self._row)
        rows["key"] = np.array(keys, "V16")
        with np.errstate(over="ignore"):
            rows["vectors"] = vectors
        if np.isinf(rows["vectors"]).any():
            raise MetricError(f"embeddings cannot be kept: {np.abs(vectors).max():.3g} is more than float16 holds")
        content = rows.tobytes()
        path = self._folder / f"{hashlib.sha256(content).hexdigest()}.rows"
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            write_atomically(path, content)
        except OSError as error:
            raise MetricError(f"embeddings cannot be kept in {self._folder}: {error.strerror}; make room "
                              "there") from error
        self._open(path)

    def _open(self, path: Path) -> None:
        """Map a file; one whose content is not what its name says is removed."""
        with contextlib.suppress(FileNotFoundError, ValueError):  # gone meanwhile, or of no whole rows
            rows = np.memmap(path, self._row, "r")
            if hashlib.sha256(rows.view(np.uint8).data).hexdigest() == path.stem:
                self._rows |= {key: (rows["vectors"], row) for row, key in enumerate(rows["key"].tolist())}
                return
        path.unlink(missing_ok=True)


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode(errors="surrogatepass")).digest()[:16]
