"""BLEU: by hand, and against sacreBLEU to the last digit."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU

from metrics.lexical.bleu import ORDERS, Bleu, Smoothing
from metrics.models.service import Models
from tests.conftest import make_item

TEXT = st.one_of(
    st.lists(st.sampled_from(["a", "b", "the", "The", ".", "1,5", "🙂"]), max_size=9).map(" ".join),
    st.text(max_size=20),
)
AWKWARD = ["", " ", ".", "?!...", "a", "a a a a a", "the the", "na " * 900, "日本語 です", "<skipped>", "a..5 &amp;"]


def bleu(metric: Bleu, response: str, *references: str) -> list[float]:
    columns = metric.score([make_item("1", response, *references)], Models(Path()))
    return [float(columns[f"bleu-{order}"][0]) for order in ORDERS]


def oracle(
    response: str, references: Sequence[str], smoothing: Smoothing = "exp", lowercase: bool = False
) -> list[float]:
    return [
        BLEU(max_ngram_order=order, effective_order=True, smooth_method=smoothing, lowercase=lowercase)
        .sentence_score(response, references).score
        for order in ORDERS
    ]


@pytest.mark.parametrize(("response", "references", "expected"), [
    # all of it is there
    ("a b c d", ["a b c d"], [100, 100, 100, 100]),
    # 3 of 4 words, 2 of 3 bigrams, 1 of 2 trigrams, and of one 4-gram smoothed to a half
    ("a b c x", ["a b c d"], [75, 100 * (3 / 4 * 2 / 3) ** (1 / 2), 100 * (3 / 4 * 2 / 3 * 1 / 2) ** (1 / 3),
                              100 * (3 / 4 * 2 / 3 * 1 / 2 * 1 / 2) ** (1 / 4)]),
    # "the" counts at most as often as one reference has it: twice of seven (Papineni et al.)
    ("the the the the the the the", ["the cat is on the mat", "there is a cat on the mat"], [100 * 2 / 7]),
    # too short by half: BP = exp(1 - 4/2); orders 3 and 4 do not exist and are left out
    ("a b", ["a b c d"], [100 / math.e] * 4),
    # the closest length counts, of two as close the shorter: no penalty
    ("a b c", ["a b", "a b c d"], [100, 100, 100, 100]),
    ("x y", ["a b"], [0, 0, 0, 0]),
    ("", ["a b"], [0, 0, 0, 0]),
    ("a b", [""], [np.nan] * 4),
])
def test_by_hand(response: str, references: list[str], expected: list[float]) -> None:
    assert bleu(Bleu(), response, *references)[: len(expected)] == pytest.approx(expected, nan_ok=True)


def test_several_references() -> None:
    each = np.array([oracle("a b the .", [reference]) for reference in ("a b", "the b .", "x")])
    ways: dict[Any, Any] = {"mean": each.mean(axis=0), "max": each.max(axis=0), "first": each[0]}
    for how, combined in ways.items():
        assert bleu(Bleu(how), "a b the .", "a b", "the b .", "x") == pytest.approx(combined.tolist())


@settings(max_examples=50, deadline=None)
@given(TEXT, st.lists(TEXT, min_size=1, max_size=4).filter(lambda texts: any(text.strip() for text in texts)),
       st.sampled_from(["exp", "add-k", "floor", "none"]), st.booleans())
def test_equals_sacrebleu(response: str, references: list[str], smoothing: Smoothing, lowercase: bool) -> None:
    found = bleu(Bleu(smoothing=smoothing, lowercase=lowercase), response, *references)
    assert found == oracle(response, references, smoothing, lowercase)


def test_equals_sacrebleu_on_awkward_texts() -> None:
    for response in AWKWARD:
        for references in (["a a b", response or "x"], [*AWKWARD], ["", "a b c"]):
            assert bleu(Bleu(), response, *references) == oracle(response, references)


def test_equals_sacrebleu_on_real_texts(real_data: Path) -> None:
    rows = json.loads((real_data / "side" / "dstc7-partial.json").read_text())[::25]
    rows = [row for row in rows if row["reference"]]
    items = [make_item(row["dialogue_id"], row["response"], *row["reference"]) for row in rows]
    columns = Bleu().score(items, Models(Path()))
    expected = zip(*(oracle(row["response"], row["reference"]) for row in rows), strict=True)
    for column, values in zip(columns.values(), expected, strict=True):
        assert column.tolist() == list(values)
