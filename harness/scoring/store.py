"""The score store: what was scored once is not scored again, and a killed run goes on where it stopped.

    scores/FINGERPRINT/METRIC-KEY-DIGEST.parquet             a whole cell
    scores/FINGERPRINT/METRIC-KEY.START-STOP-DIGEST.shard    a part of one, until all of its parts are there

FINGERPRINT names the content of the items, KEY the metric's whole signature, DIGEST the content of the file itself.
So one that was cut short or damaged is known without being read; it is set aside and scored anew, and so is one that is
whole and yet not of this form.
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
from harness.scoring.score import Scores
from harness.scoring.storage import Blobs, opened

Span = tuple[int, int]
"""The first item of a part, and the one after its last."""

_OTHER_FORM = (pa.ArrowException, OSError, ValueError, KeyError, TypeError)
"""What pyarrow, or a look at the columns, raises of a file that was not packed here."""

_PART = re.compile(r"\.(\d+)-(\d+)-[0-9a-f]+\.shard$")


class ScoreStore:
    """Scores by dataset fingerprint and metric signature, in a place that several runs may share."""

    def __init__(self, root: Path | str) -> None:
        self.blobs: Blobs = opened(root)
        self.set_aside: list[str] = []

    @property
    def root(self) -> str:
        """Where it is."""
        return self.blobs.root

    def get(self, fingerprint: str, signature: str) -> Scores | None:
        """The scores of a cell, or None; a damaged file is set aside."""
        with _told(self.root):
            for name in self.blobs.names(_folder(fingerprint), f"{_stem(signature)}-*.parquet"):
                if (found := self._read(name)) is not None:
                    return found
        return None

    def has(self, fingerprint: str, signature: str) -> bool:
        """Whether a cell was scored; looks at the names alone."""
        return bool(self.blobs.names(_folder(fingerprint), f"{_stem(signature)}-*.parquet"))

    def kept(self, fingerprint: str) -> Callable[[str], bool]:
        """Whether a cell of these items was scored, by its signature; the names are looked at once."""
        stems = {name.rpartition("/")[2].rpartition("-")[0]
                 for name in self.blobs.names(_folder(fingerprint), "*.parquet")}
        return lambda signature: _stem(signature) in stems

    def put(self, fingerprint: str, signature: str, scores: Scores) -> None:
        """Keep the scores of a cell, in place of older ones."""
        folder, stem, content = _folder(fingerprint), _stem(signature), _packed(scores, signature)
        name = f"{folder}/{stem}-{_digest(content)}.parquet"
        with _told(self.root):
            self.blobs.write(name, content)
            for old in self.blobs.names(folder, f"{stem}-*.parquet"):
                if old != name:
                    self.blobs.remove(old)

    def put_part(self, fingerprint: str, signature: str, span: Span, scores: Scores) -> None:
        """Keep the scores of a part of a cell."""
        content = _packed(scores, signature)
        stem = f"{_folder(fingerprint)}/{_stem(signature)}"
        self.blobs.write(f"{stem}.{span[0]:07d}-{span[1]:07d}-{_digest(content)}.shard", content,
                         lasting=False)

    def parts(self, fingerprint: str, signature: str) -> dict[Span, str]:
        """The parts of a cell that are there and do not overlap, with their names; looks at the names alone."""
        found: dict[Span, str] = {}
        end = 0
        for name in self.blobs.names(_folder(fingerprint), f"{_stem(signature)}.*.shard"):
            if matched := _PART.search(name):
                start, stop = int(matched[1]), int(matched[2])
                if end <= start < stop:
                    found[start, stop], end = name, stop
        return found

    def merge(self, fingerprint: str, signature: str, items: Sequence[str], empty: Collection[Span] = ()) -> bool:
        """Make a cell of its parts, with NaN where `empty` says so; False where parts are missing or damaged."""
        spans = self.parts(fingerprint, signature)
        covered = sorted({*spans, *(span for span in empty if span not in spans)})
        if not spans or [covered[0][0], covered[-1][1]] != [0, len(items)] or any(
                before[1] != after[0] for before, after in pairwise(covered)):
            return False
        there = self._fitting(spans, items)
        if there.keys() != spans.keys():
            return False
        self.put(fingerprint, signature, _joined(items, covered, there))
        self.clear(fingerprint, signature)
        return True

    def clear(self, fingerprint: str, signature: str) -> None:
        """Take the parts of a cell away."""
        for name in self.blobs.names(_folder(fingerprint), f"{_stem(signature)}.*.shard"):
            self.blobs.remove(name)

    def _fitting(self, spans: Mapping[Span, str], items: Sequence[str]) -> dict[Span, Scores]:
        """The parts that are whole and of these items; the others are set aside, and all if their columns differ."""
        there = {span: found for span, name in spans.items() if (found := self._read(name)) is not None}
        differ = len({frozenset(found.columns) for found in there.values()}) > 1
        bad = [span for span, found in there.items() if differ or found.items != tuple(items[slice(*span)])]
        for span in bad:
            self._put_aside(spans[span])
        return {span: found for span, found in there.items() if span not in bad}

    def _read(self, name: str) -> Scores | None:
        """What is in a file that is what its name says; one that is not is set aside."""
        try:
            content = self.blobs.read(name)
        except FileNotFoundError:  # another run has just replaced it
            return None
        if name.rpartition(".")[0].rpartition("-")[2] == _digest(content):
            with contextlib.suppress(*_OTHER_FORM):
                return _unpacked(content)
        self._put_aside(name)
        return None

    def _put_aside(self, name: str) -> None:
        self.blobs.rename(name, f"{name.rpartition('.')[0]}.damaged")
        self.set_aside.append(f"{self.root}/{name}")


@contextlib.contextmanager
def _told(root: str) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StoreError(f"{error.filename or root}: {error.strerror or error}") from error


def _joined(items: Sequence[str], spans: Sequence[Span], parts: Mapping[Span, Scores]) -> Scores:
    """The parts one behind the other; NaN for the items of a span that has none."""
    names = next(iter(parts.values())).columns
    columns = {name: np.concatenate([parts[span].columns[name] if span in parts else np.full(span[1] - span[0], np.nan)
                                     for span in spans]) for name in names}
    return Scores(tuple(items), columns, math.fsum(part.seconds for part in parts.values()))


def stem(fingerprint: str, signature: str) -> str:
    """What a cell is called where it is claimed."""
    return f"{_folder(fingerprint)}-{_stem(signature)}"


def _folder(fingerprint: str) -> str:
    return fingerprint[:20]


def _stem(signature: str) -> str:
    return f"{signature.partition('|')[0]}-{_digest(signature.encode())}"


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:20]


def _packed(scores: Scores, signature: str) -> bytes:
    columns = {"item": pa.array(scores.items, pa.string())}
    columns |= {f"score:{name}": pa.array(column, pa.float64()) for name, column in scores.columns.items()}
    notes = {"signature": signature, "seconds": repr(scores.seconds)}
    sink = io.BytesIO()
    pq.write_table(pa.table(columns).replace_schema_metadata(notes), sink)
    return sink.getvalue()


def _unpacked(content: bytes) -> Scores:
    table = pq.ParquetFile(io.BytesIO(content)).read(use_threads=False)
    items, kinds, notes = table.column("item"), table.schema.types, table.schema.metadata or {}
    if kinds != [pa.string(), *[pa.float64()] * (len(kinds) - 1)] or items.null_count:
        raise TypeError("not an id and scores in each row")
    columns = {name.removeprefix("score:"): table.column(name).to_numpy() for name in table.column_names[1:]}
    return Scores(tuple(items.to_pylist()), columns, float(notes[b"seconds"]))
