"""The metrics on word vectors: by hand, against naive loops over the formulas, and what they survive."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.dataset import Item
from metrics.embedding.embedding_average import EmbeddingAverage
from metrics.embedding.greedy_matching import GreedyMatching
from metrics.embedding.vector_extrema import VectorExtrema
from metrics.metric import Column, signature
from metrics.models.service import Choice, Models
from metrics.models.vectors import WordVectors
from metrics.text.words import Aggregation
from tests.conftest import make_item

METRICS = (EmbeddingAverage, VectorExtrema, GreedyMatching)
Kind = type[EmbeddingAverage] | type[VectorExtrema] | type[GreedyMatching]
Numbers = list[float]

HAND = {"x": [1.0, 0.0], "y": [0.0, 1.0], "xy": [3.0, 3.0], "minus": [-2.0, 0.0], "nothing": [0.0, 0.0]}
RANDOM = {word: vector.tolist() for word, vector in zip(
    "abcdefg", np.random.default_rng(3).normal(size=(7, 5)).astype(np.float32), strict=True)}


class Toy(Models):
    """A service that knows the word vectors of a dictionary."""

    def __init__(self, table: dict[str, Numbers]) -> None:
        super().__init__(Path())
        vectors = {word: np.array(numbers, np.float32) for word, numbers in table.items()}
        self.known = WordVectors("toy", len(next(iter(vectors.values()))), vectors.get)

    def vectors(self, name: str = "") -> WordVectors:
        return self.known


def scored(kind: Kind, items: Sequence[Item], models: Models, references: Aggregation = "standard") -> Column:
    metric = kind(references=references)
    [(name, column)] = metric.score(items, models).items()
    assert (name,) == metric.card.columns
    return column


def one(kind: Kind, response: str, *references: str, table: dict[str, Numbers] = HAND,
        how: Aggregation = "standard") -> float:
    return float(scored(kind, [make_item("1", response, *references)], Toy(table), how)[0])


# --- by hand

HALF = math.sqrt(0.5)


@pytest.mark.parametrize(("kind", "response", "reference", "expected"), [
    (EmbeddingAverage, "x", "x", 1),
    (EmbeddingAverage, "x", "y", 0),
    (EmbeddingAverage, "x", "minus", -1),
    (EmbeddingAverage, "x y", "x", HALF),                      # (½, ½) and (1, 0)
    (EmbeddingAverage, "x x y", "x", 2 / math.sqrt(5)),        # (⅔, ⅓): a word counts as often as it occurs
    (EmbeddingAverage, "x unheard y", "x", HALF),              # an unknown word is left out
    (EmbeddingAverage, "X, y!", "x", HALF),                    # case and punctuation are no matter
    (VectorExtrema, "x", "x", 1),
    (VectorExtrema, "x minus", "x", -1),                       # −2 has the larger magnitude
    (VectorExtrema, "x minus", "minus", 1),
    (VectorExtrema, "x x y", "xy", 1),                         # (1, 1) and (3, 3): how often is no matter
    (VectorExtrema, "x minus y", "y", 1 / math.sqrt(5)),       # (−2, 1) and (0, 1)
    (GreedyMatching, "x", "x", 1),
    (GreedyMatching, "x", "minus", -1),
    (GreedyMatching, "x", "xy", HALF),                         # by cosine, not by product
    (GreedyMatching, "x", "x y", (1 + 1 / 2) / 2),             # x to x: 1; x to x and y to x: (1 + 0) / 2
    (GreedyMatching, "x y", "x", (1 / 2 + 1) / 2),
    (GreedyMatching, "x y", "xy xy", HALF),
    (GreedyMatching, "x nothing", "x", (1 / 2 + 1) / 2),       # a zero vector is known, and like nothing
])
def test_by_hand(kind: Kind, response: str, reference: str, expected: float) -> None:
    assert one(kind, response, reference) == pytest.approx(expected, abs=1e-7)


def test_of_two_extremes_of_equal_magnitude_the_positive_counts() -> None:
    table = {"up": [2.0, 1.0], "down": [-2.0, 1.0]}
    assert one(VectorExtrema, "up down", "up", table=table) == pytest.approx(1)
    assert one(VectorExtrema, "down up", "up", table=table) == pytest.approx(1)


TEXT = st.lists(st.sampled_from([*RANDOM, "unheard", "!"]), max_size=8).map(" ".join)


@settings(max_examples=50, deadline=None)
@given(st.sampled_from(METRICS), TEXT, st.lists(TEXT.filter(str.strip), min_size=1, max_size=4))
def test_all_references_at_once_are_as_each_alone(kind: Kind, response: str, references: list[str]) -> None:
    each = [one(kind, response, reference, table=RANDOM) for reference in references]
    expected: dict[Aggregation, float] = {
        "standard": max(each), "max": max(each), "mean": sum(each) / len(each), "first": each[0]}
    for how, value in expected.items():
        assert one(kind, response, *references, table=RANDOM, how=how) == pytest.approx(value, abs=1e-6)
    assert all(-1 <= value <= 1 for value in each)


@pytest.mark.slow
def test_equals_what_nlg_eval_publishes(real_data: Path, home: Path) -> None:
    """The first example of nlg-eval's own tests; all its words are known and it has no punctuation."""
    if not (path := real_data / "resources" / "glove.6B.300d.txt").is_file():
        pytest.skip(f"no {path}")
    items = [make_item("1", "this is a good test", "this is a test", "this is also a test")]
    for kind, expected in ((EmbeddingAverage, 0.980075), (VectorExtrema, 0.94509), (GreedyMatching, 0.960771)):
        assert scored(kind, items, Models(home, Choice(vectors=str(path))))[0] == pytest.approx(expected, abs=1e-5)


# --- what is missing


@pytest.mark.parametrize("kind", METRICS)
def test_a_side_without_a_known_word_is_0(kind: Kind) -> None:
    for response in ("", " ", "?!", "unheard"):
        assert one(kind, response, "x", "unheard", "y") == 0
        assert one(kind, response, "unheard") == 0
    assert one(kind, "x", "unheard", "🙂") == 0
    assert one(kind, "x", "unheard", "x") == pytest.approx(1)
    assert one(kind, "x", "unheard", "x", how="mean") == pytest.approx(1 / 2)


@pytest.mark.parametrize("kind", METRICS)
def test_a_blank_reference_is_none(kind: Kind) -> None:
    for how in ("standard", "mean", "max", "first"):
        assert one(kind, "x", " ", "minus", how=how) == pytest.approx(-1)
        for references in ((), ("",), (" ", "\n")):
            assert math.isnan(one(kind, "x", *references, how=how))


def test_the_signature_tells_the_vectors(tiny_encoder: Path, tmp_path: Path, home: Path) -> None:
    path = tmp_path / "toy.txt"
    path.write_text("x 1 0\ny 0 1\n")
    models = Models(home, Choice(encoder=str(tiny_encoder), device="cpu"))
    own = signature(GreedyMatching(vectors=str(path)), models)
    assert "vectors=toy.txt@" in own
    assert "vectors=input embeddings of " in signature(GreedyMatching(), models)
    assert GreedyMatching(vectors=str(path)).score([make_item("1", "x", "x y")], models)[
        "greedy-matching"].tolist() == pytest.approx([0.75])
