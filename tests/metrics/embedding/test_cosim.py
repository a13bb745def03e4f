"""CoSim: the mean cosine of adjacent utterances, by hand and with a real encoder."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.dataset import Item, Utterance
from metrics.embedding.cosim import CoSim
from metrics.embedding.cosine import Cosine
from metrics.models.service import Choice, Models
from tests.conftest import make_item


def dialogue(name: str, *texts: str) -> Item:
    return Item(name, tuple(Utterance(("user", "system")[place % 2], text) for place, text in enumerate(texts)), None)


@pytest.fixture(scope="module")
def models(tiny_encoder: Path) -> Models:
    return Models(Path(), Choice(encoder=str(tiny_encoder)))


def cosim(models: Models, *items: Item) -> list[float]:
    return CoSim().score(items, models)["cosim"].tolist()


def test_is_the_mean_over_adjacent_utterances(models: Models) -> None:
    texts = ("hello there", "what do you like", "i like tea", "hello there", "what do you like")
    vectors = models.encoder().sentences(texts).astype(np.float64)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    expected = np.mean([vectors[place] @ vectors[place + 1] for place in range(4)])
    assert cosim(models, dialogue("1", *texts)) == pytest.approx([expected], abs=1e-6)


def test_edges(models: Models) -> None:
    """An empty utterance is like nothing; one utterance alone has no score."""
    for texts, expected in [(("tea", "tea"), 1), (("tea", "tea", ""), 0.5), (("tea",), np.nan), ((), np.nan)]:
        np.testing.assert_allclose(cosim(models, dialogue("1", *texts)), [expected], rtol=1e-6)


def test_a_response_is_the_last_utterance_of_its_dialogue(models: Models) -> None:
    texts = ("hello there", "what do you like", "i like tea")
    assert cosim(models, make_item("1", texts[2], context=texts[:2])) == cosim(models, dialogue("2", *texts))
    assert np.isnan(cosim(models, make_item("3", "i like tea", context=()))).all()
    item = make_item("1", "a good reply", context=("what is tea",))
    assert cosim(models, item) == pytest.approx(Cosine().score([item], models)["cosine"])
