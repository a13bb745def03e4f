"""Files of word vectors: word2vec (text or binary) and GloVe, optionally gzipped; NumPy arrays with a separate index.

word2vec files start with a line `COUNT WIDTH`, GloVe files do not. A vector is the last `width` fields of its line, as
some words in GloVe files contain spaces. Words that are not UTF-8 are accepted but never found, and blank lines are
skipped. Anything else is refused with file and line.
"""

from __future__ import annotations

import gzip
import io
import itertools
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import IO, TypeAlias

import numpy as np

from metrics.errors import MissingResource
from metrics.models.memory import Vectors

Entries: TypeAlias = Iterator[tuple[bytes, Vectors]]
"""Words with their vectors, in the order of the file."""

_CHUNK = 1 << 20
_MAX_WIDTH = 1 << 16
_CONTROL = re.compile(rb"[\x00-\x08\x0e-\x1f]")
_GZIPPED = b"\x1f\x8b"


def entries(path: Path) -> Entries:
    """Yield the words and vectors of a file in any of the formats; raise MissingResource for other content."""
    if path.suffix == ".npy":
        yield from _rows(path)
        return
    with path.open("rb") as raw:
        zipped = raw.read(2) == _GZIPPED
    with io.BufferedReader(gzip.open(path) if zipped else path.open("rb", 0), _CHUNK) as stream:
        first = stream.readline(_CHUNK)
        fields = first.split()
        if len(fields) != 2 or not all(field.isdigit() for field in fields):
            if _CONTROL.search(first) or not _width(fields):
                raise _refused(path, "line 1", "neither word2vec nor GloVe (pickle, zip, fastText .bin: unsupported)")
            yield from _text(itertools.chain([first], stream), 1, _width(fields), path)
            return
        count, width = map(int, fields)
        if not (count and 0 < width <= _MAX_WIDTH):
            raise _refused(path, "line 1", f"{count} vectors of {width} numbers are impossible")
        if ".bin" in path.suffixes or _CONTROL.search(stream.peek(4096)):
            yield from _binary(stream, count, width, path)
            return
        number = 0
        for entry in _text(stream, 2, width, path):
            number += 1
            yield entry
        if number != count:
            raise _refused(path, "line 1", f"announces {count} vectors, but the file holds {number}; fetch it again, "
                                           "or correct the line")


def _rows(path: Path) -> Entries:
    """Yield the rows of a NumPy file; the words are the first column of the only Parquet file in its folder."""
    import pyarrow.parquet

    indices = list(path.parent.glob("*.parquet"))
    try:
        table = np.load(path, mmap_mode="r", allow_pickle=False)
        words = pyarrow.parquet.read_table(indices[0]).column(0).to_pylist() if len(indices) == 1 else []
    except (ValueError, OSError, EOFError) as error:  # Arrow's errors are subclasses
        raise _refused(path, "with its index", f"cannot be read ({' '.join(str(error).split()):.120})") from error
    if table.ndim != 2 or len(words) != len(table):
        raise _refused(path, "with its index", f"shape {table.shape}, but {len(words)} words in the .parquet file")
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
            raise _refused(path, f"line {number}", str(error)) from error
        if len(fields) != width or _width(word.split()) or not np.isfinite(vector).all():
            raise _refused(path, f"line {number}", f"expected a word and {width} finite numbers")
        yield word, vector


def _binary(stream: IO[bytes], count: int, width: int, path: Path) -> Entries:
    """Yield words, which end with a space, and the vectors after them; word2vec, unlike gensim, adds line feeds."""
    for number in range(1, count + 1):
        characters = iter(lambda: stream.read(1) or b" ", b" ")
        word, content = b"".join(characters).lstrip(b"\n"), stream.read(4 * width)
        if len(content) < 4 * width:
            raise _refused(path, f"word {number} of {count}", "truncated; fetch the file again")
        vector = np.frombuffer(content, "<f4")
        if _CONTROL.search(word) or not np.isfinite(vector).all():
            raise _refused(path, f"word {number} of {count}",
                           "expected a word and finite numbers; does the word contain a space?")
        yield word, vector
    if stream.read(_CHUNK).strip(b"\n"):
        raise _refused(path, f"word {count} of {count}", "the file continues after its last word; fetch it again")


def _width(fields: list[bytes]) -> int:
    """Return how many fields at the end are numbers, not counting the first field."""
    width = 0
    for field in reversed(fields[1:]):
        try:
            float(field)
        except ValueError:
            break
        width += 1
    return width


def _refused(path: Path, where: str, problem: str) -> MissingResource:
    return MissingResource(f"word vectors {path}: {where}: {problem}")
