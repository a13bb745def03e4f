"""Word vectors, from a file (vector_files.py) or from the input embeddings of an encoder.

A file may be larger than memory. It is converted once, into a folder HOME/vectors/DIGEST:

    vectors.f4    the vectors in the order of the file, to be memory-mapped
    index.npz     64-bit digests of the words in ascending order, the row of each word, and the width of a row

If a word occurs twice, its first vector counts.
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
from metrics.models.vector_files import entries

if TYPE_CHECKING:
    from metrics.models.encoder import Encoder
    from metrics.models.resources import Resource

INDEX, VECTORS = "index.npz", "vectors.f4"


class WordVectors:
    """Vectors of words, with a cache of those looked up."""

    def __init__(self, name: str, width: int, look_up: Callable[[str], Vectors | None]) -> None:
        """`look_up` returns the vector of a word, or None if it is unknown."""
        self.name = name
        self.width = width
        self._look_up = functools.cache(look_up)

    def __contains__(self, word: str) -> bool:
        return self._look_up(word) is not None

    def of(self, words: Iterable[str]) -> Vectors:
        """Return the vectors of the known words, in order: (known words, width)."""
        vectors = [vector for word in words if (vector := self._look_up(word)) is not None]
        return np.stack(vectors) if vectors else np.zeros((0, self.width), dtype=np.float32)


def from_encoder(encoder: Encoder) -> WordVectors:
    """Return an encoder's input embeddings; a word is the mean of its tokens after a space, [UNK] excluded."""
    table, tokenizer = encoder.embeddings(), encoder.tokenizer
    space = " " if len(tokenizer.plain([" a"])[0]) == 1 else ""  # unless the space would be a separate token
    unknown = tokenizer.wrapped.unk_token_id

    def look_up(word: str) -> Vectors | None:
        known = [token for token in tokenizer.plain([space + word])[0] if token != unknown]
        return np.asarray(table[known].mean(axis=0)) if known else None

    return WordVectors(f"input embeddings of {encoder.name}", table.shape[1], look_up)


def from_file(resource: Resource, home: Path) -> WordVectors:
    """Return the vectors in a file, converted under `home` on first use.

    A word is looked up unchanged, else lower-cased, else as the mean of the parts of a contraction, since GloVe follows
    the Penn Treebank, where `don't` is `do` and `n't`.
    """
    folder = home / "vectors" / resource.digest[:16]
    if not folder.is_dir():
        _convert(resource.path, folder)
    with np.load(folder / INDEX) as index:
        keys, rows, width = index["keys"], index["rows"], int(index["width"])
    vectors = np.memmap(folder / VECTORS, "<f4", "r").reshape(-1, width)

    def exact(word: str) -> Vectors | None:
        key = np.uint64(_key(word.encode(errors="surrogatepass")))
        index = int(np.searchsorted(keys, key))
        return vectors[rows[index]].astype(np.float32) if index < len(keys) and keys[index] == key else None

    def look_up(word: str) -> Vectors | None:
        plain = word.lower().replace("’", "'")
        for spelling in dict.fromkeys((word, word.lower(), plain)):
            if (vector := exact(spelling)) is not None:
                return vector
        cut = len(plain) - 3 if plain.endswith("n't") else plain.rfind("'")
        parts = (plain[:cut], plain[cut:]) if cut > 0 else ()
        known = [vector for part in parts if (vector := exact(part)) is not None]
        return np.mean(known, axis=0, dtype=np.float32) if known else None

    return WordVectors(resource.name, width, look_up)


def _convert(source: Path, folder: Path) -> None:
    keys, width = array("Q"), 0
    try:
        sweep(folder.parent)
        with staged(folder) as new:
            with (new / VECTORS).open("wb") as out:
                for word, vector in entries(source):
                    keys.append(_key(word))
                    out.write(vector.astype("<f4").tobytes())
                    width = len(vector)
            ordered, rows = np.unique(np.array(keys, np.uint64), return_index=True)  # the first of equal words
            np.savez(new / INDEX, keys=ordered, rows=rows.astype(np.uint32), width=width)
    except (OSError, EOFError, zlib.error) as error:
        raise MissingResource(f"word vectors {source} cannot be converted to {folder}: {error}") from error


def _key(word: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(word, digest_size=8).digest(), "little")
