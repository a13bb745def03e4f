"""ROUGE-L: by hand, and against the rouge-score package to the last digit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rouge_score.rouge_scorer import RougeScorer

from metrics.errors import BadOption
from metrics.lexical.rouge_l import RougeL
from metrics.models.service import Models
from tests.conftest import make_item

TEXT = st.one_of(
    st.lists(st.sampled_from(["a", "b", "c", "the", "Running", "runs", "!"]), max_size=12).map(" ".join),
    st.text(max_size=20),
)
def rouge(metric: RougeL, response: str, *references: str) -> float:
    return float(metric.score([make_item("1", response, *references)], Models(Path()))["rouge-l"][0])


def oracle(response: str, references: list[str], stem: bool = False) -> list[tuple[float, float, float]]:
    scorer = RougeScorer(["rougeL"], use_stemmer=stem)
    return [tuple(scorer.score(reference, response)["rougeL"]) for reference in references]


@pytest.mark.parametrize(("response", "references", "expected"), [
    # Lin (2004): LCS "police the gunman" is 3 of 4 and 3 of 4; "the gunman" is 2
    ("police kill the gunman", ["police killed the gunman"], 3 / 4),
    ("the gunman kill police", ["police killed the gunman"], 2 / 4),
    # P = 2/2, R = 2/4
    ("a c", ["a b c d"], 2 / 3),
    # case and punctuation are no matter, an underscore parts
    ("A-b!", ["a_b"], 1),
    # largest P is 1 (first), largest R is 1 (second): neither reference alone gives 1
    ("a b", ["a b c d", "b"], 1),
    ("x", ["a"], 0),
    ("", ["a"], 0),
    ("!", ["?"], 0),
])
def test_by_hand(response: str, references: list[str], expected: float) -> None:
    assert rouge(RougeL(), response, *references) == pytest.approx(expected)


def test_beta_weighs_recall() -> None:
    # P = 1, R = 1/2: (1 + 1.44) * 1/2 / (1.44 + 1/2)
    assert rouge(RougeL(beta=1.2), "a c", "a b c d") == pytest.approx(2.44 * 0.5 / 1.94)
    with pytest.raises(BadOption, match="beta"):
        RougeL(beta=0)


@settings(max_examples=50, deadline=None)
@given(TEXT, st.lists(TEXT.filter(str.strip), min_size=1, max_size=4), st.booleans())
def test_equals_rouge_score(response: str, references: list[str], stem: bool) -> None:
    precisions, recalls, fs = zip(*oracle(response, references, stem), strict=True)
    assert rouge(RougeL("max", stem), response, *references) == max(fs)
    assert rouge(RougeL("first", stem), response, *references) == fs[0]
    assert rouge(RougeL("mean", stem), response, *references) == pytest.approx(np.mean(fs))
    precision, recall = max(precisions), max(recalls)
    expected = 2 * precision * recall / (precision + recall) if precision + recall else 0
    assert rouge(RougeL("standard", stem), response, *references) == expected
