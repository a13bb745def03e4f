"""The score store: nothing is scored twice, and a killed run continues where it stopped.

    scores/FINGERPRINT/METRIC-KEY-DIGEST.parquet             the scores of a metric on a dataset
    scores/FINGERPRINT/METRIC-KEY.START-STOP-DIGEST.shard    those of a part of its items, until all parts are there

FINGERPRINT identifies the content of the items, KEY the signature of the metric, DIGEST the content of the file. A file
that does not match its digest or has another form is moved aside and scored again.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from harness.errors import StoreError
from harness.scoring.files import Files, open_files
from harness.scoring.score import Scores

Span = tuple[int, int]
"""Index of the first item of a part, and of the one after its last."""

_OTHER_FORM = (pa.ArrowException, OSError, ValueError, KeyError, TypeError)
"""Exceptions of pyarrow or of reading the columns for a file that this store has not written."""

_PART = re.compile(r"\.(\d+)-(\d+)-[0-9a-f]+\.shard$")


class ScoreStore:
    """Scores by dataset fingerprint and metric signature, in a folder or behind a URL."""

    def __init__(self, root: Path | str) -> None:
        self.files: Files = open_files(root)
        self.set_aside: list[str] = []

    @property
    def root(self) -> str:
        return self.files.root

    def get(self, fingerprint: str, signature: str) -> Scores | None:
        """Return the scores of a metric on a dataset, or None; a damaged file is moved aside."""
        with self._errors():
            for name in self.files.names(_folder(fingerprint), f"{_stem(signature)}-*.parquet"):
                if (scores := self._read(name)) is not None:
                    return scores
        return None

    def has(self, fingerprint: str, signature: str) -> bool:
        """Return True if there are scores, by file names alone."""
        return bool(self.files.names(_folder(fingerprint), f"{_stem(signature)}-*.parquet"))

    def stored(self, fingerprint: str) -> Callable[[str], bool]:
        """Return a function that looks up signatures in a listing made once."""
        stems = {name.rpartition("/")[2].rpartition("-")[0]
                 for name in self.files.names(_folder(fingerprint), "*.parquet")}
        return lambda signature: _stem(signature) in stems

    def put(self, fingerprint: str, signature: str, scores: Scores) -> None:
        """Store the scores of a metric on a dataset; older ones and its parts are removed."""
        folder, stem, content = _folder(fingerprint), _stem(signature), _to_parquet(scores, signature)
        name = f"{folder}/{stem}-{_digest(content)}.parquet"
        with self._errors():
            self.files.write(name, content)
            for old in self.files.names(folder, f"{stem}-*.parquet"):
                if old != name:
                    self.files.remove(old)
            self.clear(fingerprint, signature)

    def put_part(self, fingerprint: str, signature: str, span: Span, scores: Scores) -> None:
        content = _to_parquet(scores, signature)
        stem = f"{_folder(fingerprint)}/{_stem(signature)}"
        with self._errors():
            self.files.write(f"{stem}.{span[0]:07d}-{span[1]:07d}-{_digest(content)}.shard", content, lasting=False)

    def parts(self, fingerprint: str, signature: str) -> dict[Span, str]:
        """Return the stored parts that do not overlap, with their file names."""
        parts: dict[Span, str] = {}
        end = 0
        for name in self.files.names(_folder(fingerprint), f"{_stem(signature)}.*.shard"):
            if matched := _PART.search(name):
                start, stop = int(matched[1]), int(matched[2])
                if end <= start < stop:
                    parts[start, stop], end = name, stop
        return parts

    def gaps(self, fingerprint: str, signature: str, count: int) -> Iterator[Span]:
        """Yield the spans of `count` items that no stored part covers."""
        start = 0
        for span in self.parts(fingerprint, signature):
            if start < span[0]:
                yield start, span[0]
            start = span[1]
        if start < count:
            yield start, count

    def joined(self, fingerprint: str, signature: str, items: Sequence[str],
               refused: Collection[Span] = ()) -> Scores | None:
        """Join all parts, with NaN for the `refused` ones; None where a part is missing or damaged."""
        names = self.parts(fingerprint, signature)
        spans = sorted({*names, *(span for span in refused if span not in names)})
        if not names or [spans[0][0], spans[-1][1]] != [0, len(items)] or any(
                before[1] != after[0] for before, after in pairwise(spans)):
            return None
        parts = self._fitting(names, items)
        if parts.keys() != names.keys():
            return None
        missing = {span: np.full(span[1] - span[0], np.nan) for span in spans if span not in parts}
        columns = {name: np.concatenate([missing[span] if span in missing else parts[span].columns[name]
                                         for span in spans]) for name in next(iter(parts.values())).columns}
        seconds, alone = (math.fsum(getattr(part, name) for part in parts.values()) for name in ("seconds", "alone"))
        return Scores(tuple(items), columns, seconds, alone, max(part.day for part in parts.values()))

    def clear(self, fingerprint: str, signature: str) -> None:
        for name in self.files.names(_folder(fingerprint), f"{_stem(signature)}.*.shard"):
            self.files.remove(name)

    def _fitting(self, names: Mapping[Span, str], items: Sequence[str]) -> dict[Span, Scores]:
        """Read the undamaged parts of these items; others are moved aside, and all if their columns differ."""
        parts = {span: scores for span, name in names.items() if (scores := self._read(name)) is not None}
        differ = len({frozenset(scores.columns) for scores in parts.values()}) > 1
        bad = [span for span, scores in parts.items() if differ or scores.items != tuple(items[slice(*span)])]
        for span in bad:
            self._put_aside(names[span])
        return {span: scores for span, scores in parts.items() if span not in bad}

    def _read(self, name: str) -> Scores | None:
        """Read a file that matches its digest; another is moved aside."""
        try:
            content = self.files.read(name)
        except FileNotFoundError:  # another run has just replaced it
            return None
        if name.rpartition(".")[0].rpartition("-")[2] == _digest(content):
            with contextlib.suppress(*_OTHER_FORM):
                return _from_parquet(content)
        self._put_aside(name)
        return None

    def _put_aside(self, name: str) -> None:
        self.files.rename(name, f"{name.rpartition('.')[0]}.damaged")
        self.set_aside.append(f"{self.root}/{name}")

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:  # a full disk is no fault of the metric
            raise StoreError(f"{error.filename or self.root}: {error.strerror or error}; "
                             "scores are kept; fix this and give the same command again") from error


def cut(span: Span, size: int) -> Iterator[Span]:
    """Cut a span along the grid of a size, so that two metrics are cut at the same items."""
    start = span[0]
    while start < span[1]:
        stop = min(span[1], (start // size + 1) * size)
        yield start, stop
        start = stop


def _folder(fingerprint: str) -> str:
    return fingerprint[:20]


def _stem(signature: str) -> str:
    return f"{signature.partition('|')[0]}-{_digest(signature.encode())}"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:20]


def _to_parquet(scores: Scores, signature: str) -> bytes:
    columns = {"item": pa.array(scores.items, pa.string())}
    columns |= {f"score:{name}": pa.array(column) for name, column in scores.columns.items()}
    notes = {"signature": signature, "seconds": repr(scores.seconds), "alone": repr(scores.alone), "day": scores.day}
    sink = io.BytesIO()
    pq.write_table(pa.table(columns).replace_schema_metadata(notes), sink)
    return sink.getvalue()


def _from_parquet(content: bytes) -> Scores:
    table = pq.ParquetFile(io.BytesIO(content)).read(use_threads=False)
    items, kinds, notes = table.column("item"), table.schema.types, table.schema.metadata or {}
    if kinds != [pa.string(), *[pa.float64()] * (len(kinds) - 1)] or items.null_count:
        raise TypeError("not an id and scores in each row")
    columns = {name.removeprefix("score:"): table.column(name).to_numpy() for name in table.column_names[1:]}
    return Scores(tuple(items.to_pylist()), columns, float(notes[b"seconds"]), float(notes.get(b"alone", b"nan")),
                  notes.get(b"day", b"").decode())
