"""The tables of the results as Parquet: rows as they are, comparisons by column, since there are some hundred thousand.

Texts are read as places in a list of the few that there are. A value that is None is null.
"""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from harness.results.rows import Comparison, Comparisons

if TYPE_CHECKING:
    import pyarrow as pa

Row = TypeVar("Row")
Places = npt.NDArray[np.int64]

KEY = ("dataset", "quality", "statistic", "test")
"""What the comparisons of one value share."""

SIDES = ("better", "worse")
NUMBERS = ("n", "delta", "value", "p", "holm", "bh")


def packed(rows: Sequence[Any], kind: type[Any]) -> bytes:
    """Rows of one kind as a Parquet file."""
    import pyarrow as pa

    columns = {entry.name: [getattr(row, entry.name) for row in rows] for entry in dataclasses.fields(kind)}
    return _file(pa.table({
        entry.name: texts(columns[entry.name]) if entry.type == "str" else
        numbers(columns[entry.name], np.float64 if entry.type == "float" else np.int64)
        for entry in dataclasses.fields(kind)}))


def unpacked(content: bytes, kind: type[Row]) -> tuple[Row, ...]:
    """Read rows back."""
    fields: Sequence[Any] = dataclasses.fields(kind)  # type: ignore[arg-type]
    table = _table(content, [entry.name for entry in fields if entry.type == "str"])
    columns = []
    for entry in fields:
        column = table.column(entry.name)
        if entry.type == "str":
            places, texts = _texts(column)
            columns.append([texts[place] for place in places.tolist()])
        else:
            columns.append(column.to_pylist() if column.null_count else array(column).tolist())
    return tuple(kind(*row) for row in zip(*columns, strict=True))


def packed_comparisons(every: Sequence[Comparisons]) -> bytes:
    """Comparisons as a Parquet file, a row for each; its texts are texts for whoever reads it."""
    import pyarrow as pa

    columns = {name: _places(([getattr(own, name)], np.zeros(len(own), np.int64)) for own in every) for name in KEY}
    columns |= {name: _places((own.names, getattr(own, name)) for own in every) for name in SIDES}
    columns |= {name: numbers(np.concatenate([np.zeros(0), *(getattr(own, name) for own in every)]),
                              np.int64 if name == "n" else np.float64) for name in NUMBERS}
    names = [entry.name for entry in dataclasses.fields(Comparison)]
    return _file(pa.table({name: columns[name] for name in names}), use_dictionary=[*KEY, *SIDES, "n"],
                 store_schema=False)


def unpacked_comparisons(content: bytes) -> Iterator[Comparisons]:
    """Read comparisons back: one value for those on a quality by a statistic and test."""
    table = _table(content, [*KEY, *SIDES])
    keys, sides = ([_texts(table.column(name)) for name in names] for names in (KEY, SIDES))
    names = tuple(dict.fromkeys(text for _, texts in sides for text in texts))
    place = {name: number for number, name in enumerate(names)}
    better, worse = (np.array([place[text] for text in texts], np.int64)[places] for places, texts in sides)
    numbers = [array(table.column(name)) for name in NUMBERS]
    change = np.any([places[1:] != places[:-1] for places, _ in keys], axis=0)
    starts = [0, *(np.flatnonzero(change) + 1).tolist()] if len(better) else []
    for start, end in zip(starts, [*starts[1:], len(better)], strict=False):
        dataset, quality, statistic, test = (own[places[start]] for places, own in keys)
        yield Comparisons(dataset, quality, statistic, test, names,
                          *(column[start:end] for column in (better, worse, *numbers)))


def array(column: pa.ChunkedArray) -> npt.NDArray[Any]:
    """The numbers of a column in one piece; `to_numpy` would import pandas."""
    whole = column.combine_chunks()
    return np.frombuffer(whole.buffers()[1] or b"", whole.type.to_pandas_dtype(), len(whole), 8 * whole.offset)


def texts(values: Sequence[str]) -> pa.Array:
    """Texts as Arrow; here and below from their bytes, because `pa.array` would import pandas."""
    import pyarrow as pa

    parts = [value.encode() for value in values]
    ends = np.cumsum([0, *map(len, parts)], dtype=np.int32)
    return pa.StringArray.from_buffers(len(parts), pa.py_buffer(ends), pa.py_buffer(b"".join(parts)))


def numbers(values: Any, kind: Any = np.float64) -> pa.Array:
    """Numbers as Arrow; a None in a list is null."""
    import pyarrow as pa

    mask = None
    if isinstance(values, list) and None in values:
        mask = pa.py_buffer(np.packbits([value is not None for value in values], bitorder="little"))
        values = [value or 0 for value in values]
    own = np.ascontiguousarray(values, kind)
    return pa.Array.from_buffers(pa.from_numpy_dtype(kind), len(own), [mask, pa.py_buffer(own)])


def _places(parts: Iterable[tuple[Sequence[str], Places]]) -> pa.DictionaryArray:
    """Texts, each part a list of texts and places in it."""
    import pyarrow as pa

    known: dict[str, int] = {}
    places = [np.array([known.setdefault(text, len(known)) for text in texts], np.int32)[own] for texts, own in parts]
    return pa.DictionaryArray.from_arrays(numbers(np.concatenate([np.zeros(0, np.int32), *places]), np.int32),
                                          texts(list(known)))


def _texts(column: pa.ChunkedArray) -> tuple[Places, list[str]]:
    """The places of the texts of a column, and the texts."""
    places = column.combine_chunks()
    return np.asarray(np.from_dlpack(places.indices), np.int64), places.dictionary.to_pylist()


def _file(table: pa.Table, **options: object) -> bytes:
    import pyarrow.parquet as pq

    sink = io.BytesIO()
    pq.write_table(table, sink, **options)
    return sink.getvalue()


def _table(content: bytes, texts: Sequence[str]) -> pa.Table:
    """A file, its texts as places in a list."""
    import pyarrow.parquet as pq

    return pq.ParquetFile(io.BytesIO(content), read_dictionary=list(texts)).read(use_threads=False).unify_dictionaries()
