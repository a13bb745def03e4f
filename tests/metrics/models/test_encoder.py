"""An encoder processes each text once and agrees with the reference implementation in all batches."""

import gc
import shutil
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from metrics.errors import BadOption
from metrics.models import networks
from metrics.models.encoder import Encoder, Pooling
from metrics.models.memory import ENTRY_OVERHEAD, ArrayCache, Vectors
from metrics.models.service import Choice, Models
from metrics.models.tokens import Pair
from tests.metrics.models.test_tokens import AWKWARD, HALVES
from tests.tiny import rows_read

torch = pytest.importorskip("torch")

POOLINGS: tuple[Pooling, ...] = ("mean", "max", "cls")
TALK = ("hello there", "you like tea?", "what a good reply to you", "not a good reply, is it", "i like the tea", "a")


@pytest.fixture(params=["bert", "roberta"])
def folder(request: pytest.FixtureRequest, tiny_encoder: Path, tiny_bytes: Path) -> Path:
    return {"bert": tiny_encoder, "roberta": tiny_bytes}[request.param]


def made(home: Path, folder: Path | str, layer: int = 0, memory: int = 1 << 30, **choice: Any) -> Encoder:
    return Models(home, Choice(device="cpu", **choice), ArrayCache(memory)).encoder(str(folder), layer)


def read(encoder: Encoder, pairs: list[tuple[str, str]], pooling: Pooling = "cls") -> Vectors:
    return encoder.readings([Pair((context,), response) for context, response in pairs], pooling)


def test_layers_and_pairs_agree_with_transformers(home: Path, folder: Path) -> None:
    """Compare every layer with transformers' own model, given one text or pair at a time."""
    import transformers

    network = transformers.AutoModel.from_pretrained(str(folder)).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(folder))
    ours = {layer: made(home, folder, layer).states(TALK) for layer in (1, 2)}
    encoder = made(home, folder)
    pairs = [("hello there", "you like tea?"), ("a", ""), ("", "good"), ("what", "reply")]
    with torch.inference_mode():
        for index, text in enumerate(TALK):
            states = network(**tokenizer(text, return_tensors="pt"), output_hidden_states=True).hidden_states
            pooled = np.concatenate([states[2][0].mean(0), states[2][0].amax(0)])
            assert np.allclose(encoder.means_and_maxima([text])[0], pooled, atol=1e-5)
            assert np.allclose(encoder.sentences([text], "cls")[0], states[2][0, 0], atol=1e-5)
            for layer in (1, 2):
                assert np.allclose(ours[layer][index], states[layer][0].numpy(), atol=1e-5)
        for pair, vector in zip(pairs, read(encoder, pairs), strict=True):
            theirs = network(**tokenizer([pair], return_tensors="pt")).last_hidden_state[0, 0].numpy()
            assert np.allclose(vector, theirs, atol=1e-5), pair
    for layer in (-1, 3):
        with pytest.raises(BadOption, match=f"2 .*{layer}"):
            made(home, folder, layer).sentences(["hello"])


def test_batches_and_packed_layers_change_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    texts = [f"{first} {second}" for first in TALK for second in TALK][:12]
    together = made(home, "").sentences(texts)
    assert np.allclose(together, made(home, "", batch_tokens=1).sentences(texts), atol=1e-5)
    monkeypatch.setattr(networks, "can_pack", lambda: False)
    assert np.allclose(together, made(home, "").sentences(texts), atol=1e-5)


def test_packing_frees_the_weights_of_the_original_layers() -> None:
    if not networks.can_pack():
        pytest.skip("this build of torch cannot pack layers")
    network = torch.nn.Sequential(torch.nn.Linear(8, 8))
    weights = weakref.ref(network[0].weight)
    networks.pack(network)
    gc.collect()
    assert weights() is None


def test_any_text_has_finite_numbers(home: Path, folder: Path) -> None:
    encoder = made(home, folder)
    texts = [*AWKWARD, *HALVES, "hello " * 17_000, "a" * 100_000]
    assert np.isfinite(encoder.sentences(texts)).all()
    assert len(encoder.states(texts)[-2]) == encoder.tokenizer.limit == 64
    assert np.isfinite(read(encoder, [(text, text) for text in texts])).all()


def test_each_text_is_encoded_once_in_a_run(home: Path, tiny_encoder: Path) -> None:
    encoder = made(home, tiny_encoder)
    rows = rows_read(encoder)
    for pooling in POOLINGS:
        encoder.sentences([*TALK, *TALK], pooling)
    encoder.states(TALK[::-1])
    assert sum(rows) == len(TALK)
    read(encoder, [("hello", "there")] * 3)
    read(encoder, [("hello", "there")], "mean")
    assert sum(rows) == len(TALK) + 1


def test_little_memory_gives_the_same_vectors(home: Path, tiny_encoder: Path) -> None:
    plain, texts = made(home, tiny_encoder), [*TALK, "", " ", "\x00", *TALK[::-1]]
    for memory in (0, 5 * (ENTRY_OVERHEAD + 64)):
        encoder = made(home, tiny_encoder, memory=memory)
        for pooling in POOLINGS:
            vectors = encoder.sentences(texts, pooling)
            assert np.allclose(vectors, plain.sentences(texts, pooling), atol=1e-5)
            assert [not vector.any() for vector in vectors] == [not text.strip(" \x00") for text in texts]
        for ours, theirs in zip(encoder.states(texts), plain.states(texts), strict=True):
            assert np.allclose(ours, theirs, atol=1e-5)
        assert encoder._memory.bytes_used <= memory


def test_an_encoder_decoder_model_is_refused(home: Path, tiny_encoder: Path, tmp_path: Path) -> None:
    from transformers import T5Config, T5Model

    config = T5Config(vocab_size=90, d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2)
    T5Model(config).save_pretrained(tmp_path / "t5")
    for path in tiny_encoder.glob("*token*"):
        shutil.copy(path, tmp_path / "t5")
    with pytest.raises(BadOption, match="--encoder"):
        made(home, tmp_path / "t5").sentences(["hello"])
