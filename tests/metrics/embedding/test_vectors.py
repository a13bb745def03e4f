"""Metrics that compare vectors of words and sentences: by hand, against published values, and hard cases."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.dataset import Item, Utterance
from metrics.embedding.cosim import CoSim
from metrics.embedding.cosine import Cosine
from metrics.embedding.embedding_average import EmbeddingAverage
from metrics.embedding.greedy_matching import GreedyMatching
from metrics.embedding.vector_extrema import VectorExtrema
from metrics.models import weights
from metrics.models.service import Models
from metrics.models.vectors import WordVectors
from metrics.text.words import Aggregation
from tests.conftest import make_item

Kind = type[EmbeddingAverage] | type[VectorExtrema] | type[GreedyMatching]
METRICS: tuple[Kind, ...] = (EmbeddingAverage, VectorExtrema, GreedyMatching)
HALF = math.sqrt(0.5)
HAND = {"x": [1.0, 0.0], "y": [0.0, 1.0], "xy": [3.0, 3.0], "minus": [-2.0, 0.0], "nothing": [0.0, 0.0],
        "up": [2.0, 1.0], "down": [-2.0, 1.0]}
RANDOM = {word: vector.tolist() for word, vector in zip(
    "abcdefg", np.random.default_rng(3).normal(size=(7, 5)).astype(np.float32), strict=True)}
TEXT = st.lists(st.sampled_from([*RANDOM, "unheard", "!"]), max_size=8).map(" ".join)


class Toy(Models):
    """A service with the word vectors of a dictionary."""

    def __init__(self, table: dict[str, list[float]]) -> None:
        super().__init__(Path())
        vectors = {word: np.array(numbers, np.float32) for word, numbers in table.items()}
        self.known = WordVectors("toy", len(next(iter(vectors.values()))), vectors.get)

    def vectors(self, name: str = "") -> WordVectors:
        return self.known


def score_of(kind: Kind, response: str, *references: str, table: dict[str, list[float]] = HAND,
        how: Aggregation = "standard") -> float:
    [column] = kind(references=how).score([make_item("1", response, *references)], Toy(table)).values()
    return float(column[0])


def test_word_vectors_by_hand() -> None:
    for kind, response, reference, expected in (
        (EmbeddingAverage, "x", "x", 1), (EmbeddingAverage, "x", "y", 0), (EmbeddingAverage, "x", "minus", -1),
        (EmbeddingAverage, "x y", "x", HALF),                      # (½, ½) and (1, 0)
        (EmbeddingAverage, "x x y", "x", 2 / math.sqrt(5)),        # (⅔, ⅓): a word counts as often as it occurs
        (EmbeddingAverage, "x unheard y", "x", HALF),              # an unknown word is left out
        (EmbeddingAverage, "X, y!", "x", HALF),                    # case and punctuation do not matter
        (VectorExtrema, "x", "x", 1),
        (VectorExtrema, "x minus", "x", -1),                       # −2 has the larger magnitude
        (VectorExtrema, "x minus", "minus", 1),
        (VectorExtrema, "x x y", "xy", 1),                         # (1, 1) and (3, 3): frequency does not matter
        (VectorExtrema, "x minus y", "y", 1 / math.sqrt(5)),       # (−2, 1) and (0, 1)
        (VectorExtrema, "up down", "up", 1), (VectorExtrema, "down up", "up", 1),  # equal magnitudes: the positive
        (GreedyMatching, "x", "x", 1), (GreedyMatching, "x", "minus", -1),
        (GreedyMatching, "x", "xy", HALF),                         # by cosine, not by product
        (GreedyMatching, "x", "x y", (1 + 1 / 2) / 2),             # x to x: 1; x to x and y to x: (1 + 0) / 2
        (GreedyMatching, "x y", "x", (1 / 2 + 1) / 2), (GreedyMatching, "x y", "xy xy", HALF),
        (GreedyMatching, "x nothing", "x", (1 / 2 + 1) / 2),       # a zero vector is known, and similar to nothing
    ):
        assert score_of(kind, response, reference) == pytest.approx(expected, abs=1e-7), (kind, response, reference)


@settings(max_examples=50, deadline=None)
@given(st.sampled_from(METRICS), TEXT, st.lists(TEXT.filter(str.strip), min_size=1, max_size=4))
def test_references_at_once_equal_one_at_a_time(kind: Kind, response: str, references: list[str]) -> None:
    each = [score_of(kind, response, reference, table=RANDOM) for reference in references]
    expected: dict[Aggregation, float] = {
        "standard": max(each), "max": max(each), "mean": sum(each) / len(each), "first": each[0]}
    for how, value in expected.items():
        assert score_of(kind, response, *references, table=RANDOM, how=how) == pytest.approx(value, abs=1e-6)
    assert all(-1 <= value <= 1 for value in each)


@pytest.mark.parametrize("kind", METRICS)
def test_unknown_words_score_0_and_blank_references_nothing(kind: Kind) -> None:
    for response in ("", " ", "?!", "unheard"):
        assert score_of(kind, response, "x", "unheard", "y") == score_of(kind, response, "unheard") == 0
    assert score_of(kind, "x", "unheard", "🙂") == 0
    assert score_of(kind, "x", "unheard", "x", how="mean") == pytest.approx(1 / 2)
    for how in ("standard", "mean", "max", "first"):
        assert score_of(kind, "x", " ", "minus", how=how) == pytest.approx(-1)
        for references in ((), ("",), (" ", "\n")):
            assert math.isnan(score_of(kind, "x", *references, how=how))


ANGLES = {"east": 0, "north": 90, "north-east": 45, "west": 180}


class Compass:
    """An encoder with vectors for four directions; any other text has the zero vector."""

    def encoder(self, name: str = "") -> Compass:
        return self

    def sentences(self, texts: Sequence[str], pooling: str = "mean") -> np.ndarray:
        radians = [np.deg2rad(ANGLES[text]) if text in ANGLES else None for text in texts]
        return np.array([(0, 0) if angle is None else (3 * np.cos(angle), 3 * np.sin(angle)) for angle in radians],
                        dtype=np.float32)


def score(metric: Any, *items: Any) -> list[float]:
    [column] = metric.score(items, Compass()).values()
    return list(column.tolist())


def test_sentence_cosine_by_hand() -> None:
    actual = score(Cosine(), make_item("1", "north-east", context=("west", "east")),
                  make_item("2", "west", "west", context=("west", "north")), make_item("3", "", context=("east",)))
    np.testing.assert_allclose(actual, [HALF, 0, 0], atol=1e-7)
    last_two = score(Cosine(turns=2), make_item("1", "east", context=("west", "north", "east")),
                     make_item("2", "east", context=("north", "")))
    np.testing.assert_allclose(last_two, [0, 0], atol=1e-7)  # neither "north east" nor "north " is a direction
    ways: dict[Any, float] = {"standard": HALF, "max": HALF, "mean": (0 - 1 + HALF) / 3, "first": 0}
    item = make_item("1", "east", "north", "west", " ", "north-east", context=())
    for how, expected in ways.items():
        actual = score(Cosine(against="references", references=how), item, make_item("2", "east"))
        np.testing.assert_allclose(actual, [expected, np.nan], atol=1e-7)


def test_cosim_by_hand() -> None:
    """The mean over adjacent utterances; an empty one has cosine 0, and a single utterance has no score."""
    for texts, expected in ((("east", "north", "north-east", "north-east"), (0 + HALF + 1) / 3), (("west", "west"), 1),
                            (("west", "west", ""), 0.5), (("west",), np.nan), ((), np.nan)):
        dialogue = Item("1", tuple(Utterance("AB"[place % 2], text) for place, text in enumerate(texts)), None)
        np.testing.assert_allclose(score(CoSim(), dialogue), [expected], atol=1e-7)
    item = make_item("1", "north-east", context=("west", "west"))  # a response is the last utterance
    assert score(CoSim(), item) == pytest.approx([(1 - HALF) / 2])
    assert np.isnan(score(CoSim(), make_item("3", "west", context=()))).all()


def test_equals_sentence_transformers() -> None:
    sentence_transformers = pytest.importorskip("sentence_transformers")
    texts = ["hello there", "What do you like?", "tea " * 300, "日本語 🙂", "a\u202eb", "don't", " I do  not . "]
    items = [make_item(str(row), text, context=(texts[row - 1],)) for row, text in enumerate(texts)]
    theirs = sentence_transformers.SentenceTransformer(str(weights.find(weights.EMBEDDED, Path()).folder), device="cpu")
    vectors = theirs.encode(texts, normalize_embeddings=True, show_progress_bar=False)
    expected = (vectors * np.roll(vectors, 1, axis=0)).sum(axis=1)
    np.testing.assert_allclose(Cosine().score(items, Models(Path()))["cosine"], expected, atol=1e-5)
