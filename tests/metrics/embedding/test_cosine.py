"""Sentence cosine: by hand, against sentence-transformers, and against the ratings of a real set."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from benchmarks.formats import official
from benchmarks.registry import card
from metrics.embedding import cosine
from metrics.embedding.cosine import Cosine, between
from metrics.models import weights
from metrics.models.service import Choice, Models
from tests.conftest import make_item

ANGLES = {"east": 0, "north": 90, "north-east": 45, "west": 180}


class Compass:
    """An encoder that knows four directions; any other text is the zero vector."""

    def __init__(self) -> None:
        self.asked: list[list[str]] = []
        self.poolings: set[str] = set()

    def encoder(self, name: str = "") -> Compass:
        return self

    def sentences(self, texts: Sequence[str], pooling: str = "mean") -> np.ndarray:
        self.asked.append(list(texts))
        self.poolings.add(pooling)
        radians = [np.deg2rad(ANGLES[text]) if text in ANGLES else None for text in texts]
        return np.array([(0, 0) if angle is None else (3 * np.cos(angle), 3 * np.sin(angle)) for angle in radians],
                        dtype=np.float32)


def score(metric: Cosine, *items: Any) -> list[float]:
    return metric.score(items, Compass())["cosine"].tolist()  # type: ignore[arg-type]


def test_the_response_is_compared_with_the_last_utterance() -> None:
    found = score(Cosine(), make_item("1", "north-east", context=("west", "east")),
                  make_item("2", "west", "west", context=("west", "north")),
                  make_item("3", "", context=("east",)))
    np.testing.assert_allclose(found, [np.sqrt(0.5), 0, 0], atol=1e-7)


@pytest.mark.parametrize(("references", "expected"), [
    ("standard", np.sqrt(0.5)), ("max", np.sqrt(0.5)), ("mean", (0 - 1 + np.sqrt(0.5)) / 3), ("first", 0),
])
def test_against_references(references: Any, expected: float) -> None:
    item = make_item("1", "east", "north", "west", " ", "north-east", context=())
    found = score(Cosine(against="references", references=references), item, make_item("2", "east"))
    np.testing.assert_allclose(found, [expected, np.nan], atol=1e-7)


def test_pairs_are_read_once_and_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cosine, "BLOCK", 2)
    encoder = Compass()
    pairs = [("east", "west"), ("east", "north"), ("east", "west"), ("north", "north-east")]
    found = between(pairs, encoder, "cls")  # type: ignore[arg-type]
    assert [found[pair] for pair in pairs] == pytest.approx([-1, 0, -1, np.sqrt(0.5)], abs=1e-7)
    assert encoder.asked == [["east", "west", "east", "north"], ["north", "north-east"]]
    assert encoder.poolings == {"cls"}


def test_pooling_is_of_the_states(tiny_encoder: Path) -> None:
    models = Models(Path(), Choice(encoder=str(tiny_encoder)))
    one, other = models.encoder().states(["hello there", "i like tea"])
    item = make_item("1", "hello there", context=("i like tea",))
    for pooling, vectors in {"mean": (one.mean(0), other.mean(0)), "cls": (one[0], other[0]),
                             "max": (one.max(0), other.max(0))}.items():
        a, b = vectors
        expected = a @ b / np.linalg.norm(a) / np.linalg.norm(b)
        found = Cosine(pooling=pooling).score([item], models)["cosine"]  # type: ignore[arg-type]
        np.testing.assert_allclose(found, [expected], atol=1e-6)


def test_equals_sentence_transformers() -> None:
    sentence_transformers = pytest.importorskip("sentence_transformers")
    texts = ["hello there", "What do you like?", "tea " * 300, "日本語 🙂", "a\u202eb", "don't", " I do  not . "]
    items = [make_item(str(row), text, context=(texts[row - 1],)) for row, text in enumerate(texts)]
    theirs = sentence_transformers.SentenceTransformer(str(weights.find(weights.EMBEDDED, Path()).folder), device="cpu")
    vectors = theirs.encode(texts, normalize_embeddings=True, show_progress_bar=False)
    expected = (vectors * np.roll(vectors, 1, axis=0)).sum(axis=1)
    np.testing.assert_allclose(Cosine().score(items, Models(Path()))["cosine"], expected, atol=1e-5)


@pytest.mark.slow
def test_agrees_with_people_on_a_real_set(real_data: Path) -> None:
    """0.494 was measured with this encoder by another implementation; much less would mean that something is wrong."""
    pytest.importorskip("torch")
    dataset = official.parse(real_data / "human_evaluation_data" / "convai2-grade_eval.json", card("convai2-grade"))
    found = dict(zip((item.id for item in dataset.items), Cosine().score(dataset.items, Models(Path()))["cosine"],
                     strict=True))
    ratings = [(found[rating.item], np.mean(rating.votes)) for rating in dataset.ratings if rating.votes]
    assert len(ratings) == 600
    assert stats.spearmanr(*zip(*ratings, strict=True)).statistic >= 0.49
