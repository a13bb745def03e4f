"""Language models in GGUF files: dequantised once, and kept as a folder that transformers reads quickly.

The weights of a GGUF file have four bits or so; transformers unpacks them. The folder holds them as float16, the
tokenizer, the chat template, and origin.json with the digests of the GGUF file and of the weights that were made from
it. Both stand in a model's identity, so that scores of another conversion are others.
"""

from __future__ import annotations

import contextlib
import importlib.util
import io
import json
import sys
from pathlib import Path
from typing import Any

from metrics.errors import MissingResource, in_one_line
from metrics.models.hub import quiet
from metrics.models.resources import sha256

ORIGIN = "origin.json"
MARK = b"GGUF"


def is_file(name: str) -> bool:
    """Whether a model is named by its GGUF file."""
    return name.casefold().endswith(".gguf")


def convert(name: str, file: Path, folder: Path) -> None:
    """Write the model in a GGUF file as config.json, tokenizer and model.safetensors into a folder."""
    for package in ("torch", "transformers", "gguf", "accelerate"):
        if importlib.util.find_spec(package) is None:
            raise MissingResource(f"model {name}: a GGUF file is read by {package}, which is not installed; the extra "
                                  "[neural] brings it")
    with file.open("rb") as stream:
        if stream.read(4) != MARK:
            raise MissingResource(f"model {name}: {file} is no GGUF file")
    from safetensors.torch import save_file

    sys.stderr.write(f"{name}: {file.name} is being converted, once\n")
    try:
        with contextlib.nullcontext() if sys.stderr.isatty() else contextlib.redirect_stderr(io.StringIO()):
            network, tokenizer = _loaded(file)  # shows a bar of its own
    except MemoryError:
        raise
    except Exception as error:  # a file can be cut anywhere, or be of a kind that transformers does not know
        raise MissingResource(f"model {name}: {file} cannot be read as a language model "
                              f"({in_one_line(error)})") from error
    network.config.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    weights = {key: tensor.half().contiguous() for key, tensor in network.state_dict().items()}
    if network.config.tie_word_embeddings:
        weights.pop("lm_head.weight", None)  # the input embeddings once more
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    (folder / "model.safetensors").chmod(0o644)
    origin = {"file": file.name, "sha256": sha256(file), "weights": sha256(folder / "model.safetensors")}
    (folder / ORIGIN).write_text(json.dumps(origin, indent=1) + "\n", encoding="utf-8")


def origin(folder: Path) -> dict[str, str] | None:
    """The digests of a converted folder: of the GGUF file and of the weights made from it; None for another folder."""
    try:
        noted = json.loads((folder / ORIGIN).read_text(encoding="utf-8"))
        return {key: str(noted[key]) for key in ("file", "sha256", "weights")}
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _loaded(file: Path) -> tuple[Any, Any]:
    """The network and the tokenizer in a file, as transformers reads them."""
    import torch
    import transformers

    plain = {}
    if hasattr(transformers, "GgufConfig"):  # since it can also compute on packed weights, it must be asked to unpack
        plain = {"quantization_config": transformers.GgufConfig(gguf_file=file.name, dequantize=True)}
    with quiet():
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(file.parent), gguf_file=file.name)
        network = transformers.AutoModelForCausalLM.from_pretrained(
            str(file.parent), gguf_file=file.name, dtype=torch.float16, **plain)
    return network, tokenizer
