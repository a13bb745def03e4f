"""Data errors, each with a one-line message.

    BenchmarkError
    ├── UnknownDataset      no dataset of that name
    ├── BadRecord           invalid content of a file: file, record, field, problem
    │   └── BadRecords      several such problems
    ├── BadArchive          an archive that is unsafe to unpack, or unreadable
    ├── BadStore            damaged data in the home
    └── FetchError          a source that is unreachable, or returns something unexpected
        ├── Offline         the host cannot be reached at all
        └── ChecksumDiffers a downloaded file does not have the checksum on its card
"""

from __future__ import annotations

import difflib
from collections import defaultdict
from collections.abc import Iterable, Sequence

MAX_LOCATIONS = 20  # maximum number of locations listed per kind of problem
MAX_LISTED = 12  # maximum number of known names listed with an unknown one


class BenchmarkError(Exception):
    """Base class of errors of datasets, files and sources."""


class UnknownDataset(BenchmarkError):
    """No dataset of that name is registered."""


class BadRecord(BenchmarkError):
    """A file contains an invalid record."""

    def __init__(self, file: object, record: object, field: str, problem: str) -> None:
        where = ", ".join(filter(None, ("" if record is None else f"record {record}", field and f"field {field!r}")))
        super().__init__(f"{file}: {where + ': ' if where else ''}{problem}")
        self.problem = field, problem
        self.location = str(file).rpartition(", ")[2] if record is None else f"record {record}"


class BadRecords(BadRecord):
    """A file contains several invalid records; `problems` has a line for each kind."""

    def __init__(self, problems: Sequence[BadRecord]) -> None:
        by_problem: defaultdict[tuple[str, str], list[BadRecord]] = defaultdict(list)
        for error in problems:
            by_problem[error.problem].append(error)
        lines = []
        for example, *others in by_problem.values():
            locations = ", ".join(error.location for error in others[:MAX_LOCATIONS])
            lines.append(f"{example}{f'; and {len(others)} more like it: {locations}' if others else ''}")
        self.problems = tuple(lines)
        more = len(problems) - 1
        Exception.__init__(self, f"{problems[0]}; {more} more {'records are' if more > 1 else 'record is'} invalid")


class BadArchive(BenchmarkError):
    """An archive is unsafe to unpack, or unreadable."""


class BadStore(BenchmarkError):
    """Data in the home are damaged."""


class FetchError(BenchmarkError):
    """A source is unreachable or returns something unexpected."""


class Offline(FetchError):
    """The host cannot be reached at all."""


class ChecksumDiffers(FetchError):
    """A downloaded file does not have the checksum on its card."""


def raise_if_any(problems: Sequence[BadRecord]) -> None:
    if problems:
        raise problems[0] if len(problems) == 1 else BadRecords(problems)


def nearest(name: str, known: Iterable[str]) -> str:
    """Suggest the most similar of the known names, and list them all, or the MAX_LISTED most similar."""
    names = list(known)
    others = f" and {len(names) - MAX_LISTED} others" if len(names) > MAX_LISTED + 1 else ""
    listed = difflib.get_close_matches(name, names, MAX_LISTED, cutoff=0) if others else names
    return f"{did_you_mean(name, names, 0.6 if others else 0.5)} known: {', '.join(listed)}{others}".lstrip()


def did_you_mean(name: str, known: Iterable[str], cutoff: float = 0.5) -> str:
    """Suggest the only known name that starts with `name`, else the only one containing it, else the most similar."""
    text, names = name.casefold(), {candidate.casefold(): candidate for candidate in known}
    starting = [other for other in names if other.startswith(text)]
    containing = [other for other in names if text in other]
    unique = next((found for found in (starting, containing) if text and len(found) == 1), [])
    matches = unique or difflib.get_close_matches(text, names, n=1, cutoff=cutoff)
    return f"did you mean {names[matches[0]]!r}?" if matches else ""


def reason(error: BaseException) -> str:
    """Return the message of an error on one line, or the name of its type if it has none."""
    return " ".join(str(error).split()) or type(error).__name__


def plural(count: float, noun: str, nouns: str = "") -> str:
    """Format a number with its noun: 1 dataset, 2 datasets."""
    return f"1 {noun}" if count == 1 else f"{count} {nouns or noun + 's'}"
