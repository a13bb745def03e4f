"""Errors of data, each with a message of one line.

    BenchmarkError
    ├── UnknownDataset      no dataset of that name
    ├── BadRecord           a file holds something it must not: file, record, field, problem
    │   └── BadRecords      several such problems
    ├── BadArchive          an archive that is unsafe to unpack, or unreadable
    ├── BadStore            data in the home are damaged
    └── FetchError          a source that cannot be reached, or gives something unexpected
        ├── Offline         the host cannot be reached at all
        └── ChecksumDiffers a downloaded file is not the file the card names
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
        where = ", ".join(filter(None, ("" if record is None else f"record {record}", field and f"field {field!r}")))
        super().__init__(f"{file}: {where + ': ' if where else ''}{problem}")
        self.problem = field, problem
        self.place = str(file).rpartition(", ")[2] if record is None else f"record {record}"


class BadRecords(BadRecord):
    """A file holds several invalid records; `problems` has a line for each kind."""

    def __init__(self, problems: Sequence[BadRecord]) -> None:
        alike: defaultdict[tuple[str, str], list[BadRecord]] = defaultdict(list)
        for error in problems:
            alike[error.problem].append(error)
        lines = []
        for first, *rest in alike.values():
            places = ", ".join(error.place for error in rest[:PLACES])
            lines.append(f"{first}{f'; and {len(rest)} more like it: {places}' if rest else ''}")
        self.problems = tuple(lines)
        more = len(problems) - 1
        Exception.__init__(self, f"{problems[0]}; {more} more {'records are' if more > 1 else 'record is'} wrong")


class BadArchive(BenchmarkError):
    """An archive is unsafe to unpack, or unreadable."""


class BadStore(BenchmarkError):
    """Data in the home are damaged."""


class FetchError(BenchmarkError):
    """A source is unreachable or gives something unexpected."""


class Offline(FetchError):
    """The host cannot be reached at all."""


class ChecksumDiffers(FetchError):
    """A downloaded file is not the file the card names."""


def raise_if_any(problems: Sequence[BadRecord]) -> None:
    """Raise the problems, if there are any."""
    if problems:
        raise problems[0] if len(problems) == 1 else BadRecords(problems)


def nearest(name: str, known: Iterable[str]) -> str:
    """List the known names, and suggest the most similar one."""
    names = list(known)
    return f"{meant(name, names)} known: {', '.join(names)}".lstrip()


def meant(name: str, known: Iterable[str], cutoff: float = 0.5) -> str:
    """Suggest the only name that begins with or else contains the text, else the most similar one; "" if none."""
    text, names = name.casefold(), {candidate.casefold(): candidate for candidate in known}
    begun, holding = [other for other in names if other.startswith(text)], [other for other in names if text in other]
    unique = next((matches for matches in (begun, holding) if text and len(matches) == 1), [])
    close = unique or difflib.get_close_matches(text, names, n=1, cutoff=cutoff)
    return f"did you mean {names[close[0]]!r}?" if close else ""


def plural(count: float, noun: str, nouns: str = "") -> str:
    """Format a number with its noun: 1 dataset, 2 datasets."""
    return f"1 {noun}" if count == 1 else f"{count} {nouns or noun + 's'}"
