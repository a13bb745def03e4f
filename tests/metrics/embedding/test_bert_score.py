"""BERTScore: by hand, and against the bert-score package.

The package (0.3.13) calls a method of tokenizers that transformers 5 no longer has, and asks for RoBERTa's space by an
argument that it passes over: the oracle here is given a tokenizer with the method, made to put the space.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch")
bert_score = pytest.importorskip("bert_score")

from benchmarks.dataset import Item  # noqa: E402  (what is needed may be absent)
from metrics.embedding.bert_score import LAYERS, BertScore  # noqa: E402
from metrics.errors import BadOption, MissingResource  # noqa: E402
from metrics.metric import File  # noqa: E402
from metrics.models import weights  # noqa: E402
from metrics.models.service import Models  # noqa: E402
from metrics.models.tokens import Tokenized  # noqa: E402
from tests import tiny  # noqa: E402
from tests.conftest import make_item  # noqa: E402

COLUMNS = ("bert-score-p", "bert-score-r", "bert-score-f")
TEXTS = (
    "hello there", "what do you like", "i like tea, not you!", "a good reply to you", "", " ", "?!", "\u200b",
    "  hello  there ", "a [SEP] b [CLS] c", "[MASK] [PAD] [UNK]", "日本語 🙂", "émigré naïve", "a\u202eb\u0000c",
    "to " * 100, "don't can't", "hello\nthere", "tea", "hello there",
)


@pytest.fixture(scope="module")
def roberta(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A tiny RoBERTa with random weights, whose tokenizer joins a space and the letter after it."""
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
    """P, R and F of each item by the package: (3, items).

    It treats the longest texts of a batch otherwise: one text that is longer than all others goes with them.
    """
    from transformers import AutoTokenizer

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
    responses.append(longest)
    return np.stack(scorer.score(responses, [*references, [longest]], batch_size=1 << 10))[:, :-1]


def table(metric: BertScore, items: Sequence[Item], home: Path = Path()) -> np.ndarray:
    found = metric.score(items, Models(home))
    return np.stack([found[column] for column in COLUMNS])


