"""The ranking rules by hand, what they refuse to average, and what holds for every board."""

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from harness.published import ranks_of
from harness.results.entries import BoardId
from harness.results.rows import Correlation
from harness.run.rank import RULES, Target, borda, cell_weights, mean, ranking
from harness.statistics.rank_intervals import rank

CELLS = {("a", "q1"): 0.1, ("a", "q2"): 0.3, ("b", "q1"): 0.6}
COUNTS = {"a": 1, "b": 4, "c": 9}
VALUES = st.floats(-1, 1, allow_subnormal=False)


def test_rules_by_hand() -> None:
    assert mean(CELLS, cell_weights(CELLS, "dev")) == pytest.approx((0.2 + 0.6) / 2)
    assert mean(CELLS, cell_weights(CELLS, "test")) == pytest.approx(1.0 / 3)
    averaged = {("a", "average"): 0.2, ("b", "q1"): 0.6}
    ranks = ranks_of({"x": averaged}, {"a": 2, "b": 1})
    assert [ranks[rule]["x"].value for rule in RULES] == pytest.approx([2 / 5, 1 / 3])


def test_an_incomplete_row_has_no_value() -> None:
    for weight in (cell_weights(CELLS, rule) for rule in RULES):
        for row in ({}, {("a", "q1"): 0.1}, CELLS | {("b", "q1"): math.nan}, CELLS | {("b", "q1"): math.inf}):
            assert math.isnan(mean(row, weight))
        assert not math.isnan(mean(CELLS, weight))


def test_borda_by_hand() -> None:
    """Row x beats y twice and ties once; z lacks a value, so comparisons with it do not count."""
    rows = {"x": CELLS, "y": {**CELLS, ("a", "q1"): 0.0, ("a", "q2"): 0.2}, "z": {("b", "q1"): 1.0}}
    assert borda(rows, CELLS) == pytest.approx({"x": 2.5, "y": 0.5, "z": math.nan}, nan_ok=True)


def test_rounding_breaks_no_tie_under_borda() -> None:
    rows = {"x": {("a", "q1"): 0.1 + 0.2}, "y": {("a", "q1"): 0.3}}
    assert borda(rows, [("a", "q1")]) == {"x": 0.5, "y": 0.5}


def test_ties_share_a_rank_and_incomplete_rows_have_none() -> None:
    values = [(name, cell, value + shift) for name, shift in (("x", 0.0), ("y", 0.1), ("z", 0.1))
              for cell, value in CELLS.items()]
    values += [("part", ("a", "q1"), 0.9), ("part", ("a", "q2"), math.nan)]
    rows = [Correlation(*cell, name, name, "spearman", 9, value, 0.5, -1, 1) for name, cell, value in values]
    ranked = [row for row in ranking(BoardId("dev"), "real", CELLS, rows) if row.rule == "dev"]
    assert [(row.column, row.rank, row.covered) for row in ranked] == [
        ("y", 1, 3), ("z", 1, 3), ("x", 3, 3), ("part", None, 1)]
    assert math.isnan(ranked[-1].value)
    ranks = rank({"x": 0.1 + 0.2, "y": 0.3, "z": math.nan, "w": 0.1})
    assert {name: row.rank for name, row in ranks.items()} == {"x": 1, "y": 1, "z": None, "w": 3}


def test_a_fitted_metric_is_ranked_where_it_was_not_fitted() -> None:
    """Without dataset a, on which y was fitted, y beats x; the ranks of x and z do not count y."""
    values = {"x": (0.1, 0.3, 0.6), "y": (math.nan, math.nan, 0.7), "z": (0.0, 0.0, 0.8), "part": (math.nan, 0.1, 0.9)}
    rows = [Correlation(*cell, name, name, "spearman", 9, value, 0.5, -1, 1)
            for name, row in values.items() for cell, value in zip(CELLS, row, strict=True)]
    every = ranking(BoardId("dev"), "real", CELLS, rows, {("y", "a")})
    ranked = {row.column: row for row in every if row.rule == "dev"}
    assert {name: (row.rank, row.covered, row.complete) for name, row in ranked.items()} == {
        "x": (1, 3, True), "z": (1, 3, True), "y": (2, 1, False), "part": (None, 2, False)}
    assert ranked["y"].value == pytest.approx(0.7)


def test_board_names_read_back() -> None:
    for name in ("dev", "test-references", "more-zh", "dev:language usage"):
        assert str(BoardId.parse(name)) == name


@given(st.sampled_from([*RULES, "counted"]),
       st.dictionaries(st.tuples(st.sampled_from("abc"), st.sampled_from("pqrs")), VALUES, min_size=1), st.data(),
       st.floats(0, 1))
def test_means_ignore_order_and_rise_with_every_cell(
        rule: str, row: dict[Target, float], data: st.DataObject, gain: float) -> None:
    def value(row: dict[Target, float]) -> float:
        return mean(row, {cell: COUNTS[cell[0]] for cell in row} if rule == "counted" else cell_weights(row, rule))

    assert value(dict(data.draw(st.permutations(list(row.items()))))) == value(row)
    assert min(row.values()) <= value(row) <= max(row.values())
    cell = data.draw(st.sampled_from(sorted(row)))
    sizes = Counter(dataset for dataset, _ in row)
    counts = COUNTS if rule == "counted" else {
        dataset: 1 / size if rule == "dev" else 1 for dataset, size in sizes.items()}
    weight = counts[cell[0]] / sum(counts[dataset] for dataset, _ in row)
    better = value({**row, cell: row[cell] + gain})
    assert better >= value(row)
    assert better - value(row) == pytest.approx(gain * weight, abs=1e-12)
