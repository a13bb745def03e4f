"""Words, tokens and n-grams: by hand, and against sacreBLEU's tokenizer."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a

from benchmarks.dataset import Item, Reference, Utterance
from metrics.text.words import SideBySide, ngrams, sharing, tokens, words
from tests.conftest import make_item

SHORT = st.lists(st.sampled_from("abc"), max_size=9)


@pytest.mark.parametrize(("text", "expected"), [
    ("Well, I never!", ["Well", ",", "I", "never", "!"]),
    ("don't", ["don't"]),                                     # the apostrophe is no symbol in 13a
    ("$1,000.50 in 3.5 min.", ["$", "1,000.50", "in", "3.5", "min", "."]),  # stops between digits stay
    ("a.b,c", ["a", ".", "b", ",", "c"]),
    ("1-2 well-known --x", ["1", "-", "2", "well-known", "--x"]),  # a hyphen parts only after a digit
    ("wait...", ["wait", ".", ".", "."]),
    ("a..5", ["a", ".", ".5"]),                               # substitutions do not overlap: the second stop stays
    ("a...5", ["a", ".", ".", ".", "5"]),
    ("&lt;b&gt; &amp;quot;", ["<", "b", ">", "&", "quot", ";"]),  # each entity once, in the script's order
    ("new-\nline <skipped>", ["newline"]),
    ("end-\n", ["end-"]),                                     # trailing space goes first
    ("日本語。 🙂🙃", ["日本語。", "🙂🙃"]),                     # symbols of ASCII only
    ("a\u00a0b\x1cc", ["a", "b", "c"]),
    ("", []),
])
def test_tokens_are_those_of_mteval_13a(text: str, expected: list[str]) -> None:
    assert tokens(text) == expected


def assert_like_sacrebleu(text: str) -> None:
    assert tokens(text) == Tokenizer13a()(text.rstrip()).split()


@settings(max_examples=50, deadline=None)
@given(st.text(alphabet="a1 .,-'!\n&;<\u0660é\x1c\u00a0\U0001f600", max_size=12) | st.text(max_size=60))
def test_tokens_equal_sacrebleu(text: str) -> None:
    assert_like_sacrebleu(text)


@pytest.mark.parametrize(("text", "expected"), [
    ("Well, I NEVER!", ["well", "i", "never"]),
    ("don't, it’s", ["don't", "it’s"]),
    ("'quoted' 3.5", ["quoted", "3", "5"]),
    ("🙂 ...", []),
])
def test_words_are_what_a_person_counts(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@given(st.lists(SHORT, min_size=1, max_size=3), SHORT)
def test_side_by_side_finds_and_counts_what_a_plain_count_does(texts: list[list[str]], text: list[str]) -> None:
    pool = SideBySide(texts)
    for order, found in enumerate(pool.found(text, 4), 1):
        plain = [Counter(ngrams(one, order)) for one in texts]
        known = [ngram for ngram in ngrams(text, order) if any(ngram in counts for counts in plain)]
        assert [pool.counts(bits) for bits in found] == [[counts[ngram] for counts in plain] for ngram in known]
        assert sorted(Counter(found).values()) == sorted(Counter(known).values())


def test_items_that_share_references_come_together() -> None:
    items = [make_item("1", "a", "x"), make_item("2", "b", "y"), make_item("3", "c", "x")]
    groups = [([reference.text for reference in used], replies) for used, replies in sharing(items, "standard")]
    assert groups == [(["x"], [(0, "a"), (2, "c")]), (["y"], [(1, "b")])]


def test_weights_part_references_of_the_same_text() -> None:
    spoken = Utterance("system", "a")
    items = [Item(str(weight), (), spoken, (Reference("x", weight),)) for weight in (1.0, 0.5)]
    assert len(list(sharing(items, "standard"))) == 2


@pytest.mark.parametrize(("aggregation", "expected"), [
    ("standard", ["", "x", " ", "y"]), ("mean", ["x", "y"]), ("max", ["x", "y"]), ("first", ["x"]),
])
def test_a_blank_reference_is_passed_over_but_by_the_standard(aggregation: str, expected: list[str]) -> None:
    ((used, _),) = sharing([make_item("1", "a", "", "x", " ", "y")], aggregation)  # type: ignore[arg-type]
    assert [reference.text for reference in used] == expected
