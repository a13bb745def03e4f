"""Perplexity, holistic evaluation, Deep AM-FM and FED: by transformers' loss, released scripts, and by hand."""

import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from benchmarks.dataset import Item, Utterance
from metrics import registry
from metrics.likelihood._context import scaled
from metrics.likelihood.fed import DIALOGUE, QUALITIES, TURN, UTTERANCES
from metrics.metric import Columns, signature
from metrics.models.service import Choice, Models
from tests import tiny
from tests.conftest import make_item
from tests.metrics.models import test_causal

pytest.importorskip("torch")

ITEMS = [
    make_item("a", "I like tea.", context=("hi", "what do you like?")),
    make_item("b", "na na na", context=("what do you like?",)),
    make_item("c", "", context=("what do you like?",)),
    make_item("d", "the reply is good", context=("is it not?", "", "not good")),
    Item("e", (), Utterance("system", "hello there")),
    make_item("f", "you", context=(" ",)),
    make_item("g", "I like tea.", context=("a b c", "hello there", "good")),
]


@pytest.fixture
def models(home: Path, tiny_lm: Path, tiny_encoder: Path) -> Models:
    return Models(home, Choice(lm=str(tiny_lm), encoder=str(tiny_encoder)))


def scores(name: str, models: Models, items: list[Item] = ITEMS) -> Columns:
    return registry.choose(name).metric.score(items, models)


def mean(models: Models, before: str, after: str) -> float:
    return test_causal.mean(models.lm(), before, after)


def rescaled(means: list[float]) -> np.ndarray:
    """Return (max(cutoff, m) - cutoff) / |cutoff| with cutoff the 0.05 quantile, as in the released script."""
    cutoff = np.quantile(means, 0.05)
    return np.asarray((np.maximum(means, cutoff) - cutoff) / abs(cutoff))


def test_a_context_limit_other_than_the_default_is_signed(models: Models) -> None:
    item = make_item("a", "tea", context=("tea or coffee?", "coffee"))
    for request in ("fed[{}]", "holistic[turns=all,{}]", "pmi[speakers=false,{}]", "perplexity[context=all,{}]"):
        usual, limited = (registry.choose(request.format(f"longest={limit}")).metric for limit in (1024, 1))
        assert "longest" not in signature(usual, models)
        assert signature(limited, models)["longest"] == "1"
        if usual.card.scope == "item":
            whole, cut = (metric.score([item], models)[usual.card.columns[0]] for metric in (usual, limited))
            assert whole[0] != pytest.approx(cut[0], abs=1e-6), request


def test_perplexity_of_the_response_is_never_infinite(models: Models, monkeypatch: pytest.MonkeyPatch) -> None:
    actual = scores("perplexity", models)["perplexity"]
    expected = [-math.exp(-mean(models, "", item.response.text)) if item.response and item.response.text else math.nan
                for item in ITEMS]
    np.testing.assert_allclose(actual, expected, rtol=1e-5)
    assert actual[0] == actual[6]
    monkeypatch.setattr("metrics.likelihood._context._means", lambda model, pairs: np.full(len(pairs), -2000.0))
    actual = scores("perplexity", models)["perplexity"]
    assert np.isfinite(actual).all()
    assert (actual < -1e300).all()


def test_perplexity_after_the_context(models: Models) -> None:
    for options, before, space in [
        ("context=all", "hi<|endoftext|>what do you like?<|endoftext|>", ""),
        ("context=last", "what do you like?<|endoftext|>", ""),
        ("context=all,separator=space", "hi what do you like?", " "),
        ("context=last,separator=space", "what do you like?", " "),
    ]:
        column = scores(f"perplexity[{options}]", models)["perplexity"]
        assert column[0] == pytest.approx(-math.exp(-mean(models, before, f"{space}I like tea.")), rel=1e-5)
        assert np.isnan(column[[2, 4, 5]]).all()
        assert np.isfinite(column[[0, 1, 3, 6]]).all()


