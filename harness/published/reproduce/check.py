"""A printed number and what it should follow from; and the tables that checks are written against."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
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


@dataclass(frozen=True, slots=True)
class CheckedClaim:
    """A check and its outcome."""

    check: Claim
    state: State


def judge(checks: Iterable[Claim]) -> Iterator[CheckedClaim]:
    """Compare each claim with its recomputation."""
    return (CheckedClaim(check, compare(check.recomputed, check.printed, check.last)) for check in checks)


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
        kept = (row for row in self.rows if all(
            value in row.note if field == "note" else getattr(row, field) == value for field, value in wanted.items()))
        return Tables(tuple(kept))

    def one(self, **wanted: str) -> PrintedNumber:
        """The only row with these fields."""
        (row,) = self.where(**wanted).rows
        return row

    def number(self, **wanted: str) -> Number:
        """The only number with these fields."""
        return number(self.one(**wanted))

    def values(self, field: str) -> tuple[str, ...]:
        """The different values of a field, in the order of print."""
        return tuple(dict.fromkeys(str(getattr(row, field)) for row in self.rows))

    def rowwise(self) -> dict[str, dict[Target, Number]]:
        """By metric, the cells by dataset and quality; means over all datasets are left out."""
        found: dict[str, dict[Target, Number]] = {metric: {} for metric in self.values("metric")}
        for row in self.rows:
            if row.dataset != "all":
                found[row.metric][row.dataset, row.quality] = number(row)
        return found


def others(row: Mapping[str, Number], name: str) -> list[Number]:
    """Everybody's number but one's own."""
    return [value for key, value in row.items() if key != name]


def place(row: Mapping[str, Number], name: str) -> Number:
    """The rank of one among all."""
    return rank(row[name], others(row, name))


def column(board: Mapping[str, Mapping[Target, Number]], cell: Target) -> dict[str, Number]:
    """Everybody's number in one cell."""
    return {name: row[cell] for name, row in board.items()}


def wins(board: Mapping[str, Mapping[Target, Number]], name: str) -> list[tuple[Number, list[Number]]]:
    """One competitor against the others, cell by cell."""
    return [(value, others(column(board, cell), name)) for cell, value in board[name].items()]
