"""The language model that comes with this package: its weights in eight bits, and how they become a model.

A checkpoint holds its matrices in eight bits (storage.py), and in its config the tokenizer's pieces. Whoever
reads it gets what any other model is read from: a folder with config.json, tokenizer and model.safetensors in float32
(metrics/models/weights.py), for as long as it takes to load.

The network is a GPT-NeoX: rotary positions, attention and feed-forward side by side, input embeddings that are the
output's as well.
"""

from __future__ import annotations

import dataclasses
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

from metrics.errors import MissingResource
from metrics.models.device import Machine
from metrics.models.memory import Memory
from metrics.models.pieces import END, Pieces
from metrics.models.storage import unpacked
from metrics.models.weights import Weights
from metrics.training.checkpoint import CONFIG, SHIPPED, WEIGHTS, Checkpoint

if TYPE_CHECKING:
    from metrics.models.causal import LanguageModel

NAME, SHOWN = "lm", "dialogue-lm"
"""What the checkpoint is called, and the model in signatures and on pages."""


def weights(found: Checkpoint) -> Weights:
    """The checkpoint as any other model is told of: name, digests, where it is from."""
    digests = found.card["sha256"]
    origin = "this package" if found.folder.is_relative_to(SHIPPED) else "home"
    return Weights(SHOWN, found.folder, digests[WEIGHTS], digests[CONFIG], origin)


def load(found: Checkpoint, machine: Machine, memory: Memory) -> LanguageModel:
    """The language model of a checkpoint, network and tokenizer loaded."""
    from metrics.models.causal import LanguageModel

    told = weights(found)
    with tempfile.TemporaryDirectory() as folder:
        expand(found, Path(folder))
        model = LanguageModel(dataclasses.replace(told, folder=Path(folder)), machine, memory)
        model.tokenizer  # noqa: B018 - reads the network, too; nothing is looked up in the folder from now on
    model.weights = told
    return model


def expand(found: Checkpoint, folder: Path) -> None:
    """Write a checkpoint as a folder that transformers reads: config.json, tokenizer, weights in float32."""
    import safetensors
    from safetensors.torch import load_file, save_file
    from transformers import PreTrainedTokenizerFast

    try:
        sizes = dict(found.config["network"])
        pieces = Pieces.read(sizes.pop("pieces"))
        configuration(vocabulary=len(pieces.numbers), **sizes).save_pretrained(folder)
        PreTrainedTokenizerFast(tokenizer_object=pieces.tokenizer(), bos_token=END, eos_token=END,
                                model_max_length=sizes["positions"]).save_pretrained(folder)
        stored = load_file(found.folder / WEIGHTS)
    except (KeyError, TypeError, ValueError, safetensors.SafetensorError) as error:
        raise MissingResource(f"weights {found.name}: {found.folder} holds no language model ({error!s:.120}); train "
                              f"it anew with `harness train {NAME} --fresh`") from error
    save_file(unpacked(stored), folder / WEIGHTS, {"format": "pt"})


def configuration(vocabulary: int, width: int, layers: int, heads: int, positions: int) -> Any:
    """The network's configuration, as transformers has it."""
    from transformers import GPTNeoXConfig

    return GPTNeoXConfig(
        architectures=["GPTNeoXForCausalLM"], vocab_size=vocabulary, hidden_size=width, num_hidden_layers=layers,
        num_attention_heads=heads, intermediate_size=4 * width, max_position_embeddings=positions,
        hidden_act="gelu_pytorch_tanh", tie_word_embeddings=True, bos_token_id=0, eos_token_id=0)
