"""Load networks, from transformers or this project, onto the machine's devices and in its precision.

On a CPU, the weights of linear layers are packed in advance for oneDNN's kernels (docs/decisions/0011); PyTorch's own
layer packs them at each call and adds the bias in a separate pass.
"""

from __future__ import annotations

import copy
import os
from collections.abc import Callable
from typing import Any

from metrics.errors import BadOption, MissingResource, in_one_line
from metrics.models.checkpoint import Checkpoint, command, trained_tensors
from metrics.models.counters import COUNTERS
from metrics.models.device import Machine
from metrics.models.hub import quiet
from metrics.models.weights import Weights

BODY, ADAPTERS, HEAD = "body.", "adapters.", "head."
"""Prefixes of weight names in a checkpoint: the transformer's, its adapters' and the head's."""
MASKED_LM_ADAPTERS = "down.", "up."
"""Prefixes of adapter names in the checkpoint of the masked language model."""
_NOT_NEEDED = ("pooler", "position_ids")
"""Parts of a network that may be missing from its files, because no output depends on them."""
_CPU_PRECISIONS = ("fp32", "bf16")
"""The precisions for which oneDNN has kernels with packed weights."""
_PACKED_ROWS = 2_048
"""The number of rows that the layout of packed weights is optimised for."""
_ACTIVATIONS = {"dense": "intermediate_act_fn", "dense_h_to_4h": "act"}
"""Layers of BERT and GPT-NeoX that are followed by an activation, and the attribute that holds it."""


def transformer(kind: str, weights: Weights, machine: Machine, layers: int | None = None) -> list[Any]:
    """Return one copy per device of the network (`AutoModel`, ...), reduced to its first `layers` if given."""
    with COUNTERS.count_loading():
        return place(load(kind, weights, machine, layers), machine)


def load(kind: str, weights: Weights, machine: Machine, layers: int | None = None) -> Any:
    """Load the network as plain PyTorch, for training or for changes before `place`."""
    # oneDNN caches a kernel per batch shape; most shapes are rare
    os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "64")
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
                dtype=machine.dtype(), output_loading_info=True, ignore_mismatched_sizes=True)  # rejected below
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
        raise MissingResource(f"model {weights.name}: the files lack {len(absent)} of the network's tensors "
                              f"({sorted(absent)[0]:.80}); they belong to another kind of model")
    if any(key.startswith("pooler") for key in info["missing_keys"]):
        network.pooler = None  # its weights would be random
    return network if weights.trained is None else with_trained_weights(network, weights.trained)


def _check_depth(weights: Weights, config: Any, layers: int) -> None:
    if not 1 <= layers <= config.num_hidden_layers:
        raise BadOption(f"model {weights.name} has {config.num_hidden_layers} layers, not {layers}")


def _check_causal(weights: Weights, config: Any, kind: str) -> None:
    """Raise MissingResource if a causal language model is needed but the configuration names another architecture."""
    name = next(iter(getattr(config, "architectures", None) or ()), "")
    if kind == "AutoModelForCausalLM" and name and not ("Causal" in name or "LMHead" in name):
        raise MissingResource(f"model {weights.name} is a {name}; --lm needs a causal language model (encoders are "
                              "for --encoder)")


def place(network: Any, machine: Machine) -> list[Any]:
    """Return one copy of the network per device, with packed linear layers on a CPU; modifies the argument."""
    network.eval().requires_grad_(False)
    copies = [network, *(copy.deepcopy(network) for _ in machine.devices[1:])]
    if machine.kind == "cpu" and machine.precision in _CPU_PRECISIONS and can_pack():
        return [pack(replica) for replica in copies]
    return [replica.to(device) for replica, device in zip(copies, machine.devices, strict=True)]


def can_pack() -> bool:
    import torch

    return torch.backends.mkldnn.is_available() and all(
        hasattr(torch.ops.mkldnn, name) for name in ("_reorder_linear_weight", "_linear_pointwise"))


def pack(network: Any) -> Any:
    """Pack the weights of every linear layer of the network in place, fusing the bias and a GELU after the layer.

    `torch.compile` would choose the same kernel. A bf16 output layer is left alone, since its rows are used in fp32.
    """
    import torch

    output: Any = getattr(network, "get_output_embeddings", lambda: None)()
    for module in list(network.modules()):
        for name, child in list(module.named_children()):
            if type(child) is torch.nn.Linear and not (child is output and child.weight.dtype == torch.bfloat16):
                activation = _ACTIVATIONS.get(name, "")
                gelu = _gelu(getattr(module, activation, None))
                setattr(module, name, _packed(child, gelu))
                if gelu:
                    setattr(module, activation, torch.nn.Identity())
    return network


def _gelu(activation: Any) -> str:
    """Return how a GELU is approximated, `none` or `tanh`; empty for other activations."""
    import torch

    if isinstance(activation, torch.nn.GELU):
        return str(activation.approximate)
    return {"GELUActivation": "none", "GELUTanh": "tanh"}.get(type(activation).__name__, "")


def _packed(layer: Any, gelu: str) -> Any:
    import torch

    class Packed(torch.nn.Module):
        def __init__(self, layer: Any) -> None:  # a closure would keep the original weights in memory
            super().__init__()
            self.weight = torch.ops.mkldnn._reorder_linear_weight(layer.weight.detach(), _PACKED_ROWS)
            self.bias = None if layer.bias is None else layer.bias.detach()

        def forward(self, rows: Any) -> Any:
            return torch.ops.mkldnn._linear_pointwise(
                rows, self.weight, self.bias, "gelu" if gelu else "none", [], gelu or "none")

    return Packed(layer)


