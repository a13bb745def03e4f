"""Keywords: what is one, which of many are taken, how they are counted, and other taggers."""

from __future__ import annotations

import gzip
import sys
from types import SimpleNamespace
from typing import Any

import pytest

from metrics.errors import MissingResource
from metrics.text import keywords
from metrics.text.keywords import Counts


def test_keywords_name_topics() -> None:
    for text, expected in (
        ("I really don't know, do you like football?", ("football",)), ("Yes , I 'm fine , thanks !", ()),
        ("My brother's cat eats FISH and more fish", ("brother", "cat", "eats", "fish")),
        ("do n't go there , it rained in 1999", ("rained",)), ("he quickly called his family", ("called", "family")),
        ("", ()), ("?!", ()), ("日本語 🙂", ()), ("x" * 100, ()),
    ):
        assert keywords.keywords(text) == expected


def test_the_largest_tf_idf_are_taken_in_their_order() -> None:
    rare = {f"word{letter}": 1 for letter in "abcdefghijkl"}
    counts = Counts(1000, {"worda": 40, "wordb": 40, "often": 200, **dict.fromkeys([*rare][2:], 10)}, "")
    found = keywords.ranked({**rare, "often": 5, "wordb": 2}, counts)
    # ln 25 = 3.2 for the first two, of which the second is there twice; the others have ln 100; "often" is too frequent
    assert found == [word for word in rare if word not in ("worda", "wordl")]
    assert counts.rarity("never seen") == pytest.approx(5.521, abs=1e-3)  # ln(1000 / 4)


def test_counts_are_of_utterances() -> None:
    content = keywords.counted(["tea and tea", "Tea!"] * 3 + ["cups"])
    assert gzip.decompress(content).decode().splitlines() == ["utterances\t7", "tea\t6"]


def test_the_shipped_counts_are_small_and_of_words() -> None:
    counts = keywords.shipped()
    assert keywords.COUNTS.stat().st_size < 150_000
    assert counts.utterances > 200_000
    assert counts.words["the"] > counts.words["football"] > 100
    vocabulary = keywords.vocabulary()
    assert 5_000 < len(vocabulary) < 20_000
    assert {"football", "tea", "scared"} <= set(vocabulary)
    assert not {"the", "really", "yes", "wouldn"} & set(vocabulary)


def test_taggers_are_taken_at_their_word(monkeypatch: pytest.MonkeyPatch) -> None:
    tags = {"the": "DT", "quick": "JJ", "fox": "NN", "slowly": "RB", "jumped": "VBD", "is": "VBZ"}
    nltk = SimpleNamespace(pos_tag=lambda words: [(word, tags[word]) for word in words])
    monkeypatch.setitem(sys.modules, "nltk", nltk)
    assert keywords.keywords("the quick fox slowly jumped", "nltk") == ("quick", "fox", "jumped")
    loaded: Any = lambda text: [SimpleNamespace(text=word, tag_=tags[word]) for word in text.split()]  # noqa: E731
    monkeypatch.setitem(sys.modules, "spacy", SimpleNamespace(load=lambda *_, **__: loaded))
    keywords._spacy.cache_clear()
    assert keywords.keywords("the fox is quick", "spacy") == ("fox", "quick")
    keywords._spacy.cache_clear()


def test_a_tagger_that_is_not_there_says_what_to_do(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(words: list[str]) -> None:
        raise LookupError(words)

    monkeypatch.setitem(sys.modules, "nltk", SimpleNamespace(pos_tag=missing))
    monkeypatch.setitem(sys.modules, "spacy", None)
    for tagger in ("nltk", "spacy"):
        with pytest.raises(MissingResource, match="or take tagger=lists"):
            keywords.keywords("the fox", tagger)
