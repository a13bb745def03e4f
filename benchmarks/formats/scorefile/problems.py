"""Problems of a score file, safe to print in a terminal or on a page."""

from __future__ import annotations

import itertools
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

Kind = Literal["unreadable", "unknown", "missing", "duplicate", "no number", "infinite", "constant", "extra column"]

MAX_SHOWN = 80  # maximum characters to show of a string from a file; a longer one ends in three dots


@dataclass(frozen=True, slots=True)
class Problem:
    """A problem of a score file: its line (0 for the file), the printable id, and the reason.

    A fatal problem makes the file invalid; any other is a warning. `count` is the number of
    affected scores if a whole dataset or quality has none.
    """

    kind: Kind
    line: int
    id: str
    text: str
    fatal: bool = True
    count: int = 1

    @property
    def is_remark(self) -> bool:
        """True if this is only a remark."""
        return self.kind == "extra column"


def counts(problems: Iterable[Problem]) -> dict[Kind, int]:
    """Return the number of scores or rows affected by each kind of problem."""
    totals: Counter[Kind] = Counter()
    for problem in problems:
        totals[problem.kind] += problem.count
    return dict(totals)


def describe(problems: Iterable[Problem], limit: int = 20) -> Iterator[str]:
    """Yield a line for each problem; of each kind, only the first `limit`, then the number and lines of the others."""
    kinds: defaultdict[Kind, list[Problem]] = defaultdict(list)
    for problem in problems:
        kinds[problem.kind].append(problem)
        if len(kinds[problem.kind]) <= limit:
            line = f"line {problem.line}: " if problem.line else ""
            yield f"{problem.kind}: {line}{problem.id + ': ' if problem.id else ''}{problem.text}"
    for kind, same_kind in kinds.items():
        if more := same_kind[limit:]:
            lines = f" (lines {listed([str(problem.line) for problem in more], 60)})" if more[-1].line else ""
            yield f"{kind}: and {len(more):,} more{lines}"


def printable(text: str) -> str:
    """Truncate a string from a file, and escape control characters and direction marks."""
    short = text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}..."
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in short)


def listed(names: Sequence[str], max_characters: int = 100) -> str:
    """Join names from a file into about `max_characters` characters, with the number of names left out."""
    shown = list(map(printable, names))
    lengths = itertools.accumulate(len(name) + 2 for name in shown)
    count = max(1, sum(length <= max_characters for length in lengths))
    more = f" and {len(shown) - count:,} more" if count < len(shown) else ""
    return ", ".join(shown[:count]) + more
