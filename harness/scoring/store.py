"""The score store: nothing is scored twice, and a killed run continues where it stopped.

    scores/FINGERPRINT/KEY-DIGEST.parquet             the scores of a metric on a dataset
    scores/FINGERPRINT/KEY.START-STOP-DIGEST.shard    scores of a part of its items, until all parts are stored

FINGERPRINT identifies the content of the items, KEY the signature of the metric, DIGEST the content of the file. The
metadata of a file has the signature.
"""

from __future__ import annotations

import contextlib
import itertools
import math
import re
from collections.abc import Callable, Collection, Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.storage.files import Store, digest
from harness.errors import StoreError
from harness.results.item_scores import file_of, table_of
from harness.scoring.score import Scores

Span = tuple[int, int]
"""Index of the first item of a part, and of the item after its last."""

_PART = re.compile(r"\.(\d+)-(\d+)-[0-9a-f]+\.shard$")


class ScoreStore:
    """Scores by dataset fingerprint and metric signature, in a folder or behind a URL."""

    def __init__(self, root: Path | str) -> None:
        self._store = Store(root)
        self.files, self.root, self.set_aside = self._store.files, self._store.files.root, self._store.set_aside

    def get(self, fingerprint: str, signature: str) -> Scores | None:
        with self._errors():
            return self._store.get(f"{_stem(fingerprint, signature)}.parquet", _from_parquet)

    def stored(self, fingerprint: str) -> Callable[[str], bool]:
        """Return a function that tells whether a signature has stored scores, from one listing of file names."""
        stems = {name.rpartition("-")[0] for name in self.files.names(fingerprint[:20], suffix=".parquet")}
        return lambda signature: _stem(fingerprint, signature) in stems

    def put(self, fingerprint: str, signature: str, scores: Scores) -> None:
        """Store the scores of a metric on a dataset, and remove its parts."""
        with self._errors():
            self._store.put(f"{_stem(fingerprint, signature)}.parquet", _to_parquet(scores, signature))
            self.clear(fingerprint, signature)

    def put_part(self, fingerprint: str, signature: str, span: Span, scores: Scores) -> None:
        key = f"{_stem(fingerprint, signature)}.{span[0]:07d}-{span[1]:07d}.shard"
        with self._errors():
            self._store.put(key, _to_parquet(scores, signature), durable=False)

    def parts(self, fingerprint: str, signature: str) -> dict[Span, str]:
        """Return the stored parts that do not overlap, with their file names."""
        parts: dict[Span, str] = {}
        end = 0
        for name in self._shards(fingerprint, signature):
            if matched := _PART.search(name):
                start, stop = int(matched[1]), int(matched[2])
                if end <= start < stop:
                    parts[start, stop], end = name, stop
        return parts

    def gaps(self, fingerprint: str, signature: str, count: int, failed: Collection[Span] = ()) -> Iterator[Span]:
        """Yield the spans of the `count` items that neither a stored part nor a `failed` span covers."""
        start = 0
        for span in sorted({*self.parts(fingerprint, signature), *failed, (count, count)}):
            if start < span[0]:
                yield start, span[0]
            start = span[1]

    def join_parts(self, fingerprint: str, signature: str, items: Sequence[str],
                   failed: Collection[Span] = ()) -> Scores | None:
        """Join all parts, with NaN for `failed` spans; None if a part is missing, damaged or of other items."""
        names = self.parts(fingerprint, signature)
        spans = sorted({*names, *failed})
        if not names or sum(stop - start for start, stop in spans) != len(items):
            return None
        parts = {span: scores for span, name in names.items()
                 if (scores := self._store.read(name, _from_parquet)) is not None}
        if len({frozenset(scores.columns) for scores in parts.values()}) > 1 or any(
                scores.items != tuple(items[slice(*span)]) for span, scores in parts.items()):
            for span in parts:
                self._store.put_aside(names[span])
            return None
        if parts.keys() != names.keys():
            return None
        columns = {name: np.concatenate([parts[span].columns[name] if span in parts
                                         else np.full(span[1] - span[0], np.nan) for span in spans])
                   for name in next(iter(parts.values())).columns}
        return Scores(tuple(items), columns, math.fsum(part.seconds for part in parts.values()),
                      math.fsum(part.standalone_seconds for part in parts.values()),
                      max(part.day for part in parts.values()))

    def clear(self, fingerprint: str, signature: str) -> None:
        for name in self._shards(fingerprint, signature):
            self.files.remove(name)

    def _shards(self, fingerprint: str, signature: str) -> list[str]:
        folder, _, stem = _stem(fingerprint, signature).rpartition("/")
        return self.files.names(folder, f"{stem}.", ".shard")

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:  # a full disk is not the metric's fault
            raise StoreError(f"{error.filename or self.root}: {error.strerror or error}; "
                             "scores are kept; fix this and run the same command again") from error


def split_span(span: Span, size: int) -> Iterator[Span]:
    """Split a span that is not empty at multiples of `size`, so that all metrics are split at the same items."""
    start, stop = span
    return itertools.pairwise((start, *range((start // size + 1) * size, stop, size), stop))


def _stem(fingerprint: str, signature: str) -> str:
    return f"{fingerprint[:20]}/{digest(signature.encode())}"


def _to_parquet(scores: Scores, signature: str) -> bytes:
    columns = {"item": pa.array(scores.items, pa.string())}
    columns |= {f"score:{name}": pa.array(column) for name, column in scores.columns.items()}
    metadata = {"signature": signature, "seconds": repr(scores.seconds),
                "alone": repr(scores.standalone_seconds), "day": scores.day}
    return file_of(pa.table(columns).replace_schema_metadata(metadata))


def _from_parquet(content: bytes) -> Scores:
    table = table_of(content)
    items, kinds, metadata = table.column("item"), table.schema.types, table.schema.metadata or {}
    if kinds != [pa.string(), *[pa.float64()] * (len(kinds) - 1)] or items.null_count:
        raise TypeError("expected an id and scores in each row")
    columns = {name.removeprefix("score:"): table.column(name).to_numpy() for name in table.column_names[1:]}
    return Scores(tuple(items.to_pylist()), columns, float(metadata[b"seconds"]), float(metadata.get(b"alone", b"nan")),
                  metadata.get(b"day", b"").decode())
