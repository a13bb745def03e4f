"""Printed boards, and who wins them under which rule."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from harness import published
from harness.published.reproduce.rounding import Number
from harness.run.rank import BY_NAME, CountedMean, Rule, Target, borda, over

BoardRow = Mapping[Target, Number]


@dataclass(frozen=True, slots=True)
class PrintedBoard:
    """A printed board; `counts` says for how many targets a dataset's average stands, where averages are printed.

    `source`, `table` and `rule` say where and by which rule its averages are printed, if they are.
    """

    name: str
    rows: Mapping[str, BoardRow]
    counts: Mapping[str, int] = field(default_factory=dict)
    source: str = ""
    table: str = ""
    rule: str = ""

    def averages(self) -> dict[str, float]:
        """The printed average of each competitor."""
        rows = (row for row in published.table(self.source) if row.table == self.table and row.dataset == "all")
        return {row.metric: float(row.value) for row in rows}

    def under(self, rule: str) -> dict[str, float]:
        """The value of each competitor under a rule, from the printed targets; NaN where one is missing."""
        rows = {name: {target: float(number.value) for target, number in row.items()}
                for name, row in self.rows.items()}
        targets = frozenset(target for row in rows.values() for target in row)
        if rule == "borda":
            return dict(borda(rows, targets))
        mean: Rule = CountedMean(self.counts) if rule == "micro" and self.counts else BY_NAME[rule]
        return {name: over(mean, row, targets) for name, row in rows.items()}


@dataclass(frozen=True, slots=True)
class Winner:
    """The first (several where tied) and the next under a rule, out of the competitors with all targets."""

    board: str
    rule: str
    first: tuple[str, ...]
    value: float
    second: str | None
    runner_up: float | None
    competitors: int
    incomplete: int


def winners(board: PrintedBoard) -> Iterator[Winner]:
    """The winner under every rule."""
    for rule in ("micro", "macro", "borda"):
        values = board.under(rule)
        complete = {name: value for name, value in values.items() if value == value}
        best = max(complete.values())
        first = tuple(name for name, value in complete.items() if value == best)
        rest = {name: value for name, value in complete.items() if name not in first}
        second = max(rest, key=lambda name: rest[name], default=None)
        yield Winner(board.name, rule, first, best, second, None if second is None else rest[second], len(complete),
                     len(values) - len(complete))
