"""The tables of the results as Parquet files: a row for each record, and for each comparison of two columns.

Comparisons are read and written by column, since a run has several hundred thousand.
"""

from __future__ import annotations

import dataclasses
import io
import itertools
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from harness.results.rows import Comparisons

Row = TypeVar("Row")

KEY, SIDES, NUMBERS = Comparisons.KEY, Comparisons.SIDES, Comparisons.NUMBERS


def packed(rows: Sequence[Any], kind: type[Any]) -> bytes:
    """Return rows of one kind as a Parquet file."""
    if kind is Comparisons:
        return _packed_comparisons(rows)
    types = {"str": pa.string(), "float": pa.float64(), "bool": pa.bool_(), "tuple[str, ...]": pa.list_(pa.string())}
    schema = pa.schema([(field.name, types.get(str(field.type), pa.int64())) for field in dataclasses.fields(kind)])
    return file_of(pa.table({name: [getattr(row, name) for row in rows] for name in schema.names}, schema=schema))


def unpacked(content: bytes, kind: type[Row]) -> Iterator[Row]:
    if kind is Comparisons:
        return _unpacked_comparisons(content)  # type: ignore[return-value]
    table = table_of(content)
    columns = [table.column(field.name).to_pylist() for field in dataclasses.fields(kind)]  # type: ignore[arg-type]
    columns = [list(map(tuple, column)) if column and isinstance(column[0], list) else column for column in columns]
    return (kind(*row) for row in zip(*columns, strict=True))


def _packed_comparisons(comparisons: Sequence[Comparisons]) -> bytes:
    sizes = np.array(list(map(len, comparisons)), np.int64)
    keys = {name: np.array([getattr(part, name) for part in comparisons], object).repeat(sizes) for name in KEY}
    columns = {name: pa.array(values, pa.string()) for name, values in keys.items()}
    columns |= {side: pa.array(itertools.chain.from_iterable(
        np.array(part.names, object)[getattr(part, side)] for part in comparisons), pa.string()) for side in SIDES}
    columns |= {name: pa.array(np.concatenate([[], *(getattr(part, name) for part in comparisons)]),
                               pa.int64() if name == "n" else pa.float64()) for name in NUMBERS}
    return file_of(pa.table(columns), use_dictionary=[*KEY, *SIDES, "n"], store_schema=False)


def _unpacked_comparisons(content: bytes) -> Iterator[Comparisons]:
    """Read comparisons, grouped by quality, statistic and test."""
    table = table_of(content)
    strings = {name: table.column(name).combine_chunks().dictionary_encode() for name in (*KEY, *SIDES)}
    codes = {name: column.indices.to_numpy() for name, column in strings.items()}
    labels = {name: column.dictionary.to_pylist() for name, column in strings.items()}
    names = tuple(dict.fromkeys(name for side in SIDES for name in labels[side]))
    arrays = [*(np.array([names.index(name) for name in labels[side]], np.int64)[codes[side]] for side in SIDES),
              *(table.column(name).to_numpy() for name in NUMBERS)]
    change = np.any([codes[name][1:] != codes[name][:-1] for name in KEY], axis=0)
    starts = [0, *(np.flatnonzero(change) + 1).tolist()] if len(table) else []
    for start, end in itertools.pairwise([*starts, len(table)]):
        dataset, quality, statistic, test = (labels[name][codes[name][start]] for name in KEY)
        yield Comparisons(dataset, quality, statistic, test, names, *(array[start:end] for array in arrays))


def file_of(table: pa.Table, **options: object) -> bytes:
    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


def table_of(content: bytes) -> pa.Table:
    return pq.ParquetFile(pa.BufferReader(content)).read(use_threads=False)  # no Python object outlives the exit
