"""BERTScore against the bert-score package.

The package (0.3.13) calls a method of tokenizers that transformers 5 no longer has, and asks for RoBERTa's leading
space with an argument that transformers 5 ignores. Here the package gets a tokenizer that has the method and adds the
space.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")

from benchmarks.dataset import Item
from metrics.embedding.bert_score import LAYERS, BertScore
from metrics.errors import BadOption, MissingResource
from metrics.metric import File
from metrics.models import weights
from metrics.models.service import Models
from metrics.text.similarity import soft_match
from tests import tiny
from tests.conftest import make_item

TEXTS = (
    "hello there", "what do you like", "i like tea, not you!", "a good reply to you", "", " ", "?!", "\u200b",
    "  hello  there ", "a [SEP] b [CLS] c", "[MASK] [PAD] [UNK]", "日本語 🙂", "émigré naïve", "a\u202eb\u0000c",
    "to " * 100, "don't can't", "hello\nthere", "tea", "hello there",
)


@pytest.fixture(scope="module")
def roberta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a tiny RoBERTa with random weights, whose tokenizer joins a space and the letter after it."""
    import torch
    from tokenizers import pre_tokenizers
    from transformers import RobertaConfig, RobertaModel, RobertaTokenizer

    folder = tmp_path_factory.mktemp("models") / "tiny-roberta"
    pieces = ["<s>", "<pad>", "</s>", "<unk>", "<mask>", *sorted(pre_tokenizers.ByteLevel.alphabet()), "Ġh", "Ġt", "he"]
    RobertaTokenizer(vocab={piece: number for number, piece in enumerate(pieces)},
                     merges=[("Ġ", "h"), ("Ġ", "t"), ("h", "e")], model_max_length=96).save_pretrained(folder)
    torch.manual_seed(0)
    RobertaModel(RobertaConfig(
        vocab_size=len(pieces), hidden_size=16, num_hidden_layers=3, num_attention_heads=2, intermediate_size=32,
        max_position_embeddings=98, initializer_range=0.4, pad_token_id=1, bos_token_id=0, eos_token_id=2,
        type_vocab_size=1)).save_pretrained(folder)
    return folder


def package(folder: Path, layer: int, items: Sequence[Item], limit: int | None = None, **more: Any) -> np.ndarray:
    """Return P, R and F of each item by the package, which treats the longest texts of a batch differently."""
    from transformers import AutoTokenizer

    bert_score = pytest.importorskip("bert_score")
    references = [[reference.text for reference in item.references] for item in items]
    scorer = bert_score.BERTScorer(model_type=str(folder), num_layers=layer, device="cpu", nthreads=0, **more)
    whole = AutoTokenizer.from_pretrained(str(folder), add_prefix_space=True)
    whole.build_inputs_with_special_tokens = lambda ids: whole.encode("")
    if limit:
        whole.model_max_length = limit
    scorer._tokenizer = whole
    if scorer.idf:
        scorer.compute_idf([text for texts in references for text in texts])
    responses = [item.response.text for item in items if item.response]
    most = max(len(whole.encode(text)) for texts in (responses, *references) for text in texts)
    longest = "x " * min(most, whole.model_max_length)
    return np.stack(scorer.score([*responses, longest], [*references, [longest]], batch_size=1 << 10))[:, :-1]


def table(metric: BertScore, items: Sequence[Item], home: Path = Path()) -> np.ndarray:
    actual = metric.score(items, Models(home))
    return np.stack([actual[f"bert-score-{part}"] for part in "prf"])


