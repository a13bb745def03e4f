"""Pictures: every item is in them, equal ones together, at the place that the axis says."""

from __future__ import annotations

import re
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from harness.results.plots import Vector, axis, bars, bulk, dots, scatter


def floats(*values: float) -> Vector:
    return np.array(values, dtype=np.float32)


def drawn_points(svg: str) -> dict[tuple[int, int], int]:
    """Read every dot of a plot with the class of its path, by walking the relative steps."""
    found: dict[tuple[int, int], int] = {}
    for number, path in re.findall(r'<path class="d(\d)" d="([^"]*)"/>', svg):
        x = y = 0
        assert re.fullmatch(r"(m-?\d+ ?-?\d+h0)+", path)
        for across, down in re.findall(r"m(-?\d+) ?(-?\d+)h0", path):
            x, y = x + int(across), y + int(down)
            assert (x, y) not in found
            found[x, y] = int(number)
    return found


def test_an_axis_has_ticks_at_round_values_and_a_few_values_far_away_do_not_press_the_others_flat() -> None:
    for low, high, ticks in ((1, 5, [1, 2, 3, 4, 5]), (0, 1, [0, 0.25, 0.5, 0.75, 1]), (-0.2, 0.3, [-0.2, 0, 0.2]),
                             (0, 10_000, [0, 2500, 5000, 7500, 10_000])):
        assert axis(low, high, 0, 100).ticks() == pytest.approx(ticks)
    assert axis(1, 5, 100, 0).places(floats(1, 2, 3, 5, 9, -9)).tolist() == [100, 75, 50, 0, 0, 100]
    low, high = bulk(floats(*range(100), 10_000))
    assert (low, 99 <= high < 120) == (0, True)
    assert bulk(floats(*range(101))) == (0, 100)
    assert bulk(floats(1, 2, 1000)) == (1, 1000), "of three values none is left out"


@settings(max_examples=25)
@given(st.lists(st.tuples(st.integers(0, 250), st.integers(0, 180)), min_size=1, max_size=60))
def test_every_point_is_drawn_where_it_is_and_larger_where_more_lie(points: list[tuple[int, int]]) -> None:
    x, y = (np.array(values, dtype=np.int64) for values in zip(*points, strict=True))
    expected = {place: sum(count >= edge for edge in (2, 4, 8)) for place, count in Counter(points).items()}
    assert drawn_points(dots(x, y)) == expected


def test_a_scatter_plot_has_ratings_across_and_scores_up() -> None:
    svg = scatter(floats(1, 5, 5), floats(0, 1, 1), ("people", "bleu"), (1, 5), (0, 1), "told")
    (left, bottom), (right, top) = sorted(drawn_points(svg))
    assert (left < right, top < bottom) == (True, True)
    assert drawn_points(svg)[right, top] == 1, "two items share this place"


def test_a_histogram_has_a_bar_per_value_where_they_are_few_else_bins_around_the_whole_numbers() -> None:
    centres, counts, _ = bars(floats(1, 1, 5, 3), 1, 5)
    assert (centres.tolist(), counts.tolist()) == ([1, 3, 5], [2, 1, 1])
    centres, counts, step = bars(np.linspace(1, 5, 500, dtype=np.float32), 1, 5)
    assert (centres.size, counts.sum(), step) == (17, 500, 0.25)
    assert set(range(1, 6)) <= {round(centre, 9) for centre in centres.tolist()}
