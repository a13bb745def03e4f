"""Distinct-n, by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from metrics.lexical.distinct import Distinct
from metrics.models.service import Models
from tests.conftest import make_item


@pytest.mark.parametrize(("response", "one", "two"), [
    ("a b c", 1, 1),
    ("a a a a", 1 / 4, 1 / 3),       # one word of four, one bigram of three
    ("a b a b", 2 / 4, 2 / 3),       # (a b) (b a) (a b)
    ("no , no", 2 / 3, 1),           # punctuation counts
    ("hi", 1, np.nan),               # no bigram
    ("", np.nan, np.nan),
    ("No no", 1, 1),                 # case is kept unless asked for
])
def test_by_hand(response: str, one: float, two: float) -> None:
    columns = Distinct().score([make_item("1", response)], Models(Path()))
    np.testing.assert_allclose([columns["distinct-1"][0], columns["distinct-2"][0]], [one, two])


def test_lowercase_makes_no_and_no_the_same() -> None:
    columns = Distinct(lowercase=True).score([make_item("1", "No no")], Models(Path()))
    assert columns["distinct-1"][0] == 0.5


@settings(max_examples=50)
@given(st.text(max_size=40))
def test_it_is_a_share(response: str) -> None:
    for column in Distinct().score([make_item("1", response)], Models(Path())).values():
        assert np.isnan(column[0]) or 0 < column[0] <= 1
