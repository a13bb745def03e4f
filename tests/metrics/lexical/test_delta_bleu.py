"""ΔBLEU: by hand, and equal to BLEU where weights say nothing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.dataset import Item, Reference, Utterance
from metrics.lexical.bleu import Bleu, Smoothing
from metrics.lexical.delta_bleu import DeltaBleu
from metrics.models.service import Models

TEXT = st.lists(st.sampled_from(["a", "b", "the", ".", "🙂"]), max_size=9).map(" ".join)


def item(response: str, *references: tuple[str, float]) -> Item:
    return Item("1", (), Utterance("system", response), tuple(Reference(*reference) for reference in references))


def delta(scored: Item, metric: DeltaBleu | None = None) -> float:
    return float((metric or DeltaBleu()).score([scored], Models(Path()))["delta-bleu"][0])


@pytest.mark.parametrize(("response", "references", "expected"), [
    # every n-gram earns the largest weight, whatever it is
    ("a b c d", [("a b c d", 0.5)], 100),
    # one word: held at 0.4 where 0.8 was to be had
    ("a", [("a", 0.4), ("z", 0.8)], 50),
    # the best of the references that hold it
    ("a", [("a", 0.4), ("a", 0.8)], 100),
    # clipped by reference, then weighed: max(1 * 1, 0.75 * 2) of 2; the bigram (a a) is at 0.75 only
    ("a a", [("a b", 1.0), ("a a", 0.75)], 100 * (1.5 / 2 * 0.75) ** 0.5),
    # (a b) counts against: 1 + 1 for the words, -0.5 for the bigram, which is no match and smoothed to a half
    ("a b", [("b a", 1.0), ("a b", -0.5)], 100 * (1 * 0.5) ** 0.5),
    # only an inept reference says so
    ("a", [("a", -1.0), ("z", 1.0)], 0),
    # x would add 1, y takes 0.5 away: half a match of two; the bigram is smoothed to a half
    ("x y", [("x q", 1.0), ("y q", -0.5)], 100 * (0.5 / 2 * 0.5) ** 0.5),
    ("", [("a", 1.0)], 0),
])
def test_by_hand(response: str, references: list[tuple[str, float]], expected: float) -> None:
    assert delta(item(response, *references)) == pytest.approx(expected)


@settings(max_examples=50, deadline=None)
@given(TEXT, st.lists(TEXT, min_size=1, max_size=4), st.sampled_from(["exp", "add-k", "floor", "none"]),
       st.booleans())
def test_with_all_weights_1_it_is_bleu_4(
    response: str, references: list[str], smoothing: Smoothing, lowercase: bool
) -> None:
    scored = item(response, *((reference, 1.0) for reference in references))
    expected = Bleu(smoothing=smoothing, lowercase=lowercase).score([scored], Models(Path()))["bleu-4"]
    np.testing.assert_array_equal(delta(scored, DeltaBleu(smoothing, lowercase)), expected[0])


def test_without_a_reference_of_positive_weight_it_is_missing() -> None:
    for references in ([], [("", 1.0)], [("a", 0.0)], [("a", -1.0), ("b", -0.5)]):
        assert np.isnan(delta(item("a", *references)))
