"""Language models in GGUF files: dequantised once into a folder of float16 weights that transformers reads quickly.

origin.json in the folder holds the digests of the GGUF file and of the converted weights; the first is the model's
digest, and the second shows whether the folder was changed.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from pathlib import Path
from typing import Any

from metrics.errors import MissingResource, in_one_line
from metrics.models.hub import quiet
from metrics.models.resources import sha256

ORIGIN = "origin.json"


def is_file(name: str) -> bool:
    return name.casefold().endswith(".gguf")


def convert(name: str, file: Path, folder: Path) -> None:
    """Write the model in a GGUF file as config.json, tokenizer and model.safetensors into a folder."""
    from safetensors.torch import save_file

    sys.stderr.write(f"{name}: converting {file.name}, once\n")
    try:
        with contextlib.nullcontext() if sys.stderr.isatty() else contextlib.redirect_stderr(io.StringIO()):
            network, tokenizer = _loaded(file)  # shows a progress bar
    except MemoryError:
        raise
    except Exception as error:  # every kind of broken file raises another one
        raise MissingResource(f"model {name}: {file} cannot be read as a language model "
                              f"({in_one_line(error)})") from error
    network.config.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    weights = {key: tensor.half().contiguous() for key, tensor in network.state_dict().items()}
    if network.config.tie_word_embeddings:
        weights.pop("lm_head.weight", None)  # the input embeddings once more
    save_file(weights, folder / "model.safetensors", {"format": "pt"})
    write_origin(file, folder)


def write_origin(file: Path, folder: Path) -> None:
    """Write the digests of the original file and of the converted weights, which become readable by all."""
    (folder / "model.safetensors").chmod(0o644)
    origin = {"file": file.name, "sha256": sha256(file), "weights": sha256(folder / "model.safetensors")}
    (folder / ORIGIN).write_text(json.dumps(origin, indent=1) + "\n", encoding="utf-8")


def origin(folder: Path) -> dict[str, str] | None:
    """Return the origin of a converted folder, None for any other folder."""
    try:
        noted = json.loads((folder / ORIGIN).read_text(encoding="utf-8"))
        return {key: str(noted[key]) for key in ("file", "sha256", "weights")}
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _loaded(file: Path) -> tuple[Any, Any]:
    import torch
    import transformers

    plain = {}
    if hasattr(transformers, "GgufConfig"):  # versions that can compute on packed weights must be told to unpack them
        plain = {"quantization_config": transformers.GgufConfig(gguf_file=file.name, dequantize=True)}
    with quiet():
        tokenizer = transformers.AutoTokenizer.from_pretrained(str(file.parent), gguf_file=file.name)
        network = transformers.AutoModelForCausalLM.from_pretrained(
            str(file.parent), gguf_file=file.name, dtype=torch.float16, **plain)
    return network, tokenizer
