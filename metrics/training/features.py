"""Features: the pooled vectors of very many texts, read once by an encoder and kept on disk for all its trainings.

    HOME/training/ENCODER-PRECISION/DIGEST.npy    a part: the digest of each text and its vectors, as one array

A part holds up to so many texts, is written beside and renamed, and bears the sha256 of its content as its name: one
that is damaged is noticed, removed, and its texts are read anew. Parts are mapped into memory, so that of a part only
what is asked for takes room. A killed reading loses the part it was at.
"""

from __future__ import annotations

import hashlib
import io
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from benchmarks.storage.files import sweep, write_atomically
from metrics.errors import MetricError
from metrics.models.memory import Vectors

if TYPE_CHECKING:
    from metrics.models.encoder import Encoder

PART = 32_768
"""Texts in a part: so many are sorted by length together, and a part is some 50 MB for an encoder of width 384."""

Tell = Callable[[int, int, float], None]
"""Told how many of how many texts are read, and after how many seconds."""


class Features:
    """The vectors that one encoder makes of texts: the mean and the largest of the token states, side by side."""

    def __init__(self, root: Path, encoder: Encoder, tell: Tell = lambda done, total, seconds: None,
                 part: int = PART) -> None:
        self.encoder = encoder
        self.folder = root / f"{encoder.weights.digest[:16]}-{encoder.weights.settings[:8]}-{encoder.machine.precision}"
        self._tell, self._part = tell, part
        self._parts: list[npt.NDArray[Any]] = []
        self._found: dict[bytes, tuple[int, int]] = {}
        sweep(self.folder)
        for path in sorted(self.folder.glob("*.npy")):
            self._open(path)

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """The vectors of the texts, float16: (texts, 2 · width)."""
        keys = [_key(text) for text in texts]
        missing = {key: text for key, text in zip(keys, texts, strict=True) if key not in self._found}
        self._read(missing)
        found = np.empty((len(texts), 2 * self.encoder.width), np.float16)
        parts, rows = np.array([self._found[key] for key in keys], dtype=np.intp).reshape(-1, 2).T
        for number in np.unique(parts):
            here = np.flatnonzero(parts == number)
            found[here] = self._parts[number]["vectors"][rows[here]]
        return found  # type: ignore[return-value]

    def _read(self, missing: dict[bytes, str]) -> None:
        """Read texts and keep what was found, part by part."""
        keys, start = list(missing), time.perf_counter()
        for first in range(0, len(keys), self._part):
            block = keys[first : first + self._part]
            self._keep(block, self.encoder.means_and_maxima([missing[key] for key in block]))
            self._tell(first + len(block), len(keys), time.perf_counter() - start)

    def _keep(self, keys: list[bytes], vectors: Vectors) -> None:
        with np.errstate(over="ignore"):
            rounded = vectors.astype(np.float16)
        if not np.isfinite(rounded).all():
            raise MetricError(f"vectors of encoder {self.encoder.name} cannot be kept: {np.abs(vectors).max():.3g} is "
                              "more than float16 holds")
        table = np.empty(len(keys), dtype=[("key", "u1", 16), ("vectors", "<f2", rounded.shape[1])])
        table["key"] = np.frombuffer(b"".join(keys), np.uint8).reshape(-1, 16)
        table["vectors"] = rounded
        stream = io.BytesIO()
        np.save(stream, table)
        content = stream.getvalue()
        path = self.folder / f"{hashlib.sha256(content).hexdigest()}.npy"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_atomically(path, content)
        except OSError as error:
            raise MetricError(f"vectors of texts cannot be kept in {self.folder}: {error.strerror}") from error
        self._open(path)

    def _open(self, path: Path) -> None:
        """Map a part; one that is not what its name says is removed."""
        try:
            with path.open("rb") as stream:
                whole = hashlib.file_digest(stream, "sha256").hexdigest() == path.stem
        except FileNotFoundError:  # another process has found it damaged just now
            return
        if not whole:
            path.unlink(missing_ok=True)
            return
        table = np.load(path, mmap_mode="r")
        digests = np.ascontiguousarray(table["key"]).tobytes()
        self._found |= {digests[16 * row : 16 * row + 16]: (len(self._parts), row) for row in range(len(table))}
        self._parts.append(table)


def _key(text: str) -> bytes:
    return hashlib.sha256(text.encode(errors="backslashreplace")).digest()[:16]