def crossed(texts: Sequence[str] = TEXTS, many: int = 3) -> list[Item]:
    """Each text as a response to others; some items share their references."""
    return [make_item(str(row), text, *(texts[(row // 2 * 5 + 3 * k) % len(texts)] for k in range(1 + row // 2 % many)))
            for row, text in enumerate(texts)
            if any(texts[(row // 2 * 5 + 3 * k) % len(texts)].strip() for k in range(1 + row // 2 % many))]


# By hand: an encoder whose states are given. "[" and "]" stand around every text.
STATES = {"[": (-1.0, 0.0), "]": (0.0, -1.0), "a": (2.0, 0.0), "b": (0.0, 3.0), "c": (0.5, 0.75**0.5),
          "d": (-1.0, -1.0)}  # a at 0°, b at 90°, c at 60°, d at 225°


@dataclass
class ByHand:
    """An encoder that reads letters."""

    name: str = "by hand"
    layer: int = 0
    width: int = 2

    def __post_init__(self) -> None:
        self.tokenizer = SimpleNamespace(
            whole=SimpleNamespace(cls_token_id=ord("["), sep_token_id=ord("]")),
            texts=lambda texts: [Tokenized([ord(letter) for letter in f"[{text}]"]) for text in texts])

    def encoder(self, name: str = "", layer: int = 0) -> ByHand:
        return self

    def states(self, texts: Sequence[str]) -> list[np.ndarray]:
        return [np.array([STATES[letter] for letter in f"[{text}]"], dtype=np.float32) for text in texts]


HALF, ROOT = 0.5, 0.75**0.5  # the cosines of 60° and 30°


def by_hand(metric: BertScore, *items: Item) -> np.ndarray:
    found = metric.score(items, ByHand())  # type: ignore[arg-type]
    return np.stack([found[column] for column in COLUMNS]).T


def test_by_hand() -> None:
    for response, references, expected in (
        ("ab", ["ab"], (1, 1, 1)),
        ("a", ["c"], (HALF, HALF, HALF)),  # a has no match but c at 60°; c has a at 60°
        # P: a finds c (1/2), b finds c (√3/2). R: c finds b (√3/2)
        ("ab", ["c"], ((HALF + ROOT) / 2, ROOT, 2 * (HALF + ROOT) / 2 * ROOT / ((HALF + ROOT) / 2 + ROOT))),
        # each of P and R from the reference where it is largest: P with "ab" is 1, with "a" 1/2 + 0; R with "a" is 1
        ("ab", ["abc", "a"], (1, 1, 2 * 1 * (2 + ROOT) / 3 / (1 + (2 + ROOT) / 3))),
        # d finds "[" at 45°, which only counts as a match; c finds nothing on its side
        ("d", ["c"], (HALF**0.5, 0, 0)), ("c", ["d"], (0, HALF**0.5, 0)), ("", ["a"], (0, 0, 0)),
        ("a", ["", "c"], (HALF, HALF, HALF)), (" a ", ["a"], (1, 1, 1)),
    ):
        np.testing.assert_allclose(by_hand(BertScore(), make_item("1", response, *references)), [expected], atol=1e-6)


def test_rare_tokens_weigh_more_with_idf() -> None:
    """Of 3 references all hold a and one holds b: a weighs log(4/4) = 0, b log(4/2), and c, unseen, log(4)."""
    items = [make_item("1", "abc", "ab"), make_item("2", "b", "a", "aa")]
    found = by_hand(BertScore(idf=True), *items)
    b, c = np.log(2), np.log(4)
    assert found[0, :2] == pytest.approx([(b * 1 + c * ROOT) / (b + c), 1])
    assert found[1].tolist() == [0, 0, 0], "references of no weight are as good as empty"


def test_several_references() -> None:
    each = [by_hand(BertScore(), make_item("1", "ab", text)) for text in ("a", "c")]
    ways: dict[Any, Any] = {"standard": np.maximum(*each), "mean": sum(each) / 2, "max": np.maximum(*each),
                            "first": each[0]}
    for references, expected in ways.items():
        np.testing.assert_allclose(by_hand(BertScore(references=references), make_item("1", "ab", "a", "c")), expected)


def test_equals_the_package_on_awkward_texts(tiny_encoder: Path, roberta: Path) -> None:
    """RoBERTa reads after a space."""
    items = crossed()
    for folder, layer, idf in ((tiny_encoder, 1, True), (tiny_encoder, 2, False), (roberta, 3, False)):
        scores = table(BertScore(encoder=str(folder), layer=layer, idf=idf), items)
        np.testing.assert_allclose(scores, package(folder, layer, items, idf=idf), atol=1e-5)


def test_equals_the_package_with_the_embedded_encoder() -> None:
    """Both cut at the 256 tokens that this encoder is made for; its tokenizer alone would let 512 pass."""
    items = [make_item("1", "to tea " * 200, "hello there", "to " * 300), make_item("2", "émigré", "naïve")]
    folder = weights.find(weights.EMBEDDED, Path()).folder
    np.testing.assert_allclose(table(BertScore(), items), package(folder, 6, items, limit=256), atol=1e-5)


@pytest.fixture(scope="module")
def baseline() -> Path:
    """A rescaling file of the package."""
    return Path(bert_score.__file__).parent / "rescale_baseline" / "en" / "bert-base-uncased.tsv"


@pytest.mark.filterwarnings("ignore:The given NumPy array is not writable")  # how the package reads its file
def test_rescaling_equals_the_package(tiny_encoder: Path, baseline: Path) -> None:
    items = crossed()
    found = table(BertScore(encoder=str(tiny_encoder), layer=2, baseline=File(baseline)), items)
    expected = package(tiny_encoder, 2, items, lang="en", rescale_with_baseline=True, baseline_path=str(baseline))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


def test_a_baseline_that_does_not_fit_is_refused(tiny_encoder: Path, baseline: Path, tmp_path: Path) -> None:
    items = [make_item("1", "hello", "hello")]
    with pytest.raises(MissingResource, match=r"none\.tsv: No such file"):
        table(BertScore(encoder=str(tiny_encoder), baseline=File(tmp_path / "none.tsv")), items)
    short = tmp_path / "short.tsv"
    short.write_text("LAYER\tP\tR\tF\n0\t0.1\t0.1\t0.1\n2\t0.1\tx\t0.1\n", encoding="utf-8")
    for layer in (1, 2):
        with pytest.raises(BadOption, match=f"layer {layer}"):
            table(BertScore(encoder=str(tiny_encoder), layer=layer, baseline=File(short)), items)


def test_layers_are_those_the_package_recommends() -> None:
    from bert_score.utils import model2layers

    known = {name.rpartition("/")[-1].casefold(): layer for name, layer in model2layers.items()}
    assert {name: known[name] for name in LAYERS} == LAYERS
    with pytest.raises(BadOption, match="layer"):
        BertScore(layer=-1)


def test_a_known_model_is_read_at_its_recommended_layer(tmp_path: Path) -> None:
    tiny.encoder(tmp_path / "models" / "google-bert" / "bert-base-uncased", num_hidden_layers=10)
    items = [make_item("1", "hello there", "what is tea")]
    name = "google-bert/bert-base-uncased"
    found = table(BertScore(encoder=name), items, tmp_path)
    np.testing.assert_array_equal(found, table(BertScore(encoder=name, layer=9), items, tmp_path))
    assert not np.allclose(found, table(BertScore(encoder=name, layer=10), items, tmp_path))
