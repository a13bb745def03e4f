"""FED: its table, the released code's arithmetic on a tiny model, and what it does with both levels."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.dataset import Item, Utterance
from metrics import registry
from metrics.likelihood.fed import DIALOGUE, QUALITIES, TURN, UTTERANCES
from metrics.metric import Columns
from metrics.models.service import Choice, Models
from tests import tiny
from tests.conftest import make_item
from tests.metrics.models.test_causal import negative_loss, numbers

pytest.importorskip("torch")

END = "<|endoftext|>"
ITEMS = [
    make_item("a", "I like tea.", context=("hi", "what do you like?")),
    make_item("b", "", context=("what do you like?",)),
    Item("c", (), Utterance("system", "hello there")),
    Item("d", (), Utterance("system", " ")),
    Item("e", (Utterance("user", "hi"), Utterance("system", "hello there")), None),
]
TEXTS = [f"hi{END}what do you like?{END}I like tea.", f"what do you like?{END}", "hello there", "",
         f"hi{END}hello there"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny model with room for a conversation and a follow-up, both in bytes."""
    return tiny.causal(tmp_path_factory.mktemp("models") / "roomy-lm", n_positions=160)


@pytest.fixture
def models(home: Path, folder: Path) -> Models:
    return Models(home, Choice(lm=str(folder)))


def scores(name: str, models: Models, items: list[Item]) -> Columns:
    return registry.choose(name).metric.score(items, models)


def loss(models: Models, text: str, last: str = "") -> float:
    """What transformers gives for the text, of all tokens or of the last part's alone."""
    model = models.lm()
    return -negative_loss(model, numbers(model, text) if last else [], numbers(model, last or text))


def test_each_side_has_as_many_follow_ups_as_the_released_table() -> None:
    counts = {quality: (len(sides.speak_for), len(sides.against)) for quality, sides in QUALITIES.items()}
    assert counts == {
        "interesting": (3, 3), "engaging": (3, 3), "specific": (3, 3), "relevant": (0, 3), "correct": (0, 3),
        "semantically-appropriate": (2, 1), "understandable": (2, 4), "fluent": (2, 3), "coherent": (0, 3),
        "error-recovery": (0, 3), "consistent": (0, 2), "diverse": (0, 3), "depth": (0, 2), "likeable": (3, 3),
        "understanding": (0, 3), "flexible": (2, 2), "informative": (3, 2), "inquisitive": (2, 2),
    }
    assert len(UTTERANCES) == len(set(UTTERANCES)) == 63
    assert all(text == text.strip() for text in UTTERANCES)


def test_a_quality_is_praise_minus_complaint(models: Models) -> None:
    """Loss with labels for the follow-up's tokens alone, after the conversation between ends of text."""
    columns = scores("fed", models, ITEMS)
    for row, quality in ((0, "interesting"), (1, "relevant")):
        praise, complaint = ([-loss(models, f"{END}{TEXTS[row]}{END}", text) for text in side] for side in
                             (QUALITIES[quality].speak_for, QUALITIES[quality].against))
        expected = (np.mean(praise) if praise else 0) - np.mean(complaint)
        assert columns[f"fed-{quality}"][row] == pytest.approx(expected, abs=1e-5)


def test_the_released_form_takes_the_loss_of_everything(models: Models) -> None:
    """Low score minus high score, each the mean loss of conversation and follow-up; 0 for a side without any."""
    columns = scores("fed[tokens=all]", models, ITEMS)
    for row, quality in ((2, "relevant"), (4, "likeable")):
        high, low = ([loss(models, f"{END}{TEXTS[row]}{END}{text}") for text in side] for side in
                     (QUALITIES[quality].speak_for, QUALITIES[quality].against))
        expected = sum(low) / max(len(low), 1) - sum(high) / max(len(high), 1)
        assert columns[f"fed-{quality}"][row] == pytest.approx(expected, abs=1e-5)


def test_the_mean_is_over_the_qualities_of_the_items_level(models: Models) -> None:
    """Only a conversation without text has no score."""
    for name in ("fed", "fed[tokens=all]"):
        columns = scores(name, models, ITEMS)
        for row, qualities in ((0, TURN), (2, TURN), (4, DIALOGUE)):
            expected = np.mean([columns[f"fed-{quality}"][row] for quality in qualities])
            assert columns["fed"][row] == pytest.approx(expected)
        for column in columns.values():
            np.testing.assert_array_equal(np.isnan(column), [False, False, False, True, False])
