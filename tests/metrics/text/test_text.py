"""Words, tokens and n-grams; keywords; graphs of concepts: by hand, and against sacreBLEU and scipy."""

import sys
from collections import Counter
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.tokenizers.tokenizer_13a import Tokenizer13a
from scipy.sparse.csgraph import shortest_path

from benchmarks.dataset import Item, Reference, Utterance
from benchmarks.storage import resources
from metrics.errors import MissingResource
from metrics.graph.grade import topics as concepts
from metrics.models.service import Models
from metrics.text import keywords
from metrics.text.keywords import Counts
from metrics.text.topic_graph import DamagedGraph, Graph, write
from metrics.text.words import BitTexts, ngrams, reference_groups, terms, tokens, words
from tests.conftest import make_item

SHORT = st.lists(st.sampled_from("abc"), max_size=9)
AWKWARD = ("Well, I never!", "don't", "$1,000.50 in 3.5 min.", "a.b,c", "1-2 well-known --x", "wait...", "a..5",
           "a...5", "&lt;b&gt; &amp;quot;", "new-\nline", "a<skipped>b", "end-\n", "日本語。 🙂🙃", "a\u00a0b\x1cc", "")
"""Full stops between digits, hyphens after them, entities, line ends and characters beyond ASCII."""


@settings(max_examples=50, deadline=None)
@given(st.sampled_from(AWKWARD) | st.text(alphabet="a1 .,-'!\n&;<\u0660é\x1c\u00a0\U0001f600", max_size=12)
       | st.text(max_size=60))
def test_tokens_equal_sacrebleu(text: str) -> None:
    for sample in (text, *AWKWARD):
        assert tokens(sample) == Tokenizer13a()(sample.rstrip()).split()


def test_words_outside_english_follow_unicode() -> None:
    for text, expected in (("Well, I NEVER!", ["well", "i", "never"]), ("don't, it’s", ["don't", "it’s"]),
                           ("'quoted' 3.5", ["quoted", "3", "5"]), ("🙂 ...", [])):
        assert words(text) == expected
    for language, text, expected in (
        ("zh", "你好，我想去3天。OK?", "你 好 我 想 去 3 天 ok"),
        ("ja", "今日は東京タワーへ。", "今 日 は 東 京 タワー へ"),
        ("hi", "नमस्ते, आप कैसे हैं?", "नमस्ते आप कैसे हैं"),  # vowel signs are marks, not letters
        ("ar", "أحبّ القهوةَ!", "أحبّ القهوةَ"), ("th", "สวัสดี", "ส วั ส ดี"), ("ko", "안녕 하세요.", "안녕 하세요"),
        ("es", "¿Qué tal, D’Ávila?", "qué tal d’ávila"), ("ru", "Ещё чай?", "ещё чай"),
        *((code, "你好，我想去。", "你好 我想去") for code in ("en", "en-US")),  # in English not split into characters
    ):
        assert words(text, language) == expected.split()
    assert terms("Well, 我想喝茶 3 杯 tea") == ["well", "我想", "想喝", "喝茶", "3", "杯", "tea"]
    assert terms("Tea!") == ["tea"]
    assert tokens("好吃。Ok", language="zh-Hant") == ["好", "吃", "。", "Ok"]
    assert tokens("お茶。", language="ja") == ["お", "茶", "。"]
    assert tokens("お茶。", tokenizer="13a", language="ja") == ["お茶。"]


def test_a_missing_tokenizer_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "MeCab", None)
    with pytest.raises(MissingResource, match="ja-mecab"):
        tokens("お茶", tokenizer="ja-mecab")


@given(st.lists(SHORT, min_size=1, max_size=3), SHORT)
def test_counts_of_many_texts_equal_plain_counters(texts: list[list[str]], text: list[str]) -> None:
    pool = BitTexts(texts)
    for order, matches in enumerate(pool.matches(text, 4), 1):
        plain = [Counter(ngrams(words, order)) for words in texts]
        known = [ngram for ngram in ngrams(text, order) if any(ngram in counts for counts in plain)]
        assert [pool.counts(bits) for bits in matches] == [[counts[ngram] for counts in plain] for ngram in known]
        assert sorted(Counter(matches).values()) == sorted(Counter(known).values())


