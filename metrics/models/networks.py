"""Loading of networks, from transformers or this project, onto the machine's devices and in its precision."""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from typing import Any

from metrics.errors import BadOption, MissingResource, in_one_line
from metrics.models import packed
from metrics.models.checkpoint import Checkpoint, command, learned
from metrics.models.device import Machine
from metrics.models.hub import quiet
from metrics.models.reading import READING
from metrics.models.weights import Weights

ROUNDING = 0.01
"""Largest difference of scores that is attributed to rounding."""

PRIMITIVES = "64"
"""Capacity of oneDNN's cache of kernels; each shape of batch needs one, and most shapes are rare."""

BODY, ADAPTERS, HEAD = "body.", "adapters.", "head."
"""Prefixes of a checkpoint's weights: of the transformer, of adapters to it, of the head behind it."""
MASKED = "down.", "up."
"""Prefixes of the adapters in the checkpoint of the masked language model."""

_NOT_NEEDED = ("pooler", "position_ids")
"""Parts of a network that its files may lack, because no output depends on them."""


def transformer(kind: str, weights: Weights, machine: Machine, layers: int | None = None) -> list[Any]:
    """Return the network (`AutoModel`, ...) of these weights once per device, cut to its first `layers` if set."""
    with READING.loads():
        return placed(loaded(kind, weights, machine, layers), machine)


def loaded(kind: str, weights: Weights, machine: Machine, layers: int | None = None) -> Any:
    """Return the network of these weights as plain PyTorch, to be trained or changed before it is placed."""
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", PRIMITIVES)
    import transformers

    config = None
    with quiet():
        try:
            config = transformers.AutoConfig.from_pretrained(str(weights.folder), local_files_only=True)
            if layers is not None:
                _check_depth(weights, config, layers)
                config.num_hidden_layers = layers
            network, info = getattr(transformers, kind).from_pretrained(
                str(weights.folder), config=config, local_files_only=True, use_safetensors=True,
                dtype=machine.dtype(), output_loading_info=True,
                ignore_mismatched_sizes=True)  # rejected below
        except (MemoryError, BadOption):
            raise
        except Exception as error:  # the type depends on what is broken
            _check_causal(weights, config, kind)
            raise MissingResource(f"model {weights.name}: {weights.folder} cannot be loaded as {kind} "
                                  f"({in_one_line(error)})") from error
    absent = [key for key in info["missing_keys"] if not any(part in key for part in _NOT_NEEDED)]
    absent += [key for key, *_ in info["mismatched_keys"]]
    if absent:
        _check_causal(weights, config, kind)
        raise MissingResource(f"model {weights.name}: its weights lack {len(absent)} of the network's parts "
                              f"({sorted(absent)[0]:.80}); they belong to another kind of model")
    if any(key.startswith("pooler") for key in info["missing_keys"]):
        network.pooler = None  # its weights would be random
    return network if weights.trained is None else tuned(network, weights.trained)


def _check_causal(weights: Weights, config: Any, kind: str) -> None:
    """Raise MissingResource if a causal language model is needed and the configuration names another architecture."""
    name = next(iter(getattr(config, "architectures", None) or ()), "")
    if kind == "AutoModelForCausalLM" and name and not ("Causal" in name or "LMHead" in name):
        raise MissingResource(f"model {weights.name}: it is a {name}; --lm takes a causal language model, and an "
                              "encoder is for --encoder")


def placed(network: Any, machine: Machine) -> list[Any]:
    """Return the network once per device, with packed linear layers on a CPU; the argument is modified."""
    network.eval().requires_grad_(False)
    copies = [network, *(copy.deepcopy(network) for _ in machine.devices[1:])]
    if machine.kind == "cpu" and machine.precision in packed.PRECISIONS and packed.available():
        return [packed.pack(replica) for replica in copies]
    return [replica.to(device) for replica, device in zip(copies, machine.devices, strict=True)]


def _check_depth(weights: Weights, config: Any, layers: int) -> None:
    if not 1 <= layers <= config.num_hidden_layers:
        raise BadOption(f"model {weights.name} has {config.num_hidden_layers} layers, not {layers}")


def positions(config: Any) -> int:
    """Return the number of positions of a network; 0 or less in a configuration means unlimited."""
    stated = int(getattr(config, "max_position_embeddings", 0) or 0)
    return stated if stated > 0 else 1 << 20


