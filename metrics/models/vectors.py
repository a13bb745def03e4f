"""Word vectors: of a file in the formats of word2vec and GloVe, or an encoder's own input embeddings.

A file may be larger than memory. It is converted once, into a folder HOME/vectors/DIGEST:

    vectors.f4    the vectors in the order of the file, which are mapped into memory
    index.npz     digests of the words in ascending order, the row of each, the checksum of that row; how wide a row is

Of a word that occurs twice the first is taken. The digest of a word has 64 bits: two words of three millions share one
with a chance of one in four millions. What is damaged is converted anew: the index is looked at when it is opened, a
vector when it is read.
"""

from __future__ import annotations

import functools
import hashlib
import zlib
from array import array
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.storage.files import staged, sweep
from metrics.errors import MissingResource
from metrics.models.memory import Vectors
from metrics.models.vector_files import Entries, entries

if TYPE_CHECKING:
    from metrics.models.encoder import Encoder
    from metrics.models.resources import Resource


INDEX, VECTORS = "index.npz", "vectors.f4"


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
    table = _Table(resource.path, home / "vectors" / resource.digest[:16])
    return WordVectors(resource.name, table.width, table.look_up)


class _Table:
    """A file of word vectors as it was converted; what is damaged is converted anew."""

    def __init__(self, source: Path, folder: Path) -> None:
        self._source, self._folder = source, folder
        try:
            self._open()
        except Exception:  # none is there; a damaged one can be wrong in many ways, each with an error of its own
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
        """The vector of exactly this word."""
        key = np.uint64(_key(word.encode(errors="surrogatepass")))
        place = int(np.searchsorted(self._keys, key))
        if place == len(self._keys) or self._keys[place] != key:
            return None
        vector: Vectors = self._vectors[self._rows[place]].astype(np.float32)
        if zlib.crc32(vector.data) != self._checks[place]:
            self._convert()
            return self._find(word)
        return vector

    def _open(self) -> None:
        with (self._folder / INDEX).open("rb") as stream, np.load(stream) as index:
            self._keys, self._rows, self._checks = (index[name] for name in ("keys", "rows", "checks"))
            self.width = int(index["width"])
        self._vectors = np.memmap(self._folder / VECTORS, "<f4", "r").reshape(-1, self.width)
        if len(self._vectors) <= self._rows.max():
            raise ValueError("rows are missing")

    def _convert(self) -> None:
        """Convert beside, then rename; another process that converts at the same time writes the same."""
        try:
            sweep(self._folder.parent)
            with staged(self._folder) as new:
                _write(new, entries(self._source))
            self._open()
        except (OSError, EOFError, zlib.error) as error:
            raise MissingResource(f"word vectors {self._source}: cannot be converted to {self._folder}: {error}"
                                  ) from error


def _parts(word: str) -> tuple[str, ...]:
    """A contraction as the Penn Treebank parts it: do n't, it 's."""
    at = len(word) - 3 if word.endswith("n't") else word.rfind("'")
    return (word[:at], word[at:]) if at > 0 else ()


def _key(word: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(word, digest_size=8).digest(), "little")


def _write(folder: Path, words_and_vectors: Entries) -> None:
    keys, checks, width = array("Q"), array("L"), 0
    with (folder / VECTORS).open("wb") as out:
        for word, vector in words_and_vectors:
            content, width = vector.astype("<f4").tobytes(), len(vector)
            keys.append(_key(word))
            checks.append(zlib.crc32(content))
            out.write(content)
    ordered, rows = np.unique(np.array(keys, np.uint64), return_index=True)  # of equal words the first
    np.savez(folder / INDEX, keys=ordered, rows=rows.astype(np.uint32), checks=np.array(checks, np.uint32)[rows],
             width=width)
