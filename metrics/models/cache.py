"""What an encoder made of texts of trainings and topics, kept as float16 in Arrow files under the home.

Each part holds digests of texts and the texts' vectors, is written beside and renamed, and is mapped into memory when
it is asked for. Vectors come back rounded to float16, whether computed or read back.
Several processes may write at once: a part is named by the sha256 of its content, one whose content does not match is
removed and its texts are read anew, and a text that two processes kept is kept twice.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from benchmarks.storage.files import sweep, write_atomically
from metrics.errors import MetricError
from metrics.models.memory import Vectors

Text = TypeVar("Text")
Half = npt.NDArray[np.float16]
PART = 64 << 20
"""Bytes of vectors, in float32, after which a part is written."""


class EmbeddingCache:
    """The embeddings of one encoder, in a folder of their own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._parts: dict[bytes, tuple[_Part, int]] = {}
        self._fresh: dict[bytes, Half] = {}
        self._size = 0
        sweep(folder)
        for path in sorted(folder.glob("*.arrow")):
            self._open(path)

    def through(self, kind: str, texts: Sequence[Text], read: Callable[[list[Text]], list[Vectors]]) -> list[Vectors]:
        """The cached vectors of each text; those of the other texts come from `read` and are cached."""
        keys = [_key(kind, text) for text in texts]
        known = {key: vectors for key in keys if (vectors := self._get(key)) is not None}
        missing = [place for place, key in enumerate(keys) if key not in known]
        fresh = read([texts[place] for place in missing]) if missing else []
        for place, states in zip(missing, fresh, strict=True):
            known[keys[place]] = self._put(keys[place], states)
        return [known[key].astype(np.float32) for key in keys]

    def lacking(self, kind: str, texts: Sequence[str]) -> list[str]:
        """The distinct texts that are not cached."""
        keys = {text: _key(kind, text) for text in texts}
        return [text for text, key in keys.items() if key not in self._parts and key not in self._fresh]

    def flush(self) -> None:
        """Write what is not written yet; MetricError where the disk takes no more."""
        if not self._fresh:
            return
        content = _content(self._fresh)
        path = self.folder / f"{hashlib.sha256(content).hexdigest()}.arrow"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
            write_atomically(path, content)
        except OSError as error:
            raise MetricError(f"embeddings cannot be kept in {self.folder}: {error.strerror}; make room "
                              "there") from error
        self._fresh, self._size = {}, 0
        self._open(path)

    def _open(self, path: Path) -> None:
        """Map a part; one whose content is not what its name says is removed."""
        try:
            with path.open("rb") as stream:
                whole = hashlib.file_digest(stream, "sha256").hexdigest() == path.stem
        except FileNotFoundError:  # another process has removed it as damaged
            return
        part = _Part.mapped(path) if whole else None
        if part is None:
            path.unlink(missing_ok=True)
            return
        self._parts |= {key: (part, row) for row, key in enumerate(part.keys)}

    def _get(self, key: bytes) -> Half | None:
        if key in self._parts:
            part, row = self._parts[key]
            return part.vectors(row)
        return self._fresh.get(key)

    def _put(self, key: bytes, vectors: Vectors) -> Half:
        with np.errstate(over="ignore"):
            rounded: Half = vectors.astype(np.float16)
        if np.isinf(rounded).any():
            raise MetricError(f"embeddings cannot be kept: {np.abs(vectors).max():.3g} is more than float16 holds")
        self._fresh[key] = rounded
        self._size += 2 * rounded.nbytes
        if self._size > PART:
            self.flush()
        return rounded


class _Part:
    """A file of keys, widths and flat vectors, mapped into memory."""

    def __init__(self, table: Any) -> None:
        self.keys: list[bytes] = table["key"].to_pylist()
        self._widths = table["width"].to_numpy()
        states = table["states"].chunk(0)
        self._ends, self._values = states.offsets.to_numpy(), states.values.to_numpy(zero_copy_only=False)

    def vectors(self, row: int) -> Half:
        """The vectors in a row: (tokens, width)."""
        flat: Half = self._values[self._ends[row] : self._ends[row + 1]]
        return flat.reshape(-1, self._widths[row])

    @classmethod
    def mapped(cls, path: Path) -> _Part | None:
        """The part in a file; None where it is of another form or does not add up."""
        import pyarrow as pa
        import pyarrow.compute as pc

        try:
            table = pa.ipc.open_file(pa.memory_map(str(path))).read_all()
            if table.schema != _schema() or not table.num_rows:
                return None
            table.validate(full=True)
            table = table.combine_chunks()
        except (pa.ArrowException, OSError, ValueError):
            return None
        if any(column.null_count for column in table.columns):
            return None
        widths, lengths = table["width"].to_numpy(), pc.list_value_length(table["states"]).to_numpy()
        return cls(table) if (widths > 0).all() and not (lengths % widths).any() else None


def _key(kind: str, text: object) -> bytes:
    return hashlib.sha256(f"{kind}\0{text!r}".encode(errors="backslashreplace")).digest()[:16]


def _schema() -> Any:
    import pyarrow as pa

    return pa.schema({"key": pa.binary(16), "width": pa.int32(), "states": pa.large_list(pa.float16())})


def _content(fresh: dict[bytes, Half]) -> bytes:
    """An Arrow file of digests, widths and flat vectors."""
    import pyarrow as pa

    ends = np.cumsum([0, *(vectors.size for vectors in fresh.values())], dtype=np.int64)
    flat = np.concatenate([vectors.ravel() for vectors in fresh.values()])
    table = pa.table({
        "key": list(fresh),
        "width": [vectors.shape[1] for vectors in fresh.values()],
        "states": pa.LargeListArray.from_arrays(ends, pa.array(flat)),
    }, schema=_schema())
    sink = pa.BufferOutputStream()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    content: bytes = sink.getvalue().to_pybytes()
    return content
