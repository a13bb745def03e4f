"""A printed number and what it should follow from: numbers that were rounded for print, claims, and boards.

A printed 0.31 stands for anything that rounds to it. What is recomputed from printed numbers is therefore known only
within bounds, and three answers are possible:

    equal     the recomputed value rounds to the printed one, half up or half to even
    within    it does not, but some inputs that round to their print give a value that does
    differs   no such inputs exist

Everything is a fraction, so that a half is a half. An overlap of the bounds in a single point does not count:
two prints of one number that differ in the last digit differ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import Literal

from harness.published import PrintedNumber, Tables
from harness.run.rank import BY_NAME, CountedMean, Rule, Target, borda, over

State = Literal["equal", "within", "differs"]
STATES: tuple[State, ...] = ("equal", "within", "differs")

HALF = Fraction(1, 2)


@dataclass(frozen=True, slots=True)
class Number:
    """A value, and the least and the greatest it may be, given how its inputs were rounded."""

    value: Fraction
    low: Fraction
    high: Fraction

    def __add__(self, other: Number) -> Number:
        return Number(self.value + other.value, self.low + other.low, self.high + other.high)

    def __sub__(self, other: Number) -> Number:
        return Number(self.value - other.value, self.low - other.high, self.high - other.low)


def exact(value: int | Fraction) -> Number:
    """A number that nobody rounded, such as a count."""
    return Number(Fraction(value), Fraction(value), Fraction(value))


def unit(printed: Decimal) -> Fraction:
    """One in the last printed place."""
    exponent = printed.as_tuple().exponent
    return Fraction(10) ** int(exponent)


def rounded(printed: Decimal) -> Number:
    """A printed number, known to half a unit in its last place."""
    value, half = Fraction(printed), unit(printed) / 2
    return Number(value, value - half, value + half)


def monotone(function: Callable[[Sequence[Fraction]], Fraction], numbers: Sequence[Number]) -> Number:
    """A function that grows with each of its arguments."""
    return Number(function([number.value for number in numbers]), function([number.low for number in numbers]),
                  function([number.high for number in numbers]))


def by_rule(rule: Rule, row: Mapping[Target, Number]) -> Number:
    """What a ranking rule gives for a row of printed cells."""
    return monotone(lambda values: rule(dict(zip(row, values, strict=True))), list(row.values()))


def rank(mine: Number, others: Sequence[Number]) -> Number:
    """1 plus how many of the others are greater."""
    return Number(Fraction(1 + sum(other.value > mine.value for other in others)),
                  Fraction(1 + sum(other.low > mine.high for other in others)),
                  Fraction(1 + sum(other.high > mine.low for other in others)))


def count(pairs: Sequence[tuple[Number, Sequence[Number]]]) -> Number:
    """In how many pairs the first number is greater than all the others."""
    return Number(Fraction(sum(all(mine.value > other.value for other in others) for mine, others in pairs)),
                  Fraction(sum(all(mine.low > other.high for other in others) for mine, others in pairs)),
                  Fraction(sum(all(mine.high > other.low for other in others) for mine, others in pairs)))


def compare(recomputed: Number, printed: Decimal, last: Fraction | None = None) -> State:
    """Whether the printed number follows from its inputs."""
    step = last or unit(printed)
    steps, wanted = recomputed.value / step, Fraction(printed) / step
    half_up = math.floor(abs(steps) + HALF) * (1 if steps >= 0 else -1)
    if wanted in (round(steps), half_up):
        return "equal"
    touches = recomputed.low < (wanted + HALF) * step and recomputed.high > (wanted - HALF) * step
    return "within" if touches else "differs"


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


def rowwise(tables: Tables) -> dict[str, dict[Target, Number]]:
    """By metric, the numbers by target; means over all datasets are left out."""
    board: dict[str, dict[Target, Number]] = {metric: {} for metric in tables.values("metric")}
    for row in tables.rows:
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


@dataclass(frozen=True, slots=True)
class PrintedBoard:
    """A printed board; `counts` says for how many targets a dataset's average stands, where averages are printed.

    `source`, `table` and `rule` say where and by which rule its averages are printed, if they are.
    """

    name: str
    rows: Mapping[str, Mapping[Target, Number]]
    counts: Mapping[str, int] = field(default_factory=dict)
    source: str = ""
    table: str = ""
    rule: str = ""

    def averages(self) -> dict[str, float]:
        """The printed average of each competitor."""
        return {row.metric: float(row.value)
                for row in Tables.of(self.source).where(table=self.table, dataset="all").rows}

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
