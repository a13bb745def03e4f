"""What a Parquet file says of itself, read before its pages are: so that a bomb is known without setting it off.

The footer and the head of each page are structs of Thrift's compact protocol. Only what bounds the memory is looked
at: how wide the schema is, how large the pages of a column become, and how their values are written down. It is read
here and not by pyarrow, which ends the process over some broken footers when it is asked about them.
A few bytes can stand for any number of long texts where each text repeats the one before (DELTA_BYTE_ARRAY), so that
is refused; where they stand in a dictionary, each is there once.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from benchmarks.formats.scorefile.problems import Unreadable

MARK = b"PAR1"
FOOTER = 4 << 20  # bytes of the footer
COLUMNS = 2_000  # columns and groups of the schema
PAGE = 32 << 20  # bytes of one page, decompressed
COLUMN = 128 << 20  # bytes of all pages of a column, decompressed
PAGES = 10_000  # pages of a column
DEPTH = 30  # structs within structs
DELTA_BYTE_ARRAY = 7
REPEATED = 2

_BROKEN = "is no Parquet file, or is cut short or damaged"
ENCODINGS = ((5, 2), (8, 4))
"""Where in the head of a page the encoding of its values stands: in the head of a data page of either version."""


class _Compact:
    """Reads Thrift's compact protocol: structs as {field: value}, lists as lists."""

    def __init__(self, content: bytes, place: int, end: int) -> None:
        self.content, self.place, self.end = content, place, end

    def byte(self) -> int:
        if self.place >= self.end:
            raise Unreadable(0, _BROKEN)
        self.place += 1
        return self.content[self.place - 1]

    def whole(self) -> int:
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7
            if shift > 63:
                raise Unreadable(0, _BROKEN)

    def signed(self) -> int:
        value = self.whole()
        return (value >> 1) ^ -(value & 1)

    def raw(self, size: int) -> bytes:
        if size > self.end - self.place:
            raise Unreadable(0, _BROKEN)
        self.place += size
        return self.content[self.place - size : self.place]

    def struct(self, depth: int = 0) -> dict[int, Any]:
        found: dict[int, Any] = {}
        field = 0
        while head := self.byte():
            field = field + (head >> 4) if head >> 4 else self.signed()
            if field in found:  # which of the two counts would be up to the reader
                raise Unreadable(0, _BROKEN)
            found[field] = self.value(head & 0x0F, depth, within=False)
        return found

    def value(self, kind: int, depth: int, *, within: bool) -> Any:
        """One value; a truth is in the head of a field, and a byte of its own within a list."""
        if depth > DEPTH:
            raise Unreadable(0, _BROKEN)
        if kind in {1, 2}:
            return self.byte() == 1 if within else kind == 1
        if kind == 3:
            return self.byte()
        if kind in {4, 5, 6}:
            return self.signed()
        if kind == 7:
            return struct.unpack("<d", self.raw(8))[0]
        if kind == 8:
            return self.raw(self.whole())
        if kind in {9, 10}:
            head = self.byte()
            size = self.whole() if head >> 4 == 15 else head >> 4
            if size > self.end - self.place:
                raise Unreadable(0, _BROKEN)
            return [self.value(head & 0x0F, depth + 1, within=True) for _ in range(size)]
        if kind == 12:
            return self.struct(depth + 1)
        raise Unreadable(0, _BROKEN)


@dataclass(frozen=True, slots=True)
class Footer:
    """What counts of a footer: the rows, the columns, and of those that are flat the chunks as places and sizes."""

    rows: int
    names: tuple[str, ...]
    chunks: Mapping[str, Sequence[tuple[int, int]]]


def footer(found: bytes) -> Footer:
    """Read the footer of a file; Unreadable where it is none, or not of a size that a table of scores has."""
    if len(found) < 12 or not found.startswith(MARK) or not found.endswith(MARK):
        raise Unreadable(0, _BROKEN)
    size = int.from_bytes(found[-8:-4], "little")
    if not 0 < size <= min(FOOTER, len(found) - 12):
        raise Unreadable(0, f"{_BROKEN}: its footer has {size:,} bytes")
    about = _Compact(found, len(found) - 8 - size, len(found) - 8).struct()
    try:
        if len(about[2]) > COLUMNS:
            raise Unreadable(0, f"has {len(about[2]):,} columns; at most {COLUMNS:,} are read")
        names, flat = _columns(about[2])
        rows = sum(_counted(group[3]) for group in about[4])
        chunks = {name: [_chunk(group[1][leaf][3], group[3]) for group in about[4]] for name, leaf in flat.items()}
    except (LookupError, TypeError, AttributeError, UnicodeDecodeError) as error:  # a field is not there, or another
        raise Unreadable(0, _BROKEN) from error
    if rows != about.get(3):
        raise Unreadable(0, _BROKEN)
    return Footer(rows, names, chunks)


def _chunk(about: dict[int, Any], rows: int) -> tuple[int, int]:
    """Where a chunk begins, with its dictionary where there is one before the data, and how long it is."""
    if about[5] != rows:
        raise Unreadable(0, _BROKEN)
    data, dictionary = _counted(about[9]), _counted(about.get(11, 0))
    return (dictionary if 0 < dictionary < data else data), _counted(about[7])


def _counted(value: Any) -> int:
    """A number that counts something."""
    if type(value) is not int or value < 0:
        raise Unreadable(0, _BROKEN)
    return value


def _columns(schema: list[dict[int, Any]]) -> tuple[tuple[str, ...], dict[str, int]]:
    """The columns at the top, and of those that are flat their place among all leaves."""
    names, flat, leaf = [], {}, 0
    elements = iter(schema[1:])
    for element in elements:
        name = element[4].decode()
        names.append(name)
        if not element.get(5) and element.get(3) != REPEATED:
            flat[name] = leaf
        leaf += _skip(element, elements)
    return tuple(names), flat


def _skip(element: dict[int, Any], rest: Iterator[dict[int, Any]]) -> int:
    """Go past what stands below an element of the schema; how many leaves it has."""
    open_, leaves = [_counted(element.get(5, 0))], 0 if element.get(5) else 1
    while open_:
        if not open_[-1]:
            open_.pop()
            continue
        open_[-1] -= 1
        below = next(rest, None)
        if below is None:
            raise Unreadable(0, _BROKEN)
        open_.append(_counted(below.get(5, 0)))
        leaves += not below.get(5)
    return leaves


def check_pages(found: bytes, chunks: Iterable[tuple[int, int]]) -> None:
    """Refuse a column, given as its chunks, whose pages become too large."""
    whole = pages = 0
    for start, size in chunks:
        if not len(MARK) <= start <= start + size <= len(found):
            raise Unreadable(0, _BROKEN)
        place = start
        while place < start + size:
            reader = _Compact(found, place, start + size)
            head = reader.struct()
            grown, packed = _counted(head.get(2)), _counted(head.get(3))
            whole, pages = whole + grown, pages + 1
            if grown > PAGE or whole > COLUMN:
                raise Unreadable(0, f"holds a column that grows to more than {min(PAGE, COLUMN):,} bytes")
            if pages > PAGES:
                raise Unreadable(0, f"holds a column of more than {PAGES:,} pages")
            _check_encoding(head)
            place = reader.place + packed


def _check_encoding(head: dict[int, Any]) -> None:
    for kind, place in ENCODINGS:
        values = head.get(kind)
        if isinstance(values, dict) and values.get(place) == DELTA_BYTE_ARRAY:
            raise Unreadable(0, "holds texts written as DELTA_BYTE_ARRAY, by which a few bytes grow without bound; "
                                "write them plain or with a dictionary")
