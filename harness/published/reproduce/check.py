"""A printed number and what it should follow from; and the tables that checks are written against."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction

from harness import published
from harness.published import PrintedNumber
from harness.published.reproduce.rounding import Number, State, compare, exact, rank, rounded
from harness.run.rank import Target


@dataclass(frozen=True, slots=True)
class Claim:
    """A claim: what, where it is printed, what it comes to from other printed numbers, and how.

    `last` is the last printed place where the digits do not show it; `reason` is why the two are known to differ.
    """

    table: str
    what: str
    printed: Decimal
    recomputed: Number
    how: str
    reason: str = ""
    last: Fraction | None = None

    @property
    def state(self) -> State:
        """Whether the printed number follows from the others."""
        return compare(self.recomputed, self.printed, self.last)


def number(row: PrintedNumber) -> Number:
    """A printed row as a number: counts are exact, the rest is rounded to its last digit."""
    return exact(int(row.value)) if row.statistic.startswith("count-") else rounded(row.value)


@dataclass(frozen=True, slots=True)
class Tables:
    """The rows of a paper, found by what they are about."""

    rows: tuple[PrintedNumber, ...]

    @classmethod
    def of(cls, name: str) -> Tables:
        """All tables of a paper."""
        return cls(published.table(name))

    def where(self, **wanted: str) -> Tables:
        """The rows with these fields; the note need only contain what is wanted of it."""
        rows = (row for row in self.rows if all(
            value in row.note if field == "note" else getattr(row, field) == value for field, value in wanted.items()))
        return Tables(tuple(rows))

    def row(self, **wanted: str) -> PrintedNumber:
        """The only row with these fields."""
        (row,) = self.where(**wanted).rows
        return row

    def number(self, **wanted: str) -> Number:
        """The only number with these fields."""
        return number(self.row(**wanted))

    def values(self, field: str) -> tuple[str, ...]:
        """The different values of a field, in the order of print."""
        return tuple(dict.fromkeys(str(getattr(row, field)) for row in self.rows))

    def rowwise(self) -> dict[str, dict[Target, Number]]:
        """By metric, the numbers by target; means over all datasets are left out."""
        board: dict[str, dict[Target, Number]] = {metric: {} for metric in self.values("metric")}
        for row in self.rows:
            if row.dataset != "all":
                board[row.metric][row.dataset, row.quality] = number(row)
        return board


def place(row: Mapping[str, Number], name: str) -> Number:
    """The rank of a competitor among all."""
    return rank(row[name], [value for other, value in row.items() if other != name])


def wins(board: Mapping[str, Mapping[Target, Number]], name: str) -> list[tuple[Number, list[Number]]]:
    """A competitor against the others, target by target."""
    return [(value, [row[target] for other, row in board.items() if other != name])
            for target, value in board[name].items()]
