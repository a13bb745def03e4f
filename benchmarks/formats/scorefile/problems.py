"""Problems of a score file, safe to print in a terminal or on a page."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["unreadable", "unknown", "missing", "duplicate", "no number", "infinite", "constant", "extra column"]

LONGEST = 80
"""Characters printed of a text from a file; a longer text ends in three dots."""


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem of a score file: its line (0 for the file), the printable id, and the reason.

    A fatal problem refuses the file; after any other the score counts as missing. `count` is the number of scores
    concerned, if a whole dataset or quality has none.
    """

    kind: Kind
    line: int
    id: str
    text: str
    fatal: bool = True
    count: int = 1

    @property
    def note(self) -> bool:
        """True for a mere remark."""
        return self.kind == "extra column"


def counts(problems: Iterable[Problem]) -> dict[Kind, int]:
    """Return the number of scores or rows concerned by each kind of problem."""
    totals: Counter[Kind] = Counter()
    for problem in problems:
        totals[problem.kind] += problem.count
    return dict(totals)


def describe(problems: Iterable[Problem], most: int = 20) -> Iterator[str]:
    """Yield a line for each problem, and for each kind with more than `most` their number and lines."""
    kinds: defaultdict[Kind, list[Problem]] = defaultdict(list)
    for problem in problems:
        kinds[problem.kind].append(problem)
        if len(kinds[problem.kind]) <= most:
            line = f"line {problem.line}: " if problem.line else ""
            yield f"{problem.kind}: {line}{problem.id + ': ' if problem.id else ''}{problem.text}"
    for kind, alike in kinds.items():
        if more := alike[most:]:
            lines = f" (lines {listed([str(problem.line) for problem in more], 60)})" if more[-1].line else ""
            yield f"{kind}: and {len(more):,} more{lines}"


def printable(text: str) -> str:
    """Return a text from a file, cut, with control characters and direction marks escaped."""
    short = text if len(text) <= LONGEST else f"{text[:LONGEST]}..."
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in short)


def listed(names: Sequence[str], most: int = 100) -> str:
    """Return names from a file in a line of about `most` characters, and the number of the others."""
    shown = list(map(printable, names))
    lengths = itertools.accumulate(len(name) + 2 for name in shown)
    count = max(1, sum(length <= most for length in lengths))
    more = f" and {len(shown) - count:,} more" if count < len(shown) else ""
    return ", ".join(shown[:count]) + more
