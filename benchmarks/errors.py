"""Errors of data, each with a message of one line.

    BenchmarkError
    ├── UnknownDataset      no dataset of that name
    ├── BadRecord           a file holds something it must not: file, record, field, problem
    │   └── BadRecords      several things of that kind
    ├── BadArchive          an archive that is not safe, or not readable
    ├── BadStore            what was kept in the home no longer reads back
    └── FetchError          a source that cannot be reached, or is not what was expected
        ├── Offline         the host cannot be reached at all
        └── ChecksumDiffers what came is not the file the card names
"""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Iterable, Sequence

PLACES = 20
"""Locations listed per kind of problem."""


class BenchmarkError(Exception):
    """Base class of errors of datasets, files and sources."""


class UnknownDataset(BenchmarkError):
    """No dataset of that name is registered."""


class BadRecord(BenchmarkError):
    """A file holds an invalid record."""

    def __init__(self, file: object, record: object, field: str, problem: str) -> None:
        where = ", ".join(part for part in (f"record {record}" if record is not None else "",
                                            f"field {field!r}" if field else "") if part)
        super().__init__(f"{file}: {where + ': ' if where else ''}{problem}")
        self.problem = field, problem
        self.place = str(file).rpartition(", ")[2] if record is None else f"record {record}"


class BadRecords(BadRecord):
    """A file holds several invalid records; `problems` has a line for each."""

    def __init__(self, problems: Sequence[BadRecord]) -> None:
        alike: defaultdict[tuple[str, str], list[BadRecord]] = defaultdict(list)
        for each in problems:
            alike[each.problem].append(each)
        places = {own: ", ".join(each.place for each in rest[:PLACES]) for own, (_, *rest) in alike.items()}
        self.problems = tuple(f"{first}{f'; and {len(rest)} more like it: {places[own]}' if rest else ''}"
                              for own, (first, *rest) in alike.items())
        more = len(problems) - 1
        Exception.__init__(self, f"{problems[0]}; {more} more {'records are' if more > 1 else 'record is'} wrong")


def raise_if_any(problems: Sequence[BadRecord]) -> None:
    """Raise the problems, if there are any."""
    if problems:
        raise problems[0] if len(problems) == 1 else BadRecords(problems)


class BadArchive(BenchmarkError):
    """An archive that is unsafe to unpack, or cannot be read."""


class BadStore(BenchmarkError):
    """Data in the home are damaged."""


class FetchError(BenchmarkError):
    """A source is unreachable or gives something unexpected."""


class Offline(FetchError):
    """The host cannot be reached at all."""


class ChecksumDiffers(FetchError):
    """A downloaded file is not the file the card names."""


def not_utf8(error: UnicodeDecodeError) -> str:
    """Name the line on which a file is not UTF-8."""
    line = error.object[:error.start].count(b"\n") + 1
    return f"is not UTF-8: the byte 0x{error.object[error.start]:02x} in line {line}; save the file as UTF-8"


def nearest(name: str, known: Iterable[str]) -> str:
    """Name the known names and the most similar one."""
    names = list(known)
    close = difflib.get_close_matches(name.casefold(), names, n=1, cutoff=0.5)
    meant = f"did you mean {close[0]!r}? " if close else ""
    return f"{meant}known: {', '.join(names)}"
