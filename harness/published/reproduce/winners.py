"""Who wins a printed board under which rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from harness.published.reproduce.rounding import Number
from harness.run.rank import BY_NAME, CountedMean, Target, borda, over

BoardRow = Mapping[Target, Number]


@dataclass(frozen=True, slots=True)
class PrintedBoard:
    """A printed board; `counts` says for how many cells a dataset's average stands, where averages are printed."""

    name: str
    rows: Mapping[str, BoardRow]
    counts: Mapping[str, int] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Winner:
    """The first (several where tied) and the next under a rule, out of the competitors with all cells."""

    board: str
    rule: str
    first: tuple[str, ...]
    value: float
    second: str | None
    runner_up: float | None
    competitors: int
    incomplete: int


def winners(contest: PrintedBoard) -> Iterator[Winner]:
    """The winner under every rule."""
    rows = {name: {cell: float(number.value) for cell, number in row.items()} for name, row in contest.rows.items()}
    cells = frozenset(cell for row in rows.values() for cell in row)
    micro = CountedMean(contest.counts) if contest.counts else BY_NAME["micro"]
    for rule, mean in (("micro", micro), ("macro", BY_NAME["macro"])):
        yield _winner(contest.name, rule, {name: over(mean, row, cells) for name, row in rows.items()})
    yield _winner(contest.name, "borda", borda(rows, cells))


def _winner(board: str, rule: str, values: Mapping[str, float]) -> Winner:
    complete = {name: value for name, value in values.items() if value == value}
    best = max(complete.values())
    first = tuple(name for name, value in complete.items() if value == best)
    rest = {name: value for name, value in complete.items() if name not in first}
    second = max(rest, key=lambda name: rest[name], default=None)
    return Winner(board, rule, first, best, second, None if second is None else rest[second],
                  len(complete), len(values) - len(complete))
