"""Corrupted texts, false replies and perturbed dialogues."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from benchmarks.dataset import Utterance
from metrics.graph.dynaeval.dialogues import replaced, speaker_shuffled
from metrics.training import examples

TEXTS = st.lists(st.sampled_from(["the", "cat", "sat", "on", "mats", "."]), max_size=12).map(" ".join)
RNGS = st.integers(0, 2**32).map(np.random.default_rng)
DIALOGUES = st.lists(st.tuples(st.sampled_from("AB"), st.sampled_from(["hi", "yes", "no", "why?"])), max_size=8).map(
    lambda turns: tuple(Utterance(*turn) for turn in turns))


@settings(max_examples=50)
@given(TEXTS, RNGS)
def test_corruptions_of_a_text(text: str, rng: np.random.Generator) -> None:
    """Reordering keeps the words, dropping keeps some in order, repeating adds one to nine existing words."""
    words = text.split()
    reordered = examples.reordered(text, rng)
    assert Counter(reordered.split()) == Counter(words)
    assert reordered != text or len(set(words)) < 2
    dropped = examples.dropped(text, rng).split()
    left = iter(words)
    assert all(word in left for word in dropped)
    if len(words) > 1:
        assert max(1, math.floor(0.15 * len(words))) <= len(words) - len(dropped) <= max(1, math.ceil(len(words) / 2))
    repeated = examples.repeated(text, rng).split()
    assert set(repeated) == set(words)
    assert (1 <= len(repeated) - len(words) <= 9) if words else not repeated


def test_stop_words_are_dropped(rng: np.random.Generator) -> None:
    for text, expected in (("I like the old house .", "like old house ."), ("The end .", "end ."), ("", ""),
                           ("You do , don't you ?", "You do , don't you ?")):  # no word would be left
        assert examples.without_stop_words(text, rng) == expected


@settings(max_examples=50)
@given(DIALOGUES, RNGS)
def test_perturbed_dialogues_keep_the_speakers(dialogue: tuple[Utterance, ...], rng: np.random.Generator) -> None:
    """A shuffle keeps all utterances; a replacement changes one."""
    shuffled = speaker_shuffled(dialogue, rng)
    assert sorted(turn.text for turn in shuffled) == sorted(turn.text for turn in dialogue)
    assert [turn.speaker for turn in shuffled] == [turn.speaker for turn in dialogue]
    if dialogue:
        changed_dialogue = replaced(dialogue, ["from elsewhere", "and more"], rng)
        (changed,) = [turn for turn, old in zip(changed_dialogue, dialogue, strict=True) if turn != old]
        assert changed.text in {"from elsewhere", "and more"}


def circle(count: int) -> np.ndarray:
    """Return vectors at growing angles from the first."""
    angles = np.linspace(0, np.pi / 2, count)
    return np.stack([np.cos(angles), np.sin(angles)], axis=1)


def test_false_replies_are_of_other_groups(rng: np.random.Generator) -> None:
    groups = np.array([0, 0, 0, 0, 1, 2])
    drawn = examples.random_others(np.arange(6).repeat(50), groups, rng)
    assert (groups[drawn] != groups.repeat(50)).all()
    # if the whole pool is drawn, row 0 gets one of the two nearest, 2 and 3, since 1 is of its own dialogue;
    # if all drawn candidates are excluded, a random one is used
    for dialogues, pool, expected in (([0, 0, 1, 2, 3, 4, 5, 6], 8, {2, 3}), ([0, 0, 0, 0, 0, 1], 2, {5})):
        nearest = examples.nearest_others(np.zeros(600, dtype=np.int64), circle(len(dialogues)), np.array(dialogues),
                                           rng, drawn=pool, best=2)
        assert set(nearest.tolist()) == expected


def test_the_middle_candidate_is_chosen(rng: np.random.Generator) -> None:
    """The sixth of ten candidates by cosine is chosen; ties go to the first, and zero vectors have cosine 0."""
    order = rng.permutation(10)
    candidates = np.stack([circle(10)[order], 3 * circle(10), np.zeros((10, 2))])
    assert examples.middle(circle(10)[[0, 9, 0]], candidates).tolist() == [order.tolist().index(5), 4, 5]


def test_lexical_negatives_share_words_by_bm25_and_are_of_other_dialogues(rng: np.random.Generator) -> None:
    """The second of three hits is chosen; equal texts and texts of the same dialogue are skipped."""
    texts = ["red apple pie", "red apple pie with cream", "Red, apple pie!", "red apple tree", "red apple", "red car",
             "nothing alike"]
    groups = np.array([0, 0, 1, 2, 3, 4, 5])
    ranking = examples.Index(texts).search([texts[0]], 7)[0][0].tolist()
    allowed = [row for row in ranking if row in {3, 4, 5}]
    chosen = examples.lexical_others(np.array([0, 6]), examples.Index(texts), groups, rng, {})
    assert chosen[0] == allowed[1]
    assert chosen[1] != 6


def test_bm25_by_hand() -> None:
    """The texts have one, two and three words; "cat" is in two of them, "mat" in one."""
    rows, scores = examples.Index(["cat", "cat mat", "dog dog bird"]).search(["cat mat"], top=3)
    idf_cat, idf_mat = math.log(1 + 1.5 / 2.5), math.log(1 + 2.5 / 1.5)
    weight = [2.2 / (1 + 1.2 * (0.25 + 0.75 * length / 2)) for length in (1, 2)]
    assert rows.tolist() == [[1, 0, -1]]
    assert scores[0] == pytest.approx([(idf_cat + idf_mat) * weight[1], idf_cat * weight[0], 0], rel=1e-5)
