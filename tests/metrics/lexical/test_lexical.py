"""Metrics of words, and the controls: by hand, and against sacreBLEU and rouge-score to the last digit."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from benchmarks.dataset import Item, Reference, Utterance
from metrics import registry
from metrics.errors import BadOption
from metrics.lexical.bleu import ORDERS, Bleu, Smoothing
from metrics.lexical.chrf import Chrf
from metrics.lexical.delta_bleu import DeltaBleu
from metrics.lexical.rouge_l import RougeL
from metrics.metric import Metric
from metrics.models.service import Models
from tests.conftest import make_item

AWKWARD = ["", " ", ".", "?!...", "a", "a a a a a", "the the", "na " * 900, "日本語 です", "<skipped>", "a..5 &amp;"]
TEXT = st.one_of(
    st.sampled_from(AWKWARD),
    st.lists(st.sampled_from(["a", "b", "c", "the", "The", ".", "!", "1,5", "🙂", "Running", "runs"]), max_size=9).map(
        " ".join), st.text(alphabet="aab .,(!A", max_size=12), st.text(max_size=20))
TEXTS = st.lists(TEXT.filter(str.strip), min_size=1, max_size=4)
SMOOTHING = st.sampled_from(["exp", "add-k", "floor", "none"])


def scores(metric: Metric | str, item: Item) -> list[float]:
    """Return the scores of an item in every column of a metric or of one requested by name."""
    chosen = registry.choose(metric).metric if isinstance(metric, str) else metric
    return [float(column[0]) for column in chosen.score([item], Models(Path())).values()]


def against(metric: Metric | str, response: str, *references: str) -> list[float]:
    return scores(metric, make_item("1", response, *references))


def test_metrics_with_references_by_hand() -> None:
    for requested, response, references, expected in (
        ("bleu", "a b", [""], [np.nan] * 4),
        ("chrf[char_order=1]", "ab", ["ac"], [50]),  # one of two letters, in both directions
        # order 1: 2 of 2 and 2 of 3, order 2: 1 of 1 and 1 of 2; P = 1, R = (2/3 + 1/2)/2 = 7/12, F2 = 5PR/(4P + R)
        ("chrf[char_order=2]", "ab", ["abc"], [100 * 5 * 7 / 12 / (4 + 7 / 12)]),
        # characters 1/3 and 1, words (a b !) 1/3 and 1
        ("chrf[char_order=1,word_order=1,beta=1]", "a b!", ["b"], [50]),
        ("chrf[char_order=0,word_order=1,beta=1]", "a b", ["b c"], [50]),
        ("rouge-l[beta=1.2]", "a c", ["a b c d"], [2.44 * 0.5 / 1.94]),  # (1 + 1.44) * 1/2 / (1.44 + 1/2)
    ):
        actual = against(requested, response, *references)
        assert actual[: len(expected)] == pytest.approx(expected, nan_ok=True), (requested, response)


def weighted(response: str, *references: tuple[str, float]) -> Item:
    return Item("1", (), Utterance("system", response), tuple(Reference(*reference) for reference in references))


def test_weighted_references_by_hand() -> None:
    for response, references, expected in (
        ("a b c d", [("a b c d", 0.5)], 100),  # each n-gram gets the largest weight, whatever that is
        ("a", [("a", 0.4), ("z", 0.8)], 50),  # one word: it gets 0.4, where 0.8 was possible
        ("a", [("a", 0.4), ("a", 0.8)], 100),  # the best of the references that have it
        # clipped by reference, then weighed: max(1 * 1, 0.75 * 2) of 2; the bigram (a a) is at 0.75 only
        ("a a", [("a b", 1.0), ("a a", 0.75)], 100 * (1.5 / 2 * 0.75) ** 0.5),
        # (a b) counts against: 1 + 1 for the words, -0.5 for the bigram, which does not match and is smoothed to a half
        ("a b", [("b a", 1.0), ("a b", -0.5)], 100 * (1 * 0.5) ** 0.5),
        ("a", [("a", -1.0), ("z", 1.0)], 0),  # only a bad reference has it
        # x would add 1, y takes 0.5 away: half a match of two; the bigram is smoothed to a half
        ("x y", [("x q", 1.0), ("y q", -0.5)], 100 * (0.5 / 2 * 0.5) ** 0.5),
        ("", [("a", 1.0)], 0),
        # without a reference of positive weight it is missing
        ("a", [], np.nan), ("a", [("", 1.0)], np.nan), ("a", [("a", 0.0)], np.nan),
        ("a", [("a", -1.0), ("b", -0.5)], np.nan),
    ):
        assert scores(DeltaBleu(), weighted(response, *references)) == pytest.approx([expected], nan_ok=True)


def test_metrics_without_references_by_hand() -> None:
    for requested, response, context, expected in (
        ("distinct", "a b c", (), [1, 1]), ("distinct", "", (), [np.nan, np.nan]),
        ("distinct", "a a a a", (), [1 / 4, 1 / 3]),  # one word of four, one bigram of three
        ("distinct", "a b a b", (), [2 / 4, 2 / 3]),  # (a b) (b a) (a b)
        ("distinct", "no , no", (), [2 / 3, 1]),  # punctuation counts
        ("distinct", "hi", (), [1, np.nan]),  # no bigram
        ("distinct", "No no", (), [1, 1]), ("distinct[lowercase=true]", "No no", (), [0.5, 1]),
        ("length", "Well, I never!", (), [3]), ("length", "", (), [0]),
        ("context-overlap", "the cat sat", ("a cat ?",), [1 / 3]), ("context-overlap", "The CAT", ("the cat",), [1]),
        ("context-overlap", "", ("the cat",), [np.nan]), ("context-overlap", "the cat", (), [np.nan]),
        ("repetition", "one two three", (), [0]), ("repetition", "tea", (), [np.nan]),
        ("repetition", "so so so so", (), [-2 / 3]),  # so-so three times, twice again
        ("repetition", "i like tea", ("i like tea", "and you ?"), [-1]),  # the system said both bigrams before
        ("repetition", "i like tea", ("i like tea",), [0]),  # the user did, not the system
        ("turns", "ok", ("a", "b"), [3]),
    ):
        actual = scores(requested, make_item("x", response, context=context))
        assert actual == pytest.approx(expected, nan_ok=True), (requested, response)
    turns = (Utterance("user", "oh no oh no"), Utterance("system", "good day"), Utterance("system", "good day sir"))
    assert scores("repetition", Item("x", turns, None)) == pytest.approx([-1 / 3]), "only the system's turns"


def test_other_languages_by_hand() -> None:
    for requested, language, response, references, context, expected in (
        ("length", "zh", "好的，OK！", (), (), [3]), ("length", "en", "好的，OK！", (), (), [2]),
        ("length[unit=characters]", "zh", "好的 OK", (), (), [4]),
        ("distinct", "zh", "好好吃", (), (), [2 / 3, 1]), ("repetition", "zh", "喝茶喝茶", (), (), [-1 / 3]),
        ("context-overlap", "zh", "我喝茶", (), ("你想喝什么？",), [1 / 3]),
        ("rouge-l", "zh", "我喝茶", ("我想喝茶",), (), [6 / 7]),  # P = 3/3, R = 3/4
        ("rouge-l[stem=true]", "es", "el año", ("el ano",), (), [1 / 2]),
        ("rouge-l[stem=true]", "en-GB", "running", ("runs",), (), [1]),
        ("bleu", "zh", "我喝茶", ("我想喝茶",), (), [100 * math.exp(1 - 4 / 3)]),
        ("delta-bleu", "zh", "我想喝茶", ("我想喝茶",), (), [100]),
        ("bleu", "en", "我喝茶", ("我想喝茶",), (), [0]), ("bleu[tokenize=char]", "en", "喝茶", ("喝茶",), (), [100]),
    ):
        actual = scores(requested, make_item("x", response, *references, context=context, language=language))
        assert actual[: len(expected)] == pytest.approx(expected), (requested, response)
    for language, tokenizer, response, reference in (
            ("zh", "zh", "我今天3点去北京。", "今天我去北京，OK?"), ("ja", "char", "お茶を飲む", "お茶を飲みます")):
        oracle = BLEU(effective_order=True, tokenize=tokenizer).sentence_score(response, [reference]).score
        assert scores(Bleu(), make_item("x", response, reference, language=language))[3] == oracle


def test_random_is_uniform_by_id_and_seed() -> None:
    items = [make_item(f"i{number}", "same") for number in range(2000)]
    column, other = (registry.choose(requested).metric.score(items, Models(Path()))["random"]
                     for requested in ("random", "random[seed=1]"))
    assert 0 <= column.min() < column.max() < 1
    assert column.mean() == pytest.approx(0.5, abs=0.03)
    assert abs(np.corrcoef(column, other)[0, 1]) < 0.1


def test_meaningless_options_are_refused() -> None:
    for requested, part in (("chrf[char_order=-1]", "char_order"), ("chrf[char_order=0,word_order=0]", "both"),
                            ("chrf[beta=0]", "beta"), ("rouge-l[beta=0]", "beta")):
        with pytest.raises(BadOption, match=part):
            registry.choose(requested)


def sacrebleu(response: str, references: Sequence[str], smoothing: Smoothing = "exp", lower: bool = False,
              ) -> list[float]:
    return [BLEU(max_ngram_order=order, effective_order=True, smooth_method=smoothing, lowercase=lower)
            .sentence_score(response, references).score for order in ORDERS]


@settings(max_examples=50, deadline=None)
@given(TEXT, TEXTS, SMOOTHING, st.booleans())
def test_bleu_equals_sacrebleu(response: str, references: list[str], smoothing: Smoothing, lowercase: bool) -> None:
    """With equal weights, ΔBLEU equals them too."""
    actual = against(Bleu(smoothing=smoothing, lowercase=lowercase), response, *references)
    assert actual == sacrebleu(response, references, smoothing, lowercase)
    assert against(DeltaBleu(smoothing, lowercase), response, *references) == actual[3:]
    each: dict[Any, Any] = np.array([sacrebleu(response, [reference]) for reference in references])  # type: ignore
    for how, combined in {"mean": np.mean, "max": np.max, "first": lambda every, axis: every[0]}.items():
        assert against(Bleu(how), response, *references) == pytest.approx(combined(each, axis=0))  # type: ignore


@settings(max_examples=50, deadline=None)
@given(TEXT, TEXTS, st.sampled_from([(6, 0), (6, 2), (1, 0), (2, 1), (0, 1)]), st.integers(1, 3), st.booleans())
def test_chrf_equals_sacrebleu(response: str, references: list[str], orders: tuple[int, int], beta: int,
                               lowercase: bool) -> None:
    options: Any = {"char_order": orders[0], "word_order": orders[1], "beta": beta, "lowercase": lowercase}
    package = CHRF(**options)
    each = [package.sentence_score(response, [reference]).score for reference in references]
    best = package.sentence_score(response, references).score
    ways: dict[Any, float] = {"standard": best, "max": best, "first": each[0]}
    for how, expected in ways.items():
        assert against(Chrf(how, **options), response, *references) == [expected]
    assert against(Chrf("mean", **options), response, *references) == pytest.approx([np.mean(each)])


@settings(max_examples=50, deadline=None)
@given(TEXT, TEXTS, st.booleans())
def test_rouge_l_equals_rouge_score(response: str, references: list[str], stem: bool) -> None:
    from rouge_score.rouge_scorer import RougeScorer

    scorer = RougeScorer(["rougeL"], use_stemmer=stem)
    precisions, recalls, fs = zip(*(scorer.score(reference, response)["rougeL"] for reference in references),
                                  strict=True)
    precision, recall = max(precisions), max(recalls)
    together = 2 * precision * recall / (precision + recall) if precision + recall else 0
    ways: dict[Any, float] = {"max": max(fs), "first": fs[0], "standard": together}
    for how, expected in ways.items():
        assert against(RougeL(how, stem), response, *references) == [expected]
    assert against(RougeL("mean", stem), response, *references) == pytest.approx([np.mean(fs)])
