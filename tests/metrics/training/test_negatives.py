"""Corruptions, wrong replies and shuffled dialogues."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.dataset import Utterance
from metrics.text import bm25
from metrics.training import negatives

TEXTS = st.lists(st.sampled_from(["the", "cat", "sat", "on", "mats", "."]), max_size=12).map(" ".join)
SEEDS = st.integers(0, 2**32)
DIALOGUES = st.lists(st.tuples(st.sampled_from("AB"), st.sampled_from(["hi", "yes", "no", "why?"])), max_size=8).map(
    lambda turns: tuple(Utterance(*turn) for turn in turns))


def draw(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


@given(TEXTS, SEEDS)
def test_reordering_keeps_the_words_and_changes_their_order(text: str, seed: int) -> None:
    made = negatives.reordered(text, draw(seed))
    assert Counter(made.split()) == Counter(text.split())
    assert made != text or len(set(text.split())) < 2


@given(TEXTS, SEEDS)
def test_dropping_takes_a_share_and_keeps_the_order(text: str, seed: int) -> None:
    made, words = negatives.dropped(text, draw(seed)).split(), text.split()
    left = iter(words)
    assert all(word in left for word in made)
    if len(words) > 1:
        gone = len(words) - len(made)
        assert max(1, math.floor(0.15 * len(words))) <= gone <= max(1, math.ceil(0.5 * len(words)))


@given(TEXTS, SEEDS)
def test_repeating_adds_one_to_nine_words_that_are_there(text: str, seed: int) -> None:
    made, words = negatives.repeated(text, draw(seed)).split(), text.split()
    assert set(made) == set(words)
    assert (1 <= len(made) - len(words) <= 9) if words else not made


@pytest.mark.parametrize(("text", "expected"), [
    ("I like the old house .", "like old house ."),
    ("The end .", "end ."),
    ("You do , don't you ?", "You do , don't you ?"),  # nothing would be left
    ("", ""),
])
def test_stop_words_go(text: str, expected: str, rng: np.random.Generator) -> None:
    assert negatives.without_stop_words(text, rng) == expected


def test_random_others_are_of_other_groups(rng: np.random.Generator) -> None:
    groups = np.array([0, 0, 0, 0, 1, 2])
    drawn = negatives.random_others(np.arange(6).repeat(50), groups, 4, rng)
    assert drawn.shape == (300, 4)
    assert (groups[drawn] != groups[np.arange(6).repeat(50)][:, None]).all()
    assert set(drawn[:50].ravel()) == {4, 5}


def circle(count: int) -> np.ndarray:
    """Vectors at growing angles from the first."""
    angles = np.linspace(0, np.pi / 2, count)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def test_the_nearest_are_the_nearest(rng: np.random.Generator) -> None:
    """Of a pool that is drawn whole, row 0 gets one of 2 and 3: 1 is of its own dialogue."""
    groups = np.array([0, 0, 1, 2, 3, 4, 5, 6])
    found = negatives.nearest_others(np.zeros(200, dtype=np.int64), circle(8), groups, rng, drawn=8, best=2)
    assert set(found.tolist()) == {2, 3}


def test_where_all_that_was_drawn_is_barred_a_random_one_is_taken(rng: np.random.Generator) -> None:
    groups = np.array([0] * 5 + [1])
    found = negatives.nearest_others(np.zeros(600, dtype=np.int64), circle(6), groups, rng, drawn=2, best=2)
    assert set(found.tolist()) == {5}


def test_the_middle_is_neither_near_nor_far(rng: np.random.Generator) -> None:
    """Of ten candidates the sixth by cosine, wherever it stands; of equals the first, of zeros none is near."""
    order = rng.permutation(10)
    candidates = np.stack([circle(10)[order], 3 * circle(10), np.zeros((10, 2))])
    assert negatives.middle(circle(10)[[0, 9, 0]], candidates).tolist() == [order.tolist().index(5), 4, 5]


@given(DIALOGUES, SEEDS)
def test_a_shuffle_keeps_all_that_is_said(dialogue: tuple[Utterance, ...], seed: int) -> None:
    texts = [turn.text for turn in dialogue]
    made = negatives.speaker_shuffled(dialogue, draw(seed))
    assert sorted(turn.text for turn in made) == sorted(texts)
    assert [turn.speaker for turn in made] == [turn.speaker for turn in dialogue]


@given(DIALOGUES.filter(bool), SEEDS)
def test_one_utterance_is_replaced(dialogue: tuple[Utterance, ...], seed: int) -> None:
    made = negatives.replaced(dialogue, ["from elsewhere", "and more"], draw(seed))
    changed = [turn for turn, old in zip(made, dialogue, strict=True) if turn != old]
    assert len(changed) == 1
    assert changed[0].text in {"from elsewhere", "and more"}


@pytest.mark.parametrize("function", [negatives.reordered, negatives.dropped, negatives.repeated])
def test_the_same_seed_gives_the_same(function: object) -> None:
    text = "one two three four five six seven"
    made = [function(text, draw(5)) for _ in range(2)]  # type: ignore[operator]
    assert made[0] == made[1]
    assert len({function(text, draw(seed)) for seed in range(9)}) > 1  # type: ignore[operator]


def test_bm25_by_hand() -> None:
    """Three texts of 1, 2 and 3 words; "cat" is in two of them, "mat" in one."""
    index = bm25.Index(["cat", "cat mat", "dog dog bird"])
    rows, scores = index.search(["cat mat"], top=3)
    idf_cat, idf_mat = math.log(1 + 1.5 / 2.5), math.log(1 + 2.5 / 1.5)
    weight = [2.2 / (1 + 1.2 * (0.25 + 0.75 * length / 2)) for length in (1, 2)]
    assert rows.tolist() == [[1, 0, -1]]
    assert scores[0] == pytest.approx([(idf_cat + idf_mat) * weight[1], idf_cat * weight[0], 0], rel=1e-5)


def test_lexical_negatives_share_words_and_are_of_other_dialogues(rng: np.random.Generator) -> None:
    """Of three hits the middle one; what is the same, or of the same dialogue, is passed over."""
    texts = ["red apple pie", "red apple pie with cream", "Red, apple pie!", "red apple tree", "red apple", "red car",
             "nothing alike"]
    groups = np.array([0, 0, 1, 2, 3, 4, 5])
    ranking = bm25.Index(texts).search([texts[0]], 7)[0][0].tolist()
    allowed = [row for row in ranking if row in {3, 4, 5}]
    found = bm25.lexical_others(np.array([0, 6]), bm25.Index(texts), groups, rng)
    assert found[0] == allowed[1]
    assert found[1] != 6
