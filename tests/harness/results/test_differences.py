"""Two results row by row: what differs, by how much, what is gone and what is new."""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest

from harness.results import differences
from tests.suite_run import SuiteRun


def test_rows_that_differ_are_counted_with_the_largest_difference(suite_run: SuiteRun) -> None:
    report = suite_run.results
    first, second, *rest = report.correlations
    later = dataclasses.replace(report, correlations=(
        dataclasses.replace(first, value=first.value - 1e-9), dataclasses.replace(second, quality="new"), *rest))
    assert all(table.equal for table in differences.drifts(report, report)), "NaN is NaN"
    tables = {table.table: table for table in differences.drifts(report, later)}
    own = tables.pop("correlations")
    assert all(table.equal for table in tables.values())
    assert (own.common, len(own.differ), len(own.gone), len(own.new)) == (len(report.correlations) - 1, 1, 1, 1)
    assert own.where == (first.dataset, first.quality, first.metric, first.column, first.statistic)
    assert own.largest == pytest.approx(1e-9, rel=1e-3)
    assert differences.drifts(report, later, 1e-6)[0].differ == ()
    gone = dataclasses.replace(report, correlations=(dataclasses.replace(first, value=math.nan), second, *rest))
    assert math.isnan(differences.drifts(report, gone, 10)[0].largest), "a number that is gone is no small difference"


def test_a_score_of_one_item_is_a_difference(suite_run: SuiteRun) -> None:
    report = suite_run.results
    points, *rest = report.points
    column = ("length", "length")
    values = points.scores[column].copy()
    values[3] += 0.5
    for later, largest in ((values, 0.5), (np.where(np.arange(len(values)) == 3, np.nan, values), math.nan)):
        moved = dataclasses.replace(points, scores={**points.scores, column: later})
        table = differences.drifts(report, dataclasses.replace(report, points=(moved, *rest)))[-1]
        assert (table.table, table.differ, table.gone, table.new) == ("points", ((points.dataset, *column),), (), ())
        assert table.largest == pytest.approx(largest, nan_ok=True)
