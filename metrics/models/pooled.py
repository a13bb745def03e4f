"""Pooled vectors of very many texts, as trainings and graphs of topics take them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from metrics.models.cache import EmbeddingCache
from metrics.models.encoder import Encoder
from metrics.models.memory import Vectors

BLOCK = 32_768
"""Texts that are sorted by length, read and written together."""


class PooledVectors:
    """For very many texts: the mean and the largest of an encoder's token states, side by side, read once and cached.

    `report` receives how many of how many texts are read, and after how many seconds.
    """

    def __init__(self, root: Path, encoder: Encoder,
                 report: Callable[[int, int, float], None] = lambda done, total, seconds: None) -> None:
        self.encoder = encoder
        self._report = report
        self._cache = EmbeddingCache(
            root / f"{encoder.weights.digest[:16]}-{encoder.weights.settings[:8]}-{encoder.machine.precision}")

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """The vectors of the texts, float16: (texts, 2 · width); a killed reading loses the block it was at."""
        missing, start = self._cache.lacking("pooled", texts), time.perf_counter()
        for first in range(0, len(missing), BLOCK):
            block = missing[first : first + BLOCK]
            self._cache.through("pooled", block, self._read)
            self._cache.flush()
            self._report(first + len(block), len(missing), time.perf_counter() - start)
        pooled = np.empty((len(texts), 2 * self.encoder.width), np.float16)
        for first in range(0, len(texts), BLOCK):
            block = list(texts[first : first + BLOCK])
            pooled[first : first + BLOCK] = [row[0] for row in self._cache.through("pooled", block, self._read)]
        return pooled  # type: ignore[return-value]

    def _read(self, texts: list[str]) -> list[Vectors]:
        return list(self.encoder.means_and_maxima(texts)[:, None])
