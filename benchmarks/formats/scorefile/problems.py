"""Problems of a score file, safe to print in a terminal or on a page."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["unreadable", "unknown", "missing", "duplicate", "no number", "infinite", "constant", "extra column"]

LONGEST = 80
"""Characters of a text from a file that are printed; a longer text ends in three dots."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a score file: the line where it stands (0: the file), the id as printed, and why.

    A fatal problem means that the file is refused; after any other the score counts as missing. `count` is how many
    scores it stands for, where a whole dataset or quality has none.
    """

    kind: Kind
    line: int
    id: str
    text: str
    fatal: bool = True
    count: int = 1

    @property
    def note(self) -> bool:
        """True if there are no problems."""
        return self.kind == "extra column"


class Unreadable(Exception):
    """A file or a row of scores that cannot be read: where, and why."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line, self.text = line, text

    @property
    def problem(self) -> Problem:
        """The problem that such a file or row has."""
        return Problem("unreadable", self.line, "", self.text)


def counts(problems: Iterable[Problem]) -> dict[Kind, int]:
    """How many scores or rows each kind of problem is about."""
    totals: Counter[Kind] = Counter()
    for problem in problems:
        totals[problem.kind] += problem.count
    return dict(totals)


def describe(problems: Iterable[Problem], most: int = 20) -> Iterator[str]:
    """A line for each problem; of a kind with more than `most` problems, how many more there are, and where."""
    kinds: defaultdict[Kind, list[Problem]] = defaultdict(list)
    for problem in problems:
        kinds[problem.kind].append(problem)
        if len(kinds[problem.kind]) <= most:
            place = f"line {problem.line}: " if problem.line else ""
            yield f"{problem.kind}: {place}{problem.id + ': ' if problem.id else ''}{problem.text}"
    for kind, (*_, last) in kinds.items():
        if (more := kinds[kind][most:]):
            lines = f" (lines {listed([str(problem.line) for problem in more], 60)})" if last.line else ""
            yield f"{kind}: and {len(more):,} more{lines}"


def printable(text: str) -> str:
    """A text from a file in the letters of its language: control characters and marks of direction are escaped."""
    short = text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in short)


def listed(names: Sequence[str], most: int = 100) -> str:
    """Names from a file in a line of about `most` characters, and how many more there are."""
    shown = list(map(printable, names))
    lengths = itertools.accumulate(len(name) + 2 for name in shown)
    count = max(1, sum(length <= most for length in lengths))
    more = f" and {len(shown) - count:,} more" if count < len(shown) else ""
    return ", ".join(shown[:count]) + more
