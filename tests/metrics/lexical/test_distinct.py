"""Distinct-n, by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

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
    assert Distinct(lowercase=True).score([make_item("1", "No no")], Models(Path()))["distinct-1"][0] == 0.5
    np.testing.assert_allclose([columns["distinct-1"][0], columns["distinct-2"][0]], [one, two])
