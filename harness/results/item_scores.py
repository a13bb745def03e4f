"""The ratings and scores of a dataset item by item, as a Parquet file.

    points/SLUG.parquet     item, system, words, context, human:QUALITY, ..., score:COLUMN, ..., conversation

`conversation` exists only if a context continues another. The column names are meant for people: the table's metadata
holds the exact names, in order, as JSON. Floats are split by byte and compressed, which saves a third.
"""

from __future__ import annotations

import hashlib
import io
import itertools
import json
import re
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence

import pyarrow as pa
import pyarrow.parquet as pq

from harness.results.rows import ColumnKey, ItemScores
from harness.statistics.panel import Vector
from metrics.column import of_quality, split_quality

SAFE = re.compile(r"[a-z0-9][a-z0-9_-]{0,79}")
"""File names that are valid and distinct on every file system."""


def columns_for_all_qualities(columns: Mapping[ColumnKey, object]) -> Iterator[ColumnKey]:
    """Yield the columns that are not for one quality (`COLUMN@QUALITY`)."""
    names: dict[str, list[str]] = {}
    for metric, column in columns:
        names.setdefault(metric, []).append(column)
    yield from (key for key in columns if not split_quality(key[1], names[key[0]])[1])


def labels(names: Sequence[ColumnKey]) -> list[str]:
    """Name each column, with its metric where two metrics share a column name."""
    columns = Counter(column for _, column in names)
    return [column if columns[column] == 1 else f"{metric}/{column}" for metric, column in names]


def on_quality(scores: Mapping[ColumnKey, Vector], key: ColumnKey, dimension: str) -> Vector:
    """Return the scores of a column for one quality: of COLUMN@QUALITY if it exists, else of COLUMN itself."""
    return scores.get((key[0], of_quality(key[1], dimension)), scores[key])


def slug(name: str) -> str:
    """Return a file name valid on every file system, with a digest if it differs from the name."""
    if SAFE.fullmatch(name):
        return name
    readable = re.sub(r"[^a-z0-9_-]+", "-", name.casefold()).strip("-")[:40] or "dataset"
    return f"{readable}.{hashlib.sha256(name.encode(errors='surrogatepass')).hexdigest()[:8]}"


def to_parquet(points: ItemScores) -> bytes:
    """Write item scores as Parquet; equal scores give equal bytes."""
    columns: dict[str, pa.Array] = {
        "item": pa.array(points.items, pa.string()), "system": pa.array(points.systems, pa.string()),
        "words": pa.array(points.words), "context": pa.array(points.contexts)}
    float_columns = []
    for kind, names, vectors in (("human", list(points.human), points.human.values()),
                                 ("score", labels(list(points.scores)), points.scores.values())):
        for name, values in zip(names, vectors, strict=True):
            float_columns.append(_column_name(f"{kind}:{name}", columns))
            columns[float_columns[-1]] = pa.array(values)
    if points.conversations is not None:
        columns["conversation"] = pa.array(points.conversations)
    metadata = {"dataset": points.dataset, "human": list(points.human), "score": list(map(list, points.scores))}
    table = pa.table(columns).replace_schema_metadata({"points": json.dumps(metadata)})
    return file_of(table, compression="zstd", use_dictionary=["system"], write_statistics=False,
                   use_byte_stream_split=float_columns, store_schema=True)


def from_parquet(content: bytes) -> ItemScores:
    table = table_of(content)
    metadata = json.loads(table.schema.metadata[b"points"])
    columns = iter(table.columns[4:])
    return ItemScores(
        dataset=metadata["dataset"], items=tuple(table.column("item").to_pylist()),
        systems=tuple(table.column("system").to_pylist()), words=table.column("words").to_numpy(),
        contexts=table.column("context").to_numpy(),
        human={name: next(columns).to_numpy() for name in metadata["human"]},
        scores={(metric, column): next(columns).to_numpy() for metric, column in metadata["score"]},
        conversations=table.column("conversation").to_numpy() if "conversation" in table.column_names else None)


def file_of(table: pa.Table, **options: object) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


def table_of(content: bytes) -> pa.Table:
    return pq.ParquetFile(pa.BufferReader(content)).read(use_threads=False)  # threads could hold Python objects at exit


def _column_name(name: str, others: Container[str]) -> str:
    """Turn any name into a column name: printable, short and unique."""
    printable = "".join(char if char.isprintable() else ascii(char)[1:-1] for char in name)[:100]
    names = itertools.chain([printable], (f"{printable} {number}" for number in itertools.count(2)))
    return next(name for name in names if name not in others)
