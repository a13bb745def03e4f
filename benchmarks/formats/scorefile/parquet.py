"""Score files as Parquet: two flat columns of a table, after its own words about its size were checked."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from benchmarks.formats.scorefile import pages
from benchmarks.formats.scorefile.problems import Kind, Unreadable, shown
from benchmarks.formats.scorefile.rows import BLANK, Rows, header, numbers, too_many

LONGEST = 1_000
"""Bytes of an id, or of a score that is text."""
BROKEN = (pa.ArrowException, OSError, ValueError, KeyError, TypeError, NotImplementedError, OverflowError, MemoryError)
"""What pyarrow raises of a file that is damaged."""


def table(found: bytes, limit: int) -> Rows:
    """Read the columns of ids and scores; the others are never touched."""
    about = pages.footer(found)
    head = header(about.names)
    if about.rows > limit:
        raise Unreadable(0, too_many(limit))
    if not about.rows:
        return Rows([], np.array([]), [], "row", extra=head.extra)
    wanted = about.names[head.id], about.names[head.score]
    for name in wanted:
        if name not in about.chunks:
            raise Unreadable(0, f"its column {shown(name)} is nested; plain texts and numbers are wanted")
        pages.check_pages(found, about.chunks[name])
    try:
        ids, scores = _columns(found, *wanted)
        values, wrong = _scores(scores)
        names = _texts(ids)
    except BROKEN as error:
        raise Unreadable(0, f"cannot be read as Parquet: {shown(' '.join(str(error).split()))}") from error
    lines = range(1, len(names) + 1)
    if missing := [row for row, name in zip(lines, names, strict=True) if name is None]:
        raise Unreadable(missing[0], "has no id")
    return Rows([str(name).strip(BLANK) for name in names], values, lines, "row", wrong, head.extra)


def _columns(found: bytes, of_ids: str, of_scores: str) -> tuple[Any, Any]:
    """The two columns as pyarrow reads them, texts as dictionaries."""
    schema = pq.ParquetFile(pa.BufferReader(found)).schema_arrow
    texts = [name for name in (of_ids, of_scores) if _is_text(schema.field(name).type)]
    if of_ids not in texts:
        raise Unreadable(0, f"its ids are of type {shown(str(schema.field(of_ids).type))}, not text")
    opened = pq.ParquetFile(pa.BufferReader(found), read_dictionary=texts)
    read = opened.read(columns=[of_ids, of_scores], use_threads=False)
    read.validate(full=True)  # places beyond the end of a dictionary, bytes that are no UTF-8
    return read.column(of_ids), read.column(of_scores)


def _is_text(kind: Any) -> bool:
    plain = kind.value_type if pa.types.is_dictionary(kind) else kind
    return bool(pa.types.is_string(plain) or pa.types.is_large_string(plain) or pa.types.is_string_view(plain))


def _texts(column: Any) -> list[str | None]:
    """The texts of a column that was read as a dictionary: each is looked at once, however often it is used."""
    found: list[str | None] = []
    for chunk in column.chunks:
        longest = pc.max(pc.binary_length(chunk.dictionary)).as_py() or 0
        if longest > LONGEST:
            raise Unreadable(0, f"holds a text of {longest:,} bytes where an id or a score should be")
        words = chunk.dictionary.to_pylist()
        found += [None if place is None else words[place] for place in chunk.indices.to_pylist()]
    return found


def _scores(column: Any) -> tuple[np.ndarray[Any, np.dtype[np.float64]], dict[int, tuple[Kind, str]]]:
    kind = column.type
    if pa.types.is_dictionary(kind):
        return numbers([(text or "").strip(BLANK) for text in _texts(column)])
    is_number = (pa.types.is_floating, pa.types.is_integer, pa.types.is_decimal, pa.types.is_null)
    if not any(holds(kind) for holds in is_number):
        raise Unreadable(0, f"its scores are of type {shown(str(kind))}, not numbers")
    values = np.array(pc.cast(column, pa.float64(), safe=False).to_numpy(), dtype=np.float64)
    wrong: dict[int, tuple[Kind, str]] = {}
    for row in np.flatnonzero(np.isnan(values)).tolist():
        wrong[row] = "missing", "has no score: the place is empty"
    for row in np.flatnonzero(np.isinf(values)).tolist():
        wrong[row] = "infinite", f"its score is {values[row]}; a finite number is wanted"
    values[np.isinf(values)] = np.nan
    return values, wrong