@pytest.mark.parametrize(("means", "expected"), [
    ([-5.0], [0.0]),
    ([-4.0, math.nan, -2.0, -1.0, -math.inf, 0.0], [0.0, math.nan, 1 - 2 / 3.7, 1 - 1 / 3.7, 0.0, 1.0]),
    ([0.0, 0.0, math.nan, -math.inf], [1.0, 1.0, math.nan, 0.0]),
    ([math.nan], [math.nan]), ([], []),
])
def test_the_scale_begins_at_the_fifth_percentile(means: list[float], expected: list[float]) -> None:
    """The 5th percentile of 4 values lies 0.15 of the way from the lowest to the next, here at -3.7."""
    np.testing.assert_allclose(scaled(np.array(means)), expected, atol=1e-12)


def test_holistic_equals_the_released_formula(models: Models) -> None:
    items = [ITEMS[0], ITEMS[1], ITEMS[3], ITEMS[6]]
    actual = scores("holistic", models, items)
    contexts = ["hi what do you like?", "what do you like?", "is it not?  not good", "a b c hello there good"]
    responses = [item.response.text for item in items if item.response]
    coherence = [mean(models, before, f" {after}") for before, after in zip(contexts, responses, strict=True)]
    np.testing.assert_allclose(actual["holistic-coherence"], rescaled(coherence), atol=1e-5)
    fluency = [mean(models, "", text) for text in responses]
    np.testing.assert_allclose(actual["holistic-fluency"], rescaled(fluency), atol=1e-5)


def test_deep_am_fm_equals_the_organisers_formula(models: Models) -> None:
    """AM is the cosine with the last utterance; FM is of that utterance, a space and the response."""
    columns = scores("deep-am-fm", models)
    vectors = models.encoder().sentences(["I like tea.", "what do you like?"]).astype(float)
    cosine = vectors[0] @ vectors[1] / math.prod(np.linalg.norm(vectors, axis=1))
    assert columns["am"][0] == pytest.approx(cosine, abs=1e-6)
    assert columns["am"][2] == 0, "an empty response"
    np.testing.assert_array_equal(np.isnan(columns["am"]), [0, 0, 0, 0, 1, 1, 0])
    raw = [mean(models, before, f" {after}") for before, after in (
        ("what do you like?", "I like tea."), ("what do you like?", "na na na"), ("not good", "the reply is good"),
        ("good", "I like tea."))]
    np.testing.assert_allclose(columns["fm"][[0, 1, 3, 6]], rescaled(raw), atol=1e-5)
    np.testing.assert_allclose(columns["deep-am-fm"], (np.maximum(columns["am"], 0) + columns["fm"]) / 2)


def test_pmi_is_the_gain_from_the_context(models: Models) -> None:
    """Likelihoods by hand: speakers have prefixes by order, facts come first, the response follows its prefix alone."""
    item = replace(make_item("a", "I like tea.", context=("hi", "what do you like?")), facts=("Tea is hot.",))
    model = models.lm()
    context = "Tea is hot.\nA: hi\nB: what do you like?\nA:"
    after, alone = model.log_likelihoods([(context, " I like tea."), ("A:", " I like tea.")])
    gain = float(after.sum(dtype=float) - alone.sum(dtype=float))
    row = {name: column[0] for name, column in scores("pmi", models, [item]).items()}
    assert row == pytest.approx({"pmi": gain / after.size, "pmi-sum": gain, "pmi-share": gain / -alone.sum(dtype=float),
                                 "pmi-likelihood": after.mean(dtype=float)})
    plain = registry.choose("pmi[speakers=false,turns=last,facts=false,start=so]").metric.score([item], models)
    after, alone = model.log_likelihoods([("what do you like?\n", "I like tea."), ("so\n", "I like tea.")])
    assert plain["pmi"][0] == pytest.approx((after - alone).mean(dtype=float))
    missing = scores("pmi", models)["pmi"]
    assert np.isnan(missing).tolist() == [False, False, True, False, True, True, False]