def test_items_of_a_language_that_share_weighted_references_are_grouped() -> None:
    items = [make_item("1", "a", "x"), make_item("2", "b", "y"), make_item("3", "c", "x"),
             make_item("4", "d", "x", language="es"), Item("5", (), Utterance("system", "e"), (Reference("x", 0.5),))]
    groups = [([reference.text for reference in used], replies)
              for used, replies in reference_groups(items, "standard")]
    assert groups == [(["x"], [(0, "a"), (2, "c")]), (["y"], [(1, "b")]), (["x"], [(3, "d")]), (["x"], [(4, "e")])]
    ways: dict[Any, list[str]] = {"standard": ["", "x", " ", "y"], "mean": ["x", "y"], "max": ["x", "y"],
                                  "first": ["x"]}  # only the standard way uses a blank reference
    for aggregation, expected in ways.items():
        ((used, _),) = reference_groups([make_item("1", "a", "", "x", " ", "y")], aggregation)
        assert [reference.text for reference in used] == expected


def test_keywords_name_topics() -> None:
    for text, expected in (
        ("I really don't know, do you like football?", ("football",)), ("Yes , I 'm fine , thanks !", ()),
        ("My brother's cat eats FISH and more fish", ("brother", "cat", "eats", "fish")),
        ("do n't go there , it rained in 1999", ("rained",)), ("he quickly called his family", ("called", "family")),
        ("", ()), ("?!", ()), ("日本語 🙂", ("日本", "本語")), ("x" * 100, ()),
        ("أحب القهوة 3", ("أحب", "القهوة")),  # there is no list of stop words for other scripts
    ):
        assert keywords.keywords(text) == expected
    rare = {f"word{letter}": 1 for letter in "abcdefghijkl"}
    counts = Counts(1000, {"worda": 40, "wordb": 40, "often": 200, **dict.fromkeys([*rare][2:], 10)}, "")
    kept = keywords.ranked({**rare, "often": 5, "wordb": 2}, counts)
    # ln 25 = 3.2 for the first two, of which the second is there twice; the others have ln 100; "often" is too frequent
    assert kept == [word for word in rare if word not in ("worda", "wordl")]
    assert counts.rarity("never seen") == pytest.approx(5.521, abs=1e-3)  # ln(1000 / 4)


def test_taggers_decide_the_part_of_speech(monkeypatch: pytest.MonkeyPatch) -> None:
    tags = {"the": "DT", "quick": "JJ", "fox": "NN", "slowly": "RB", "jumped": "VBD", "is": "VBZ"}
    nltk = SimpleNamespace(pos_tag=lambda words: [(word, tags[word]) for word in words])
    monkeypatch.setitem(sys.modules, "nltk", nltk)
    assert keywords.keywords("the quick fox slowly jumped", "nltk") == ("quick", "fox", "jumped")
    counts = Counts(1000, {"fox": 10, "quick": 10, "is": 900, "jumped": 100}, "")
    monkeypatch.setattr(keywords, "shipped_counts", lambda: counts)
    # of five words: fox 2 · 0.2 · log10(100) = 0.8, jumped 0.2, quick 0.5 · 0.2 · 2 = 0.2; "is" says nothing
    assert keywords.keywords("the quick fox is jumped", "weighed") == ("quick", "fox", "jumped")
    monkeypatch.setattr(keywords, "MIN_WEIGHT", 0.3)
    assert keywords.keywords("the quick fox is jumped ", "weighed") == ("fox",)

    def missing(words: list[str]) -> None:
        raise LookupError(words)

    monkeypatch.setitem(sys.modules, "nltk", SimpleNamespace(pos_tag=missing))
    with pytest.raises(MissingResource, match="tagger=lists"):
        keywords.keywords("the fox", "nltk")


TERMS = ["tea", "cup", "kitchen", "house", "town", "moon"]
#          tea - cup - kitchen - house - town, tea - kitchen (light), moon alone
EDGES = [("tea", "cup", 2.0), ("cup", "kitchen", 1.0), ("kitchen", "house", 3.0), ("house", "town", 1.0),
         ("kitchen", "tea", 0.5), ("cup", "tea", 0.1), ("town", "town", 9.0)]


def graph(path: Path, terms: list[str] = TERMS, edges: list[tuple[str, str, float]] = EDGES) -> Graph:
    left = np.array([terms.index(source) for source, _, _ in edges], dtype=np.int64)
    right = np.array([terms.index(target) for _, target, _ in edges], dtype=np.int64)
    write(path, terms, left, right, np.array([edge[2] for edge in edges], dtype=np.float32))
    return Graph(path)


