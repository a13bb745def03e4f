"""How a number is written, shaded and marked."""

from __future__ import annotations

import math

import pytest

from harness.results.rows import Correlation
from leaderboard.blocks.cells import correlation_cell, leaders, number, shade, value_cell


def test_a_number_has_three_decimals_a_missing_one_is_never_zero_and_the_shade_grows_with_it() -> None:
    for value, text in ((0.1234, "0.123"), (0.9996, "1.000"), (-0.5, "−0.500"), (-0.0001, "0.000"), (math.nan, "–"),
                        (math.inf, "–")):
        assert number(value) == text
    for value, name in ((0.049, "z"), (0.05, "p1"), (-0.05, "n1"), (0.2, "p2"), (-0.31, "n3"), (1.0, "p5"),
                        (-1.0, "n5")):
        assert shade(value) == name


def test_best_and_second_are_distinguished_by_what_is_shown() -> None:
    for values, best, second in (((0.3, 0.1, 0.2), 0.3, 0.2), ((0.3, 0.3, 0.2), 0.3, 0.2),
                                 ((0.3001, 0.2999, 0.1), 0.3, 0.1), ((math.nan, 0.1), 0.1, math.nan),
                                 ((), math.nan, math.nan)):
        assert leaders(values) == pytest.approx((best, second), nan_ok=True)
    assert value_cell(0.0, (math.nan, math.nan)).marks == ()


def test_a_correlation_says_what_it_rests_on() -> None:
    for p, marks, words in ((0.05, ("best", "weak"), ", p = 0.050"), (0.0499, ("best",), ", p = 0.050"),
                            (0.0001, ("best",), ", p < 0.001"), (math.nan, ("best",), "")):
        cell = correlation_cell(Correlation("d", "q", "m", "c", "spearman", 80, 0.2, p, -0.1, 0.4), (0.2, 0.1))
        assert (cell.text, cell.marks, cell.small) == ("0.200", marks, "−0.10 to 0.40")
        assert cell.title == f"n = 80{words}, 95 % interval −0.100 to 0.400"
