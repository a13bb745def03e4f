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

from benchmarks.storage.files import sweep, write_atomically
from metrics.errors import MetricError
from metrics.models.memory import Vectors

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
        try:
            with path.open("rb") as stream:
                whole = hashlib.file_digest(stream, "sha256").hexdigest() == path.stem
        except FileNotFoundError:  # another process has found it damaged just now
            return
        table = _mapped(path) if whole else None
        if table is None:
            path.unlink(missing_ok=True)
            return
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


def _mapped(path: Path) -> Any:
    """The table of a part; None where it is of another form, or not what it says of itself."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
        if table.schema != _schema():
            return None
        table.validate(full=True)
        table = table.combine_chunks()
    except (pa.ArrowException, OSError, ValueError):
        return None
    if any(column.null_count for column in table.columns):
        return None
    widths, lengths = table["width"].to_numpy(), pc.list_value_length(table["states"]).to_numpy()
    return table if (widths > 0).all() and not (lengths % widths).any() else None


def _schema() -> Any:
    import pyarrow as pa

    return pa.schema({"key": pa.binary(16), "width": pa.int32(), "states": pa.large_list(pa.float16())})


def _part(fresh: dict[bytes, Vectors]) -> bytes:
    """An Arrow file of digests, widths and states."""
    import pyarrow as pa

    table = pa.table({
        "key": list(fresh),
        "width": [states.shape[1] for states in fresh.values()],
        "states": [states.astype(np.float16).ravel() for states in fresh.values()],
    }, schema=_schema())
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content