def positions(config: Any) -> int:
    """Return the maximum number of positions; 0 or less in the configuration means unlimited."""
    stated = int(getattr(config, "max_position_embeddings", 0) or 0)
    return stated if stated > 0 else 1 << 20


def is_causal(network: Any, device: str) -> bool:
    """Return True if a token's logits do not depend on later tokens."""
    import torch

    with torch.inference_mode():
        scores = network(input_ids=torch.tensor([[1, 2], [1, 3]], device=device)).logits[:, 0].float()
    return bool((scores[0] - scores[1]).abs().max() < 0.01)  # rounding changes logits by less


def workers(networks: list[Any], machine: Machine) -> list[tuple[Any, str]]:
    """Return the network and device of each worker: one per device, or one per CPU core."""
    import torch

    pairs = list(zip(networks, machine.devices, strict=True))
    return pairs * int(torch.get_num_threads()) if machine.devices == ("cpu",) else pairs


def from_checkpoint(kind: Callable[..., Any], checkpoint: Checkpoint, machine: Machine) -> Any:
    """Return `kind(**config)` with the weights of a checkpoint, on the first device."""
    from safetensors import SafetensorError

    try:
        network = kind(**checkpoint.config["network"])
        stored = checkpoint.weights()
        head = {name.removeprefix(HEAD): tensor for name, tensor in stored.items() if name.startswith(HEAD)}
        missing, unexpected = network.load_state_dict(head or stored, strict=False)
    except (TypeError, SafetensorError, RuntimeError) as error:  # wrong arguments, broken file, wrong shapes
        raise _mismatch(checkpoint, " ".join(str(error).split())) from error
    if unmatched := sorted({*unexpected, *(set(missing) & trained_tensors(network).keys())}):
        raise _mismatch(checkpoint, f"{len(unmatched)} tensors do not match, such as {unmatched[0]}")
    return network.to(machine.devices[0]).requires_grad_(False).eval()


def initialise(network: Any, checkpoint: Checkpoint) -> None:
    """Initialise a network from the matching weights of a checkpoint, which must include its whole body."""
    trainable, stored = trained_tensors(network), checkpoint.weights()
    matching = {name: tensor for name, tensor in stored.items()
              if name in trainable and trainable[name].shape == tensor.shape}
    if not matching:
        raise _mismatch(checkpoint, "none of its weights match the network to be trained")
    if unused := sorted(name for name in stored.keys() - matching if name.startswith((BODY, ADAPTERS))):
        raise _mismatch(checkpoint, f"{len(unused)} tensors have no place in the network to be trained, such as "
                                    f"{unused[0]}: use the same rank in both training runs")
    network.load_state_dict(matching, strict=False)


def with_trained_weights(network: Any, checkpoint: Checkpoint) -> Any:
    """Return the transformer with the checkpoint's weights, or with its adapters merged."""
    from metrics.models.adapters import Adapters, linears

    if checkpoint.config["network"].get("separator"):
        network = add_separator(network)
    stored = checkpoint.weights()
    body = {name.removeprefix(BODY): tensor for name, tensor in stored.items() if name.startswith(BODY)}
    adapter_weights = {name.removeprefix(ADAPTERS): tensor for name, tensor in stored.items()
               if name.startswith((ADAPTERS, *MASKED_LM_ADAPTERS))}
    try:
        if body:
            network.load_state_dict(body, strict=False)
        else:
            adapters = Adapters(len(adapter_weights["down.0"]), linears(network))
            adapters.load_state_dict(adapter_weights)
            adapters.to(network.dtype).merge(network)
    except (KeyError, RuntimeError) as error:
        raise _mismatch(checkpoint, "it contains neither weights nor adapters for this transformer") from error
    return network


def pretraining_heads(weights: Weights) -> dict[str, Any]:
    """Return BERT's pretraining heads, `seq_relationship.*` and `predictions.*`, if the files contain them."""
    from safetensors import safe_open

    file = weights.folder / "model.safetensors"
    if not file.is_file():
        return {}
    with safe_open(file, "pt") as stored:
        heads = {name: stored.get_tensor(name) for name in stored.keys() if name.startswith("cls.")}  # noqa: SIM118
    return {name.removeprefix("cls.").replace("LayerNorm.gamma", "LayerNorm.weight").replace(
        "LayerNorm.beta", "LayerNorm.bias"): tensor for name, tensor in heads.items()}


def add_separator(network: Any) -> Any:
    """Add a token that separates utterances, initialised with the mean of the other embeddings."""
    import torch

    network.resize_token_embeddings(network.config.vocab_size + 1, mean_resizing=False)
    table = network.get_input_embeddings().weight
    with torch.no_grad():
        table[-1] = table[:-1].mean(0)
    return network


def log_likelihoods(output: Any, states: Any, rows: Any, tokens: Any) -> Any:
    """Return log p of each token, where `output` maps the state in the token's row to logits: (tokens,)."""
    scores = output(states).float()  # (states, vocabulary)
    return scores[rows, tokens] - scores.logsumexp(-1)[rows]


def _mismatch(checkpoint: Checkpoint, problem: str) -> MissingResource:
    return MissingResource(f"weights {checkpoint.name}: {checkpoint.folder} does not fit the network "
                           f"({problem:.200}); retrain with `{command(checkpoint.name)} --fresh`")
