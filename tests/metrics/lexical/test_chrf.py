"""chrF and chrF++: by hand, and against sacreBLEU to the last digit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.chrf import CHRF

from metrics.errors import BadOption
from metrics.lexical.chrf import Chrf
from metrics.models.service import Models
from tests.conftest import make_item

TEXT = st.one_of(st.text(alphabet="aab .,(!A", max_size=12), st.text(max_size=20))
def chrf(metric: Chrf, response: str, *references: str) -> float:
    return float(metric.score([make_item("1", response, *references)], Models(Path()))["chrf"][0])


@pytest.mark.parametrize(("metric", "response", "reference", "expected"), [
    (Chrf(), "abcdef", "abcdef", 100),
    (Chrf(), "ab", "a b", 100),                  # space is no character
    (Chrf(char_order=1), "ab", "ac", 50),        # one of two letters, both ways
    # order 1: 2 of 2 and 2 of 3, order 2: 1 of 1 and 1 of 2; P = 1, R = (2/3 + 1/2)/2 = 7/12, F2 = 5PR/(4P + R)
    (Chrf(char_order=2), "ab", "abc", 100 * 5 * 7 / 12 / (4 + 7 / 12)),
    (Chrf(char_order=1, word_order=1, beta=1), "a b!", "b", 50),  # characters 1/3 and 1, words (a b !) 1/3 and 1
    (Chrf(char_order=0, word_order=1, beta=1), "a b", "b c", 50),
    (Chrf(), "x", "a", 0),
    (Chrf(), "", "a", 0),
])
def test_by_hand(metric: Chrf, response: str, reference: str, expected: float) -> None:
    assert chrf(metric, response, reference) == pytest.approx(expected)


def test_orders_and_beta_must_mean_something() -> None:
    for options in ({"char_order": -1}, {"char_order": 0, "word_order": 0}, {"beta": 0.0}):
        with pytest.raises(BadOption):
            Chrf(**options)  # type: ignore[arg-type]


@settings(max_examples=50, deadline=None)
@given(TEXT, st.lists(TEXT.filter(str.strip), min_size=1, max_size=3), st.sampled_from([0, 2]),
       st.sampled_from([1, 2, 3]), st.booleans())
def test_equals_sacrebleu(response: str, references: list[str], words: int, beta: int, lowercase: bool) -> None:
    package = CHRF(word_order=words, beta=beta, lowercase=lowercase)
    each = [package.sentence_score(response, [reference]).score for reference in references]
    best = package.sentence_score(response, references).score
    options = {"word_order": words, "beta": beta, "lowercase": lowercase}
    assert chrf(Chrf("standard", **options), response, *references) == best  # type: ignore[arg-type]
    assert chrf(Chrf("max", **options), response, *references) == best  # type: ignore[arg-type]
    assert chrf(Chrf("first", **options), response, *references) == each[0]  # type: ignore[arg-type]
    assert chrf(Chrf("mean", **options), response, *references) == pytest.approx(np.mean(each))  # type: ignore[arg-type]
