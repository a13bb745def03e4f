"""Word vectors: of a file in the formats of word2vec and GloVe, or an encoder's own input embeddings.

A file may be larger than memory. It is converted once, into HOME/vectors/DIGEST.table, which is mapped into memory; a
damaged table is made anew.

    header    8 × u8      mark, vectors, width, words, checksum of header and index
    vectors   f4          in the order of the file
    index     u8, u4, u4  digests of the words in ascending order, the row of each, the checksum of that row

Of a word that occurs twice the first is taken. The digest of a word has 64 bits: two words of three millions share one
with a chance of one in four millions. What is damaged is noticed: the index when it is opened, a vector when read.
"""

from __future__ import annotations

import functools
import hashlib
import zlib
from array import array
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from benchmarks.storage.files import beside, sweep
from metrics.errors import MissingResource
from metrics.models.memory import Vectors
from metrics.models.vector_files import Entries, entries

if TYPE_CHECKING:
    from metrics.models.encoder import Encoder
    from metrics.models.resources import Resource


_MARK = int.from_bytes(b"vectors1", "little")
_HEADER = 64


class WordVectors:
    """Vectors of words; each word is looked up once and then remembered."""

    def __init__(self, name: str, width: int, look_up: Callable[[str], Vectors | None]) -> None:
        """`look_up` finds the vector of a word, None for one that is unknown."""
        self.name = name
        self.width = width
        self._look_up = functools.cache(look_up)

    def __contains__(self, word: str) -> bool:
        return self._look_up(word) is not None

    def of(self, words: Iterable[str]) -> Vectors:
        """The vectors of those words that are known, in their order: (known, width)."""
        vectors = [vector for word in words if (vector := self._look_up(word)) is not None]
        return np.stack(vectors) if vectors else np.zeros((0, self.width), dtype=np.float32)


def from_encoder(encoder: Encoder) -> WordVectors:
    """An encoder's input embeddings: a word is the mean of its tokens, read as after a space; [UNK] is none of them."""
    table, tokenizer = encoder.embeddings(), encoder.tokenizer
    space = " " if len(tokenizer.plain([" a"])[0]) == 1 else ""  # where a space is not a token of its own
    unknown = tokenizer.whole.unk_token_id

    def look_up(word: str) -> Vectors | None:
        known = [token for token in tokenizer.plain([space + word])[0] if token != unknown]
        return np.asarray(table[known].mean(axis=0)) if known else None

    return WordVectors(f"input embeddings of {encoder.name}", table.shape[1], look_up)


def from_file(resource: Resource, home: Path) -> WordVectors:
    """The vectors in a file, converted under `home` when it is first needed."""
    table = _Table(resource.path, home / "vectors" / f"{resource.digest[:16]}.table")
    return WordVectors(resource.name, table.width, table.look_up)


class Damaged(MissingResource):
    """A converted file is not what was written."""


class _Table:
    """A file of word vectors as it was converted, mapped into memory; what is damaged is converted anew."""

    def __init__(self, source: Path, path: Path) -> None:
        self._source, self._path = source, path
        try:
            self._open()
        except (OSError, Damaged):
            self._convert()

    def look_up(self, word: str) -> Vectors | None:
        """A word as it is, else lower-cased, else as the parts of a contraction, whose mean it is.

        The words of GloVe are those of the Penn Treebank, where `don't` is `do` and `n't`.
        """
        plain = word.lower().replace("’", "'")
        for spelling in dict.fromkeys((word, word.lower(), plain)):
            if (vector := self._find(spelling)) is not None:
                return vector
        known = [vector for part in _parts(plain) if (vector := self._find(part)) is not None]
        return np.mean(known, axis=0, dtype=np.float32) if known else None

    def _find(self, word: str) -> Vectors | None:
        try:
            return self._exact(word)
        except Damaged:
            self._convert()
            return self._exact(word)

    def _exact(self, word: str) -> Vectors | None:
        """The vector of exactly this word."""
        key = np.uint64(_key(word.encode(errors="surrogatepass")))
        place = int(np.searchsorted(self._keys, key))
        if place == len(self._keys) or self._keys[place] != key:
            return None
        vector: Vectors = self._vectors[self._rows[place]].astype(np.float32)
        if zlib.crc32(vector.data) != self._checks[place]:
            raise self._damaged
        return vector

    @property
    def _damaged(self) -> Damaged:
        return Damaged(f"{self._path} is damaged; remove it")

    def _open(self) -> None:
        if self._path.stat().st_size < _HEADER:
            raise self._damaged
        whole = np.asarray(np.memmap(self._path, np.uint8, "r"))
        mark, rows, self.width, words, check = map(int, whole[:40].view("<u8"))
        end = _HEADER + 4 * rows * self.width
        start = end + -end % 8
        if mark != _MARK or whole.size != start + 16 * words or check != _checksum(rows, self.width, whole[start:]):
            raise self._damaged
        self._vectors = whole[_HEADER:end].view("<f4").reshape(rows, self.width)
        self._keys = whole[start : start + 8 * words].view("<u8")
        self._rows, self._checks = whole[start + 8 * words :].view("<u4").reshape(2, words)

    def _convert(self) -> None:
        """Convert beside, then rename; another process that converts at the same time writes the same."""
        path = self._path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            sweep(path.parent)
            with beside(path) as out:
                _write(out, entries(self._source))
            self._open()
        except (OSError, EOFError, zlib.error) as error:
            raise MissingResource(f"word vectors {self._source}: cannot be converted to {path}: {error}") from error


def _parts(word: str) -> tuple[str, ...]:
    """A contraction as the Penn Treebank parts it: do n't, it 's."""
    at = len(word) - 3 if word.endswith("n't") else word.rfind("'")
    return (word[:at], word[at:]) if at > 0 else ()


def _key(word: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(word, digest_size=8).digest(), "little")


def _checksum(rows: int, width: int, index: npt.NDArray[np.uint8]) -> int:
    return zlib.crc32(index.data, zlib.crc32(b"%d %d" % (rows, width)))


def _write(out: IO[bytes], words_and_vectors: Entries) -> None:
    out.write(bytes(_HEADER))
    keys, checks, width = array("Q"), array("L"), 0
    for word, vector in words_and_vectors:
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
