"""The ratings and scores of a dataset item by item: packed as Parquet, and read back.

    points/SLUG.parquet     item, system, words, context, human:0, human:1, ..., score:0, score:1, ...

Names from outside are no column names: the table's metadata holds them, in order, as JSON. Its floats are split by
byte and compressed, which makes them a third smaller than as they are.
"""

from __future__ import annotations

import hashlib
import io
import json
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias

from harness.results.rows import ItemScores
from harness.results.tables import array
from harness.statistics.panel import Vector
from metrics.column import of_quality, split_quality

if TYPE_CHECKING:
    import pyarrow as pa

SAFE = re.compile(r"[a-z0-9][a-z0-9_-]{0,79}")
"""Names that every file system takes, and keeps apart."""

DIGEST = 8

ColumnKey: TypeAlias = tuple[str, str]
"""Metric and column."""


def plain(columns: Mapping[ColumnKey, object]) -> Iterator[ColumnKey]:
    """The columns without those made for one quality (`COLUMN@QUALITY`), which stand for them there."""
    names: dict[str, list[str]] = {}
    for metric, column in columns:
        names.setdefault(metric, []).append(column)
    yield from (key for key in columns if not split_quality(key[1], names[key[0]])[1])


def on_quality(scores: Mapping[ColumnKey, Vector], key: ColumnKey, dimension: str) -> Vector:
    """A column on one quality: that made for it, else the plain one."""
    return scores.get((key[0], of_quality(key[1], dimension)), scores[key])


def slug(name: str) -> str:
    """A file name for a dataset: its own where every file system takes it, else a likeness with a digest."""
    if SAFE.fullmatch(name):
        return name
    plain = re.sub(r"[^a-z0-9_-]+", "-", name.casefold()).strip("-")[:40] or "dataset"
    return f"{plain}.{hashlib.sha256(name.encode(errors='surrogatepass')).hexdigest()[:DIGEST]}"


def packed(points: ItemScores) -> bytes:
    """The points as a Parquet file, the same bytes for the same points."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    columns: dict[str, pa.Array] = {
        "item": pa.array(points.items, pa.string()), "system": pa.array(points.systems, pa.string()),
        "words": pa.array(points.words, pa.int64()), "context": pa.array(points.contexts, pa.int64())}
    for kind, given in (("human", points.human), ("score", points.scores)):
        columns |= {f"{kind}:{place}": pa.array(values, pa.float64()) for place, values in enumerate(given.values())}
    floats = [name for name in columns if ":" in name]
    notes = {"dataset": points.dataset, "human": list(points.human), "score": [list(name) for name in points.scores]}
    table = pa.table(columns).replace_schema_metadata({"points": json.dumps(notes)})
    sink = io.BytesIO()
    pq.write_table(table, sink, compression="zstd", use_dictionary=["system"], write_statistics=False,
                   use_byte_stream_split=floats, store_schema=True)
    return sink.getvalue()


def unpacked(content: bytes) -> ItemScores:
    """Read points back."""
    import pyarrow.parquet as pq

    table = pq.ParquetFile(io.BytesIO(content)).read(use_threads=False)
    notes = json.loads(table.schema.metadata[b"points"])
    return ItemScores(
        dataset=notes["dataset"], items=tuple(table.column("item").to_pylist()),
        systems=tuple(table.column("system").to_pylist()), words=array(table.column("words")),
        contexts=array(table.column("context")),
        human={name: array(table.column(f"human:{place}")) for place, name in enumerate(notes["human"])},
        scores={(metric, column): array(table.column(f"score:{place}"))
                for place, (metric, column) in enumerate(notes["score"])})
