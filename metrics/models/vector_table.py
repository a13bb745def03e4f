"""Word vectors on disk: converted once from whatever file they came in, then mapped into memory.

    header    8 × u8      mark, vectors, width, words, checksum of header and index
    vectors   f4          in the order of the file
    index     u8, u4, u4  digests of the words in ascending order, the row of each, the checksum of that row

Of a word that occurs twice the first is taken. The digest of a word has 64 bits: two words of three millions share one
with a chance of one in four millions. What is damaged is noticed: the index when it is opened, a vector when read.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import zlib
from array import array
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt

from benchmarks.storage.files import sweep
from metrics.errors import MissingResource
from metrics.models.memory import Vectors
from metrics.models.vector_files import Entries, entries

_MARK = int.from_bytes(b"vectors1", "little")
_HEADER = 64


class Damaged(MissingResource):
    """A converted file is not what was written."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path} is damaged; remove it")


class Table:
    """A converted file, mapped into memory."""

    def __init__(self, path: Path) -> None:
        if path.stat().st_size < _HEADER:
            raise Damaged(path)
        whole = np.asarray(np.memmap(path, np.uint8, "r"))
        mark, rows, self.width, words, check = map(int, whole[:40].view("<u8"))
        end = _HEADER + 4 * rows * self.width
        start = end + -end % 8
        if mark != _MARK or whole.size != start + 16 * words or check != _checksum(rows, self.width, whole[start:]):
            raise Damaged(path)
        self.path = path
        self._vectors = whole[_HEADER:end].view("<f4").reshape(rows, self.width)
        self._keys = whole[start : start + 8 * words].view("<u8")
        self._rows, self._checks = whole[start + 8 * words :].view("<u4").reshape(2, words)

    def find(self, word: str) -> Vectors | None:
        """The vector of exactly this word."""
        key = np.uint64(_key(word.encode(errors="surrogatepass")))
        place = int(np.searchsorted(self._keys, key))
        if place == len(self._keys) or self._keys[place] != key:
            return None
        vector: Vectors = self._vectors[self._rows[place]].astype(np.float32)
        if zlib.crc32(vector.data) != self._checks[place]:
            raise Damaged(self.path)
        return vector


def _key(word: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(word, digest_size=8).digest(), "little")


def _checksum(rows: int, width: int, index: npt.NDArray[np.uint8]) -> int:
    return zlib.crc32(index.data, zlib.crc32(b"%d %d" % (rows, width)))


def converted(source: Path, path: Path) -> Table:
    """Convert beside, then rename: whoever converts at the same time writes the same."""
    beside = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        sweep(path.parent)
        handle, beside = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
        with os.fdopen(handle, "wb") as out:
            _write(out, entries(source))
            out.flush()
            os.fsync(out.fileno())
        Path(beside).chmod(0o644)
        Path(beside).replace(path)
        return Table(path)
    except (OSError, EOFError, zlib.error) as error:
        raise MissingResource(f"word vectors {source}: cannot be converted to {path}: {error}") from error
    finally:
        if beside is not None:
            Path(beside).unlink(missing_ok=True)


def _write(out: IO[bytes], found: Entries) -> None:
    out.write(bytes(_HEADER))
    keys, checks, width = array("Q"), array("L"), 0
    for word, vector in found:
        content, width = vector.astype("<f4").tobytes(), len(vector)
        keys.append(_key(word))
        checks.append(zlib.crc32(content))
        out.write(content)
    out.write(bytes(-out.tell() % 8))
    ordered, rows = np.unique(np.array(keys, "<u8"), return_index=True)  # of equal words the first
    index = ordered.tobytes() + rows.astype("<u4").tobytes() + np.array(checks, "<u4")[rows].tobytes()
    out.write(index)
    out.seek(0)
    check = _checksum(len(keys), width, np.frombuffer(index, np.uint8))
    out.write(np.array([_MARK, len(keys), width, len(ordered), check], "<u8").tobytes())