def is_causal(network: Any, device: str) -> bool:
    """Return True if a token's scores do not depend on the tokens after it."""
    import torch

    with torch.inference_mode():
        scores = network(input_ids=torch.tensor([[1, 2], [1, 3]], device=device)).logits[:, 0].float()
    return bool((scores[0] - scores[1]).abs().max() < ROUNDING)


def workers(networks: list[Any], machine: Machine) -> list[tuple[Any, str]]:
    """Return a network and device per worker: one for each device, or one for each core of the processor."""
    pairs = list(zip(networks, machine.devices, strict=True))
    if machine.devices != ("cpu",):
        return pairs
    import torch

    return pairs * int(torch.get_num_threads())


def from_checkpoint(kind: Callable[..., Any], checkpoint: Checkpoint, machine: Machine) -> Any:
    """Return `kind(**config)` with the weights of a checkpoint, on the first device."""
    from safetensors import SafetensorError

    try:
        network = kind(**checkpoint.config["network"])
        stored = checkpoint.weights()
        head = {name.removeprefix(HEAD): tensor for name, tensor in stored.items() if name.startswith(HEAD)}
        missing, foreign = network.load_state_dict(head or stored, strict=False)
    except (TypeError, SafetensorError, RuntimeError) as error:  # of arguments, the file, or shapes
        raise _mismatch(checkpoint, " ".join(str(error).split())) from error
    if unmatched := sorted({*foreign, *(set(missing) & learned(network).keys())}):
        raise _mismatch(checkpoint, f"{len(unmatched)} names such as {unmatched[0]} do not match")
    return network.to(machine.devices[0]).requires_grad_(False).eval()


def initialise(network: Any, checkpoint: Checkpoint) -> None:
    """Initialise a network with the weights of a checkpoint that have the same name and shape."""
    trainable = learned(network)
    shared = {name: tensor for name, tensor in checkpoint.weights().items()
              if name in trainable and trainable[name].shape == tensor.shape}
    if not shared:
        raise _mismatch(checkpoint, "none of its weights fits the network to be trained")
    network.load_state_dict(shared, strict=False)


def tuned(network: Any, checkpoint: Checkpoint) -> Any:
    """Return the transformer with the checkpoint's weights, or with its adapters merged."""
    from metrics.models.adapters import Adapters, linears

    if checkpoint.config["network"].get("separator"):
        network = separated(network)
    stored = checkpoint.weights()
    body = {name.removeprefix(BODY): tensor for name, tensor in stored.items() if name.startswith(BODY)}
    changes = {name.removeprefix(ADAPTERS): tensor for name, tensor in stored.items()
               if name.startswith((ADAPTERS, *MASKED))}
    try:
        if body:
            network.load_state_dict(body, strict=False)
        else:
            adapters = Adapters(len(changes["down.0"]), linears(network))
            adapters.load_state_dict(changes)
            adapters.to(network.dtype).merge(network)
    except (KeyError, RuntimeError) as error:
        raise _mismatch(checkpoint, "it holds neither weights nor adapters of this transformer") from error
    return network


def pretraining_heads(weights: Weights) -> dict[str, Any]:
    """Return BERT's pretraining heads, `seq_relationship.*` and `predictions.*`, if the files hold them."""
    from safetensors import safe_open

    file = weights.folder / "model.safetensors"
    if not file.is_file():
        return {}
    with safe_open(file, "pt") as stored:
        return {name.removeprefix("cls.").replace("LayerNorm.gamma", "LayerNorm.weight").replace(
            "LayerNorm.beta", "LayerNorm.bias"): stored.get_tensor(name)
            for name in stored.keys() if name.startswith("cls.")}  # noqa: SIM118, it is not a dictionary


def separated(network: Any) -> Any:
    """Add a token that separates utterances to a transformer, initialised with the mean of the others."""
    import torch

    network.resize_token_embeddings(network.config.vocab_size + 1, mean_resizing=False)
    table = network.get_input_embeddings().weight
    with torch.no_grad():
        table[-1] = table[:-1].mean(0)
    return network


def log_likelihoods(output: Any, states: Any, rows: Any, tokens: Any) -> Any:
    """Return log p of each token, by the layer `output` from the state in its row: (tokens,)."""
    scores = output(states).float()  # (states, vocabulary)
    return scores[rows, tokens] - scores.logsumexp(-1)[rows]


def _mismatch(checkpoint: Checkpoint, problem: str) -> MissingResource:
    return MissingResource(f"weights {checkpoint.name}: {checkpoint.folder} does not fit the network "
                           f"({problem:.200}); train them anew with `{command(checkpoint.name)} --fresh`")