def named(topics: Graph, nodes: np.ndarray) -> list[str]:
    return [topics.terms[node] for node in nodes.tolist() if node >= 0]


@settings(max_examples=25)
@given(st.integers(2, 150), st.integers(0, 300), st.integers(0, 2**32 - 1))
def test_hops_are_those_of_scipy(tmp_path_factory: pytest.TempPathFactory, nodes: int, edges: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    path = tmp_path_factory.mktemp("graph") / "g"
    left, right = rng.integers(nodes, size=(2, edges))
    write(path, [str(node) for node in range(nodes)], left, right, np.ones(edges, np.float32))
    topics = Graph(path)
    pairs = rng.integers(nodes, size=(2, 200))
    expected = shortest_path(topics.matrix, unweighted=True)[pairs[0], pairs[1]]
    expected[expected > 4] = -1
    np.testing.assert_array_equal(topics.hops(*pairs), expected)


def test_neighbours_are_the_heaviest_then_those_behind_them(tmp_path: Path) -> None:
    topics = graph(tmp_path / "g")
    near, far = topics.neighbours(topics.find(["tea", "town", "moon"]), 10, 10)
    assert [named(topics, row) for row in near] == [["cup", "kitchen"], ["house"], []]
    assert [named(topics, row) for row in far] == [["house"], ["kitchen"], []]
    near, far = topics.neighbours(topics.find(["tea"]), 1, 10)
    assert named(topics, near[0]) == ["cup"]  # weight 2: the heavier of two edges counts
    assert named(topics, far[0]) == []  # kitchen, behind cup, is a neighbour itself
    assert topics.neighbours(topics.find(["tea"]), 0, 0)[1].shape == (1, 0)
    unknown = topics.find(["sun", "moon", "sun"])
    assert topics.hops(unknown, topics.find(["tea", "tea", "sun"])).tolist() == [-1, -1, -1], "no path"


def test_a_damaged_file_is_noticed(tmp_path: Path) -> None:
    graph(tmp_path / "g")
    content = (tmp_path / "g").read_bytes()
    for wrong in (content[:10], content[:-4], b"x" + content[1:], content.replace(b"tea", b"sea"), b""):
        (tmp_path / "g").write_bytes(wrong)
        with pytest.raises(DamagedGraph):
            Graph(tmp_path / "g")


def test_conceptnet_is_converted_again_if_damaged(tmp_path: Path, home: Path) -> None:
    with pytest.raises(MissingResource, match="harness fetch conceptnet"):
        concepts.conceptnet(Models(home))
    (tmp_path / "edges.tsv").write_text("cats\tRelatedTo\tmilk\t1\ntea\tRelatedTo\tcup\t1\n")
    resources.store_edges([tmp_path / "edges.tsv"], home)
    for _ in range(2):
        for path in home.glob("graphs/*"):  # made by the first round
            path.write_bytes(path.read_bytes()[:-1])
            concepts.open_graph.cache_clear()
        topics = concepts.conceptnet(Models(home))
        assert topics.hops(topics.find(["cats"]), topics.find(["milk"])).tolist() == [1]


def test_a_word_is_aligned_without_its_ending(tmp_path: Path) -> None:
    topics = graph(tmp_path / "g", ["city", "watch", "make", "stop", "glass", "bus"], [])
    words = ["cities", "watched", "making", "stopping", "glass", "glasses", "buses", "is", "xyz"]
    assert [topics.terms[node] if node >= 0 else "" for node in concepts.nodes_of(topics, words).tolist()] == [
        "city", "watch", "make", "stop", "glass", "glass", "bus", "", ""]


def test_each_word_has_edges_to_its_nearest(tmp_path: Path) -> None:
    angles = np.radians([0, 10, 25, 90, 180])
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    words = ["a", "b", "c", "d", "e", "nothing"]
    write(tmp_path / "g", *concepts.nearest(words, np.concatenate([vectors, np.zeros((1, 2), np.float32)]), degree=1))
    topics = Graph(tmp_path / "g")
    near, _ = topics.neighbours(topics.find(words), 5, 0)
    # b is the nearest of a and of c, c that of d, d that of e
    assert [named(topics, row) for row in near] == [["b"], ["a", "c"], ["b", "d"], ["c", "e"], ["d"], []]
    assert topics.matrix[*topics.find(["a", "b"])] == pytest.approx(np.cos(np.radians(10)), abs=1e-4)
