"""Causal language models: likelihoods equal transformers' own loss for all batches, devices and lengths."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from metrics.errors import BadOption, MissingResource
from metrics.models import causal, continuations
from metrics.models.causal import LanguageModel
from metrics.models.service import Choice, Models
from tests import tiny

torch = pytest.importorskip("torch")

CONTEXT = "hello there, what do you like?<|endoftext|>"
PAIRS = [
    ("", "I like tea."), (CONTEXT, "I like tea."), (CONTEXT, "na na na na na na na na na na na"), ("hello", " you"),
    ("", "a"), ("x", "y"), (CONTEXT + "tea", " is good, is it not?"), ("日本語", "émigré 🙂"),
    (CONTEXT, "I do not know."),
]
CLOSE: dict[str, Any] = {"rtol": 0, "atol": 1e-5}


@pytest.fixture(scope="module")
def model(tiny_lm: Path) -> LanguageModel:
    return fresh(tiny_lm, tiny_lm)


def fresh(home: Path, folder: Path, **choice: Any) -> LanguageModel:
    return Models(home, Choice(lm=str(folder), **choice)).lm()


def negative_loss(model: LanguageModel, before: list[int], after: list[int]) -> float:
    """Return the mean log p of `after` as computed by transformers, with labels for its tokens only."""
    ids = torch.tensor([[*before, *after]])
    labels = torch.tensor([[-100] * len(before) + after])
    return -float(model.networks[0](input_ids=ids, labels=labels).loss)


def numbers(model: LanguageModel, text: str) -> list[int]:
    return list(model.tokenizer.plain([text])[0])


def mean(model: LanguageModel, before: str, after: str) -> float:
    """Return the expected mean; without a preceding text, tokens follow <|endoftext|>, whose id is 0."""
    return negative_loss(model, numbers(model, before) or [0], numbers(model, after))


def test_the_mean_is_the_negative_loss_of_transformers(model: LanguageModel) -> None:
    for (before, after), values in zip(PAIRS, model.log_likelihoods(PAIRS), strict=True):
        assert values.shape == (len(numbers(model, after)),)
        assert values.mean() == pytest.approx(mean(model, before, after), abs=1e-5)
    assert [values.size for values in model.log_likelihoods([("", ""), (CONTEXT, ""), ("", "a")])] == [0, 0, 1]


def test_turns_of_a_dialogue_in_one_row_have_the_same_likelihoods(model: LanguageModel) -> None:
    turns = ("hello there", " what do you like?", " I like tea.", " so do I", " is it good?", " it is, I like it")
    pairs = [("".join(turns[:count]), turns[count]) for count in range(1, len(turns))]
    chains = causal._chained(*([numbers(model, pair[side]) for pair in pairs] for side in (0, 1)))
    assert len(chains) == 1
    for values, pair in zip(model.log_likelihoods(pairs), pairs, strict=True):
        assert values.mean() == pytest.approx(mean(model, *pair), abs=1e-5)


def test_batches_order_and_devices_change_nothing(model: LanguageModel, home: Path, tiny_lm: Path) -> None:
    expected = model.log_likelihoods(PAIRS)
    for choice in ({"batch_tokens": 1}, {"device": "cpu,cpu", "batch_tokens": 60}):
        values = fresh(home, tiny_lm, **choice).log_likelihoods(PAIRS[::-1])[::-1]
        for left, right in zip(expected, values, strict=True):
            np.testing.assert_allclose(right, left, **CLOSE)


def test_long_contexts_lose_their_beginning(model: LanguageModel) -> None:
    """A continuation of 4 tokens leaves 92 of 96 positions, the longest of several, with 6 tokens, leaves 90."""
    long = "".join(f"{number} " for number in range(200))
    [short_after, long_after] = model.log_likelihoods([(long, " tea"), ("hello", long)])
    expected = negative_loss(model, numbers(model, long)[-92:], numbers(model, " tea"))
    assert short_after.mean() == pytest.approx(expected, abs=1e-5)
    assert long_after.shape == (95,)
    assert long_after.mean() == pytest.approx(mean(model, "o", long[:95]), abs=1e-5)
    assert model.sizes([long, "", "tea"]).tolist() == [95, 0, 3]
    each = [negative_loss(model, numbers(model, long)[-90:], numbers(model, text)) for text in ("abcdef", "abcd")]
    np.testing.assert_allclose(model.after_each([long], ["abcdef", "abcd"])[0], each, **CLOSE)


BEFORES = [CONTEXT, "", "hello", CONTEXT + "I like tea. " * 2, CONTEXT]
AFTER = ["Tell me more!", "", "That makes no sense!", "a", "That's really boring.", "Tell me more!"]


def means(model: LanguageModel, befores: list[str], afters: list[str]) -> np.ndarray[Any, Any]:
    return np.array([[mean(model, before, after) if after else np.nan for after in afters] for before in befores])


def test_a_text_with_several_continuations_equals_separate_pairs(model: LanguageModel) -> None:
    np.testing.assert_allclose(model.after_each(BEFORES, AFTER), means(model, BEFORES, AFTER), **CLOSE)


def test_logits_are_computed_only_for_continuations_and_within_limits(
        home: Path, tiny_lm: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model, score = fresh(home, tiny_lm), continuations.log_likelihoods
    counts: list[int] = []  # the number of tokens for which each forward pass computed logits

    def counting(output: Any, states: Any, rows: Any, tokens: Any) -> Any:
        counts.append(len(states))
        return score(output, states, rows, tokens)

    assert model._in_trees
    monkeypatch.setattr(continuations, "log_likelihoods", counting)
    model.after_each([CONTEXT], [f"{letter}b" for letter in tiny.LETTERS])
    model.log_likelihoods([("x" * 30, " tea")])
    assert counts == [27, 4], "each letter once; the text and the last tokens need no logits"
    vars(model).pop("_batches")
    counts.clear()
    monkeypatch.setitem(causal.LOGITS_BYTES, "cpu", 100 * 257 * 4)
    model.log_likelihoods([(f"{number} and on it goes", " a reply") for number in range(20)])
    assert len(counts) > 1
    assert max(counts) <= 100


def network_of(kind: str) -> Any:
    """Return a tiny network of another architecture with the same vocabulary."""
    import transformers

    sizes = {"vocab_size": 257, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
             "max_position_embeddings": 96, "initializer_range": 0.4}
    configs = {
        "llama": lambda: transformers.LlamaConfig(**sizes, intermediate_size=32, num_key_value_heads=1),
        "bloom": lambda: transformers.BloomConfig(vocab_size=257, hidden_size=16, n_layer=2, n_head=2),
        "mamba": lambda: transformers.MambaConfig(vocab_size=257, hidden_size=16, num_hidden_layers=2, state_size=4),
    }
    torch.manual_seed(1)
    return transformers.AutoModelForCausalLM.from_config(configs[kind]()).requires_grad_(False)


@pytest.mark.parametrize("kind", [
    "mamba", *(pytest.param(kind, marks=pytest.mark.slow) for kind in ("llama", "bloom"))])
def test_other_architectures_agree_with_their_own_loss(home: Path, tmp_path: Path, kind: str) -> None:
    """Rotary, learned and linear positions, and a recurrent state instead of keys and values."""
    model = fresh(home, tiny.causal(tmp_path / kind))
    vars(model)["networks"] = [network_of(kind).eval()]
    for pair, values in zip(PAIRS, model.log_likelihoods(PAIRS), strict=True):
        assert values.mean() == pytest.approx(mean(model, *pair), abs=1e-4)
    np.testing.assert_allclose(model.after_each(BEFORES, AFTER), means(model, BEFORES, AFTER), rtol=0, atol=1e-4)


def with_tokenizer(folder: Path, **tokens: str) -> Path:
    """Write the tiny model with other special tokens, or with none."""
    from transformers import PreTrainedTokenizerFast

    tiny.causal(folder)
    for name in ("tokenizer_config.json", "special_tokens_map.json"):
        (folder / name).unlink(missing_ok=True)
    raw = PreTrainedTokenizerFast(tokenizer_file=str(folder / "tokenizer.json"), model_max_length=96, **tokens)
    raw.save_pretrained(folder)
    return folder


def test_a_model_without_special_tokens_starts_after_a_newline(home: Path, tmp_path: Path) -> None:
    model = fresh(home, with_tokenizer(tmp_path / "bare"))
    assert model.tokenizer.wrapped.bos_token_id is model.tokenizer.wrapped.eos_token_id is None
    assert model.end == "\n"
    [values] = model.log_likelihoods([("", "tea")])
    assert values.mean() == pytest.approx(mean(model, "\n", "tea"), abs=1e-5)
    np.testing.assert_allclose(model.after_each([CONTEXT, "a"], AFTER), means(model, [CONTEXT, "a"], AFTER), **CLOSE)


def test_special_tokens_before_every_text_are_kept(home: Path, tmp_path: Path) -> None:
    """As for Llama, where every text begins with <s>, even if it was truncated."""
    from tokenizers import Tokenizer, processors

    folder = with_tokenizer(tmp_path / "begins", bos_token="<|endoftext|>", eos_token="<|endoftext|>")
    raw = Tokenizer.from_file(str(folder / "tokenizer.json"))
    raw.post_processor = processors.TemplateProcessing(single="<|endoftext|> $A", pair="<|endoftext|> $A $B",
                                                       special_tokens=[("<|endoftext|>", 0)])
    raw.save(str(folder / "tokenizer.json"))
    model = fresh(home, folder)
    long = "x" * 200
    found = model.log_likelihoods([("hello", " tea"), ("", " tea"), (long, " tea")])
    tea = numbers(model, " tea")
    starts = [[0, *numbers(model, "hello")], [0], [0, *numbers(model, long)[-91:]]]
    assert [values.mean() for values in found] == pytest.approx(
        [negative_loss(model, start, tea) for start in starts], abs=1e-5)
    plain, formatted = model.answers([("hello",), ("<|endoftext|>hello",)], ("a", "b"))
    np.testing.assert_array_equal(formatted, plain, "a chat template can write <s> itself")
    assert [model.fits(text) for text in ("x" * 95, "<|endoftext|>" + "x" * 95, "x" * 96)] == [True, True, False]


def test_a_bidirectional_model_is_refused(tmp_path: Path, tiny_encoder: Path) -> None:
    """Transformers loads a masked language model as a causal one, whose tokens then attend to later ones."""
    from transformers import BertConfig, BertForMaskedLM

    folder = Path(shutil.copytree(tiny_encoder, tmp_path / "masked"))
    BertForMaskedLM(BertConfig.from_pretrained(folder)).save_pretrained(folder)
    with pytest.raises(BadOption):
        Models(tmp_path, Choice(lm=str(folder), device="cpu")).lm().log_likelihoods([("a", " b")])
    with pytest.raises(MissingResource, match="BertModel"):
        Models(tmp_path, Choice(lm=str(tiny_encoder), device="cpu")).lm().log_likelihoods([("a", " b")])


def test_a_long_context_loses_whole_turns_first(model: LanguageModel) -> None:
    """` tea` leaves 92 of 96 bytes: of 40, 50 and 42 bytes the last two turns are kept, of 40, 50 and 43 the last."""
    first, second = "a" * 39 + " ", "b" * 49 + " "
    for last, kept in (("c" * 42, second + "c" * 42), ("c" * 43, "c" * 43), ("c" * 100, "c" * 92)):
        [values] = model.log_likelihoods([((first, second, last), " tea")])
        np.testing.assert_allclose(values.mean(), means(model, [kept], [" tea"])[0, 0], **CLOSE)
        each = model.after_each([(first, second, last)], [" tea", " te"])
        np.testing.assert_allclose(each, means(model, [kept], [" tea", " te"]), **CLOSE)
    for longest, kept in ((7, "efgh"), (8, "abc efgh")):
        limited = model.after_each([("abc ", "efgh")], [" tea"], longest)
        np.testing.assert_allclose(limited, means(model, [kept], [" tea"]), **CLOSE)
        [values] = model.log_likelihoods([(("abc ", "efgh"), " tea")], longest)
        np.testing.assert_allclose(values.mean(), limited[0, 0], **CLOSE)
    with pytest.raises(BadOption):
        model.after_each(["a"], ["b"], 0)
    text, turns = model.log_likelihoods([("ab c", " tea"), (("ab ", "c"), " tea")])
    np.testing.assert_array_equal(turns, text)
