"""What is wrong with a score file, told so that a terminal and a page can show it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal

Kind = Literal["unreadable", "unknown", "missing", "duplicate", "no number", "infinite", "constant", "extra column"]

SHOWN = 80
"""Signs of a text from a file that are shown; a longer one ends in three dots."""


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong with a score file: the line where it stands (0: the file), the id as it is shown, and why.

    A fatal one means that the file cannot be taken; the others are told and count as missing scores. `count` is how
    many scores it stands for, where a whole dataset or quality has none.
    """

    kind: Kind
    line: int
    id: str
    text: str
    fatal: bool = True
    count: int = 1

    @property
    def note(self) -> bool:
        """Whether it is worth telling and yet nothing to mend."""
        return self.kind == "extra column"


def counts(problems: Iterable[Problem]) -> dict[Kind, int]:
    """How many scores or rows each kind of problem is about."""
    found: dict[Kind, int] = {}
    for one in problems:
        found[one.kind] = found.get(one.kind, 0) + one.count
    return found


def told(problems: Iterable[Problem], unit: str, most: int = 20) -> Iterator[str]:
    """A line for each problem; of a kind that there are more of than `most`, how many more."""
    met: dict[Kind, int] = {}
    for one in problems:
        met[one.kind] = met.get(one.kind, 0) + 1
        if met[one.kind] <= most:
            place = f"{unit} {one.line}: " if one.line else ""
            yield f"{one.kind}: {place}{one.id + ': ' if one.id else ''}{one.text}"
    yield from (f"{kind}: and {number - most:,} more" for kind, number in met.items() if number > most)


class Unreadable(Exception):
    """A file of scores that cannot be read at all: where it stops, and why."""

    def __init__(self, line: int, text: str) -> None:
        super().__init__(text)
        self.line, self.text = line, text

    @property
    def problem(self) -> Problem:
        """The one problem that such a file has."""
        return Problem("unreadable", self.line, "", self.text)


def shown(text: str) -> str:
    """A text from a file in plain ASCII: control signs, marks of direction and look-alike letters are escaped."""
    short = text if len(text) <= SHOWN else f"{text[:SHOWN]}..."
    return short if short.isascii() and short.isprintable() else ascii(short)[1:-1]
