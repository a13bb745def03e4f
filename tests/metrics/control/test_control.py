"""The controls, by hand."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks.dataset import Item, Utterance
from metrics import registry
from metrics.models.service import Models
from tests.conftest import make_item


def value(name: str, item: Item) -> float:
    (column,) = registry.choose(name).metric.score([item], Models(Path())).values()
    return float(column[0])


@pytest.mark.parametrize(("name", "response", "context", "expected"), [
    ("length", "Well, I never!", (), 3),
    ("length", "", (), 0),
    ("context-overlap", "the cat sat", ("a cat ?",), 1 / 3),
    ("context-overlap", "The CAT", ("the cat",), 1),
    ("context-overlap", "", ("the cat",), np.nan),
    ("context-overlap", "the cat", (), np.nan),
    ("repetition", "one two three", (), 0),
    ("repetition", "so so so so", (), -2 / 3),          # so-so three times, twice again
    ("repetition", "i like tea", ("i like tea", "and you ?"), -1),   # the system said both bigrams before
    ("repetition", "i like tea", ("i like tea",), 0),   # the user did, not the system
    ("repetition", "tea", (), np.nan),
    ("turns", "ok", ("a", "b"), 3),
])
def test_by_hand(name: str, response: str, context: tuple[str, ...], expected: float) -> None:
    assert value(name, make_item("x", response, context=context)) == pytest.approx(expected, nan_ok=True)


def test_repetition_of_a_whole_dialogue_counts_the_system_alone() -> None:
    turns = (Utterance("user", "oh no oh no"), Utterance("system", "good day"), Utterance("system", "good day sir"))
    assert value("repetition", Item("x", turns, None)) == pytest.approx(-1 / 3)


def test_random_is_uniform_by_id_and_seed() -> None:
    items = [make_item(f"i{number}", "same") for number in range(2000)]
    column = registry.choose("random").metric.score(items, Models(Path()))["random"]
    other = registry.choose("random[seed=1]").metric.score(items, Models(Path()))["random"]
    assert 0 <= column.min() < column.max() < 1
    assert column.mean() == pytest.approx(0.5, abs=0.03)
    assert abs(np.corrcoef(column, other)[0, 1]) < 0.1
