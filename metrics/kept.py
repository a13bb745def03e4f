"""Embeddings kept from run to run: what an encoder read, as float16 in Arrow files under the home.

Each part holds the texts' digests and their states, written beside and renamed, and is mapped into memory when the
next run asks. What comes back is rounded to float16; so that a score does not depend on whether it was computed or
read back, everything is rounded so wherever embeddings are kept, and the signature of a score says it.
Several processes may write at once: a part is named by its content, and a text that two of them kept is kept twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np

from benchmarks.files import sweep, write_atomically
from metrics.errors import MetricError
from metrics.memory import Vectors

Text = TypeVar("Text")
PART = 64 << 20
"""Bytes of states after which a part is written."""


class Kept:
    """The embeddings of one encoder and layer in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._found: dict[bytes, tuple[Any, int]] = {}
        self._fresh: dict[bytes, Vectors] = {}
        self._size = 0
        sweep(folder)
        for path in sorted(folder.glob("*.arrow")):
            self._open(path)

    def through(self, kind: str, texts: Sequence[Text], read: Callable[[list[Text]], list[Vectors]]) -> list[Vectors]:
        """What is kept of each text, else what `read` finds, which is kept from now on."""
        keys = [hashlib.sha256(f"{kind}\0{text!r}".encode(errors="backslashreplace")).digest()[:16] for text in texts]
        known = {key: states for key in keys if (states := self._get(key)) is not None}
        missing = [place for place, key in enumerate(keys) if key not in known]
        for place, states in zip(missing, read([texts[place] for place in missing]) if missing else (), strict=True):
            known[keys[place]] = self._put(keys[place], states)
        return [known[key] for key in keys]

    def flush(self) -> None:
        """Write what is not written yet; MetricError where the disk takes no more."""
        if not self._fresh:
            return
        content = _part(self._fresh)
        path = self.folder / f"{hashlib.sha256(content).hexdigest()}.arrow"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_atomically(path, content)
        except OSError as error:
            raise MetricError(f"embeddings cannot be kept in {self.folder}: {error.strerror}; make room there, or run "
                              "without --keep-embeddings") from error
        self._fresh, self._size = {}, 0
        self._open(path)

    def _open(self, path: Path) -> None:
        """Map a part; one that is not what its name says is as good as absent."""
        import pyarrow as pa

        try:
            with path.open("rb") as stream:
                whole = hashlib.file_digest(stream, "sha256").hexdigest() == path.stem
            if not whole:
                path.unlink(missing_ok=True)
                return
        except FileNotFoundError:  # another process has found it damaged just now
            return
        table = pa.ipc.open_file(pa.memory_map(str(path))).read_all().combine_chunks()
        self._found |= {key: (table, row) for row, key in enumerate(table["key"].to_pylist())}

    def _get(self, key: bytes) -> Vectors | None:
        if key in self._fresh:
            return self._fresh[key]
        if key not in self._found:
            return None
        table, row = self._found[key]
        flat = table["states"][row].values.to_numpy(zero_copy_only=False)
        states: Vectors = flat.astype(np.float32).reshape(-1, table["width"][row].as_py())
        return states

    def _put(self, key: bytes, states: Vectors) -> Vectors:
        with np.errstate(over="ignore"):
            rounded: Vectors = states.astype(np.float16).astype(np.float32)
        if np.isinf(rounded).any():
            raise MetricError(f"embeddings cannot be kept: {np.abs(states).max():.3g} is more than float16 holds; run "
                              "without --keep-embeddings")
        self._fresh[key] = rounded
        self._size += rounded.nbytes
        if self._size > PART:
            self.flush()
        return rounded


def _part(fresh: dict[bytes, Vectors]) -> bytes:
    """An Arrow file of digests, widths and states."""
    import pyarrow as pa

    table = pa.table({
        "key": pa.array(list(fresh), pa.binary(16)),
        "width": pa.array([states.shape[1] for states in fresh.values()], pa.int32()),
        "states": pa.array([states.astype(np.float16).ravel() for states in fresh.values()],
                           pa.large_list(pa.float16())),
    })
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content
