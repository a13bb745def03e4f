"""Numbers that were rounded for print, and whether one follows from others.

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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Literal

from harness.run.rank import Rule, Target

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


def rounded(printed: Decimal, last: Fraction | None = None) -> Number:
    """A printed number, known to half a unit in its last place (or to half of `last`)."""
    value, half = Fraction(printed), (last or unit(printed)) / 2
    return Number(value, value - half, value + half)


def monotone(function: Callable[[Sequence[Fraction]], Fraction], numbers: Sequence[Number]) -> Number:
    """A function that grows with each of its arguments."""
    return Number(function([number.value for number in numbers]), function([number.low for number in numbers]),
                  function([number.high for number in numbers]))


def by_rule(rule: Rule, row: Mapping[Target, Number]) -> Number:
    """What a ranking rule gives for a row of printed cells."""
    return monotone(lambda values: rule(dict(zip(row, values, strict=True))), list(row.values()))


def largest(numbers: Sequence[Number]) -> Number:
    """The greatest of several."""
    return monotone(max, numbers)


def total(numbers: Sequence[Number]) -> Number:
    """The sum of several."""
    return monotone(lambda values: sum(values, Fraction()), numbers)


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
