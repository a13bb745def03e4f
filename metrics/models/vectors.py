"""Word vectors, from a file or from the input embeddings of an encoder.

A file is in the format of word2vec (text or binary) or GloVe, optionally gzipped, or a NumPy array with a Parquet file
of its words. word2vec files start with a line `COUNT WIDTH`, GloVe files do not. A vector is the last `width` fields of
its line, as some words in GloVe files contain spaces. Words that are not UTF-8 are accepted but never found, and blank
lines are skipped. Any other content raises an error with file and line.

A file may be larger than memory. It is converted once, into a folder HOME/vectors/DIGEST:

    vectors.f4    the vectors in the order of the file, to be memory-mapped
    index.npz     64-bit digests of the words in ascending order, the row of each word, and the width of a row

If a word occurs twice, its first vector counts.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import io
import itertools
import re
import zlib
from array import array
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING, TypeAlias

import numpy as np

from benchmarks.storage.files import staged, sweep
from metrics.errors import MissingResource
from metrics.models.memory import Vectors

if TYPE_CHECKING:
    from metrics.models.encoder import Encoder
    from metrics.models.resources import Resource

INDEX, VECTORS = "index.npz", "vectors.f4"
Entries: TypeAlias = Iterator[tuple[bytes, Vectors]]
"""Words with their vectors, in the order of the file."""

_CHUNK = 1 << 20
_MAX_WIDTH = 1 << 16
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")


class WordVectors:
    """Vectors of words, with a cache of looked-up words."""

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

    def vector_of(word: str) -> Vectors | None:
        key = np.uint64(_key(word.encode(errors="surrogatepass")))
        index = int(np.searchsorted(keys, key))
        return vectors[rows[index]].astype(np.float32) if index < len(keys) and keys[index] == key else None

    def look_up(word: str) -> Vectors | None:
        plain = word.lower().replace("’", "'")
        for spelling in dict.fromkeys((word, word.lower(), plain)):
            if (vector := vector_of(spelling)) is not None:
                return vector
        split_at = len(plain) - 3 if plain.endswith("n't") else plain.rfind("'")
        parts = (plain[:split_at], plain[split_at:]) if split_at > 0 else ()
        known = [vector for part in parts if (vector := vector_of(part)) is not None]
        return np.mean(known, axis=0, dtype=np.float32) if known else None

    return WordVectors(resource.name, width, look_up)


def _convert(source: Path, folder: Path) -> None:
    keys, width = array("Q"), 0
    try:
        sweep(folder.parent)
        with staged(folder) as new:
            with (new / VECTORS).open("wb") as out:
                for word, vector in _entries(source):
                    keys.append(_key(word))
                    out.write(vector.astype("<f4").tobytes())
                    width = len(vector)
            ordered, rows = np.unique(np.array(keys, np.uint64), return_index=True)  # the first of equal words
            np.savez(new / INDEX, keys=ordered, rows=rows.astype(np.uint32), width=width)
    except (OSError, EOFError, zlib.error) as error:
        raise MissingResource(f"word vectors {source} cannot be converted to {folder}: {error}") from error


def _key(word: bytes) -> int:
    return int.from_bytes(hashlib.blake2b(word, digest_size=8).digest(), "little")


def _entries(path: Path) -> Entries:
    """Yield the words and vectors of a file in any of the formats; raise MissingResource for other content."""
    if path.suffix == ".npy":
        yield from _rows(path)
        return
    with path.open("rb") as raw:
        zipped = raw.read(2) == b"\x1f\x8b"
    with io.BufferedReader(gzip.open(path) if zipped else path.open("rb", 0), _CHUNK) as stream:
        first = stream.readline(_CHUNK)
        fields = first.split()
        if len(fields) != 2 or not all(field.isdigit() for field in fields):
            if _CONTROL.search(first) or not _width(fields):
                raise _invalid(path, "line 1", "neither word2vec nor GloVe (pickle, zip, fastText .bin: unsupported)")
            yield from _text(itertools.chain([first], stream), 1, _width(fields), path)
            return
        count, width = map(int, fields)
        if not (count and 0 < width <= _MAX_WIDTH):
            raise _invalid(path, "line 1", f"{count} vectors of {width} numbers are impossible")
        if ".bin" in path.suffixes or _CONTROL.search(stream.peek(4096)):
            yield from _binary(stream, count, width, path)
            return
        found = 0
        for entry in _text(stream, 2, width, path):
            found += 1
            yield entry
        if found != count:
            raise _invalid(path, "line 1", f"announces {count} vectors, but the file holds {found}; fetch it again, "
                                           "or correct the line")


def _rows(path: Path) -> Entries:
    """Yield the rows of a NumPy file; the words are the first column of the only Parquet file in its folder."""
    import pyarrow.parquet

    indices = list(path.parent.glob("*.parquet"))
    try:
        table = np.load(path, mmap_mode="r", allow_pickle=False)
        words = pyarrow.parquet.read_table(indices[0]).column(0).to_pylist() if len(indices) == 1 else []
    except (ValueError, OSError, EOFError) as error:  # Arrow's errors are subclasses
        raise _invalid(path, "with its index", f"cannot be read ({' '.join(str(error).split()):.120})") from error
    if table.ndim != 2 or len(words) != len(table):
        raise _invalid(path, "with its index", f"shape {table.shape}, but {len(words)} words in the .parquet file")
    for word, vector in zip(words, table, strict=True):
        yield str(word).encode(), np.array(vector, dtype=np.float32)


def _text(lines: Iterable[bytes], start: int, width: int, path: Path) -> Entries:
    for number, line in enumerate(lines, start):
        if not line.strip():
            continue
        word, *fields = line.rsplit(None, width)
        try:
            vector = np.array(fields, dtype=np.float32)
        except ValueError as error:
            raise _invalid(path, f"line {number}", str(error)) from error
        if len(fields) != width or _width(word.split()) or not np.isfinite(vector).all():
            raise _invalid(path, f"line {number}", f"expected a word and {width} finite numbers")
        yield word, vector


def _binary(stream: IO[bytes], count: int, width: int, path: Path) -> Entries:
    """Yield words, which end with a space, and the vectors after them; word2vec, unlike gensim, adds line feeds."""
    for number in range(1, count + 1):
        characters = iter(lambda: stream.read(1) or b" ", b" ")
        word, content = b"".join(characters).lstrip(b"\n"), stream.read(4 * width)
        if len(content) < 4 * width:
            raise _invalid(path, f"word {number} of {count}", "truncated; fetch the file again")
        vector = np.frombuffer(content, "<f4")
        if _CONTROL.search(word) or not np.isfinite(vector).all():
            raise _invalid(path, f"word {number} of {count}",
                           "expected a word and finite numbers; does the word contain a space?")
        yield word, vector
    if stream.read(_CHUNK).strip(b"\n"):
        raise _invalid(path, f"word {count} of {count}", "the file continues after its last word; fetch it again")


def _width(fields: list[bytes]) -> int:
    """Return how many fields at the end are numbers, not counting the first field."""
    for width, field in enumerate(reversed(fields[1:])):
        try:
            float(field)
        except ValueError:
            return width
    return max(0, len(fields) - 1)


def _invalid(path: Path, where: str, problem: str) -> MissingResource:
    return MissingResource(f"word vectors {path}: {where}: {problem}")