def crossed() -> list[Item]:
    """Return items with each text as the response and others as references; some items share references."""
    items = [make_item(str(row), text, *(TEXTS[(row // 2 * 5 + 3 * k) % len(TEXTS)] for k in range(1 + row // 2 % 3)))
             for row, text in enumerate(TEXTS)]
    return [item for item in items if any(reference.text.strip() for reference in item.references)]


def test_negative_cosines_count_0_and_special_tokens_match() -> None:
    """Tokens are c at 60° and d at 225°, between -x and -y: d matches -x at 45°, and nothing matches c."""
    c, d = ((np.array([(-1, 0), token, (0, -1)], np.float32), np.array([0.0, 1, 0]))
            for token in ((0.5, 0.75**0.5), (-(0.5**0.5), -(0.5**0.5))))
    for reference, response, expected in ((c, d, (0.5**0.5, 0)), (d, c, (0, 0.5**0.5))):
        actual = soft_match(np.maximum(response[0] @ reference[0].T, 0), response[1], reference[1])
        assert actual == pytest.approx(expected, abs=1e-6)


def test_several_references(tiny_encoder: Path) -> None:
    def scored(*references: str, how: Any = "standard", **options: Any) -> np.ndarray:
        metric = BertScore(encoder=str(tiny_encoder), references=how, **options)
        return table(metric, [make_item("1", "i like tea", *references)])

    each = [scored(text) for text in ("hello there", "you like tea")]
    for how, expected in (("standard", np.maximum(*each)), ("mean", sum(each) / 2), ("max", np.maximum(*each)),
                          ("first", each[0])):
        np.testing.assert_allclose(scored("hello there", "you like tea", how=how), expected, atol=1e-6)
    assert not scored("i like tea", "i like tea", idf=True).any(), "what all references hold weighs nothing"


def test_equals_the_package_on_awkward_texts(tiny_encoder: Path, roberta: Path) -> None:
    """RoBERTa gets each text after a space."""
    items = crossed()
    for folder, layer, idf in ((tiny_encoder, 1, True), (tiny_encoder, 2, False), (roberta, 3, False)):
        scores = table(BertScore(encoder=str(folder), layer=layer, idf=idf), items)
        np.testing.assert_allclose(scores, package(folder, layer, items, idf=idf), atol=1e-5)


def test_equals_the_package_with_the_embedded_encoder() -> None:
    """Both truncate at the 256 tokens that this encoder is made for; its tokenizer alone would allow 512."""
    items = [make_item("1", "to tea " * 200, "hello there", "to " * 300), make_item("2", "émigré", "naïve")]
    folder = weights.find(weights.EMBEDDED, Path()).folder
    np.testing.assert_allclose(table(BertScore(), items), package(folder, 6, items, limit=256), atol=1e-5)


@pytest.fixture(scope="module")
def baseline() -> Path:
    return Path(pytest.importorskip("bert_score").__file__).parent / "rescale_baseline" / "en" / "bert-base-uncased.tsv"


@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable")  # how the package reads its file
def test_rescaling_equals_the_package(tiny_encoder: Path, baseline: Path) -> None:
    items = crossed()
    actual = table(BertScore(encoder=str(tiny_encoder), layer=2, baseline=File(baseline)), items)
    expected = package(tiny_encoder, 2, items, lang="en", rescale_with_baseline=True, baseline_path=str(baseline))
    np.testing.assert_allclose(actual, expected, rtol=1e-4, atol=1e-5)


def test_a_baseline_that_does_not_fit_is_refused(tiny_encoder: Path, baseline: Path, tmp_path: Path) -> None:
    items = [make_item("1", "hello", "hello")]
    with pytest.raises(MissingResource, match="none"):
        table(BertScore(encoder=str(tiny_encoder), baseline=File(tmp_path / "none.tsv")), items)
    short = tmp_path / "short.tsv"
    short.write_text("LAYER\tP\tR\tF\n0\t0.1\t0.1\t0.1\n2\t0.1\tx\t0.1\n", encoding="utf-8")
    for layer in (1, 2):
        with pytest.raises(BadOption, match=f"layer {layer}"):
            table(BertScore(encoder=str(tiny_encoder), layer=layer, baseline=File(short)), items)


def test_layers_are_those_the_package_recommends(tmp_path: Path) -> None:
    from bert_score.utils import model2layers

    known = {name.rpartition("/")[-1].casefold(): layer for name, layer in model2layers.items()}
    assert {name: known[name] for name in LAYERS} == LAYERS
    with pytest.raises(BadOption, match="layer"):
        BertScore(layer=-1)
    tiny.encoder(tmp_path / "models" / "google-bert" / "bert-base-uncased", num_hidden_layers=10)
    items = [make_item("1", "hello there", "what is tea")]
    name = "google-bert/bert-base-uncased"
    actual = table(BertScore(encoder=name), items, tmp_path)
    np.testing.assert_array_equal(actual, table(BertScore(encoder=name, layer=9), items, tmp_path))
    assert not np.allclose(actual, table(BertScore(encoder=name, layer=10), items, tmp_path))
