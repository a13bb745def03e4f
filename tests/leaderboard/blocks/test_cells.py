"""How a number is written, shaded and marked."""

from __future__ import annotations

import math

import pytest

from harness.results.rows import Correlation
from leaderboard.blocks.cells import correlation_cell, leaders, number, shade, value_cell


@pytest.mark.parametrize(("value", "shown"), [
    (0.1234, "0.123"), (0.9996, "1.000"), (-0.5, "−0.500"), (-0.0001, "0.000"), (0.0, "0.000"),
    (math.nan, "–"), (math.inf, "–")])
def test_a_number_has_three_decimals_and_a_missing_one_is_never_zero(value: float, shown: str) -> None:
    assert number(value) == shown


@pytest.mark.parametrize(("value", "name"), [
    (0.0, "z"), (0.049, "z"), (0.05, "p1"), (-0.05, "n1"), (0.2, "p2"), (-0.31, "n3"), (0.45, "p4"), (1.0, "p5"),
    (-1.0, "n5")])
def test_the_shade_grows_with_the_distance_from_zero(value: float, name: str) -> None:
    assert shade(value) == name


@pytest.mark.parametrize(("values", "best", "second"), [
    ((0.3, 0.1, 0.2), 0.3, 0.2), ((0.3, 0.3, 0.2), 0.3, 0.2), ((0.3001, 0.2999, 0.1), 0.3, 0.1),
    ((math.nan, 0.1), 0.1, math.nan), ((), math.nan, math.nan)])
def test_best_and_second_are_told_by_what_is_shown(values: tuple[float, ...], best: float, second: float) -> None:
    assert leaders(values) == pytest.approx((best, second), nan_ok=True)


def test_a_missing_leader_marks_nothing() -> None:
    assert value_cell(0.0, (math.nan, math.nan)).marks == ()


@pytest.mark.parametrize(("p", "marks", "words"), [
    (0.05, ("best", "weak"), "n = 80, p = 0.050, 95 % interval −0.100 to 0.400"),
    (0.0499, ("best",), "n = 80, p = 0.050, 95 % interval −0.100 to 0.400"),
    (0.0001, ("best",), "n = 80, p < 0.001, 95 % interval −0.100 to 0.400"),
    (math.nan, ("best",), "n = 80, 95 % interval −0.100 to 0.400")])
def test_a_correlation_says_what_it_rests_on(p: float, marks: tuple[str, ...], words: str) -> None:
    cell = correlation_cell(Correlation("d", "q", "m", "c", "spearman", 80, 0.2, p, -0.1, 0.4), (0.2, 0.1))
    assert (cell.text, cell.marks, cell.title, cell.small) == ("0.200", marks, words, "−0.10 to 0.40")