def test_a_long_context_loses_its_oldest_turns(models: Models) -> None:
    """With 96 positions, turns of 60 and 90 bytes and the facts before them are dropped; the last two turns fit."""
    last = ("hi", "like tea?")
    short = make_item("a", "No.", context=last)
    long = replace(make_item("a", "No.", context=("a" * 60, "b" * 90, *last)), facts=("Tea is hot.",))
    for name in ("perplexity[context=all]", "perplexity[context=all,separator=space]", "pmi", "fed"):
        kept, cut = scores(name, models, [short]), scores(name, models, [long])
        assert {column: values[0] for column, values in cut.items()} == pytest.approx(
            {column: values[0] for column, values in kept.items()}, abs=1e-5), name


END = "<|endoftext|>"
CONVERSATIONS = [ITEMS[0], ITEMS[2], ITEMS[4], Item("h", (), Utterance("system", " ")),
                 Item("i", (Utterance("user", "hi"), Utterance("system", "hello there")), None)]
TEXTS = [f"hi{END}what do you like?{END}I like tea.", f"what do you like?{END}", "hello there", "",
         f"hi{END}hello there"]


@pytest.fixture(scope="module")
def roomy(tmp_path_factory: pytest.TempPathFactory) -> Models:
    """Return a tiny model with room for a conversation and a follow-up, both in bytes."""
    home = tmp_path_factory.mktemp("models")
    return Models(home, Choice(lm=str(tiny.causal(home / "roomy-lm", n_positions=160))))


def test_each_side_has_as_many_follow_ups_as_the_released_table() -> None:
    counts = {quality: (len(sides["speak_for"]), len(sides["against"])) for quality, sides in QUALITIES.items()}
    assert counts == {
        "interesting": (3, 3), "engaging": (3, 3), "specific": (3, 3), "relevant": (0, 3), "correct": (0, 3),
        "semantically-appropriate": (2, 1), "understandable": (2, 4), "fluent": (2, 3), "coherent": (0, 3),
        "error-recovery": (0, 3), "consistent": (0, 2), "diverse": (0, 3), "depth": (0, 2), "likeable": (3, 3),
        "understanding": (0, 3), "flexible": (2, 2), "informative": (3, 2), "inquisitive": (2, 2),
    }
    assert len(UTTERANCES) == len(set(UTTERANCES)) == 63
    assert all(text == text.strip() for text in UTTERANCES)


def test_a_quality_is_praise_minus_complaint(roomy: Models) -> None:
    """The loss has labels for the follow-up's tokens alone, after the conversation between end-of-text tokens."""
    columns = scores("fed", roomy, CONVERSATIONS)
    for row, quality in ((0, "interesting"), (1, "relevant")):
        praise, complaint = ([mean(roomy, f"{END}{TEXTS[row]}{END}", text) for text in side]
                             for side in QUALITIES[quality].values())
        expected = (np.mean(praise) if praise else 0) - np.mean(complaint)
        assert columns[f"fed-{quality}"][row] == pytest.approx(expected, abs=1e-5)


def test_the_released_variant_uses_the_loss_of_all_tokens(roomy: Models) -> None:
    """Low score minus high score, each the mean loss of conversation and follow-up; 0 for a side without follow-ups."""
    columns, model = scores("fed[tokens=all]", roomy, CONVERSATIONS), roomy.lm()
    for row, quality in ((2, "relevant"), (4, "likeable")):
        high, low = ([-test_causal.negative_loss(model, [], test_causal.numbers(model, f"{END}{TEXTS[row]}{END}{text}"))
                      for text in side] for side in QUALITIES[quality].values())
        expected = sum(low) / max(len(low), 1) - sum(high) / max(len(high), 1)
        assert columns[f"fed-{quality}"][row] == pytest.approx(expected, abs=1e-5)


def test_the_mean_is_over_the_qualities_of_the_items_level(roomy: Models) -> None:
    """Only a conversation without text has no score."""
    for name in ("fed", "fed[tokens=all]"):
        columns = scores(name, roomy, CONVERSATIONS)
        for row, qualities in ((0, TURN), (2, TURN), (4, DIALOGUE)):
            expected = np.mean([columns[f"fed-{quality}"][row] for quality in qualities])
            assert columns["fed"][row] == pytest.approx(expected)
        for column in columns.values():
            np.testing.assert_array_equal(np.isnan(column), [False, False, False, True, False])
