"""Networks from their files: transformers' and our own, on the machine's devices, in its precision."""

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

NEAR = 0.01
"""How far scores may lie apart by rounding."""

PRIMITIVES = "64"
"""How many kernels oneDNN keeps: there is one for every shape of batch, and most are not met again soon."""

MASKED = "down.", "up."
"""How those of the masked language model begin that are adapters."""
BODY, ADAPTERS, HEAD = "body.", "adapters.", "head."
"""How the names of a transformer's trained weights begin, of the adapters to them, and of the head's behind it."""

_NOT_NEEDED = ("pooler", "position_ids")
"""Parts of a network that its files may lack: none of what is read goes through them."""


def transformer(kind: str, weights: Weights, machine: Machine, layers: int | None = None) -> list[Any]:
    """The network (`AutoModel`, ...) of these weights once per device, cut to its first `layers` where given."""
    with READING.loads():
        return placed(loaded(kind, weights, machine, layers), machine)


def loaded(kind: str, weights: Weights, machine: Machine, layers: int | None = None) -> Any:
    """The network of these weights as PyTorch has it: to be trained, or to be changed before it is placed."""
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
                ignore_mismatched_sizes=True)  # refused below, with what is wrong
        except (MemoryError, BadOption):
            raise
        except Exception as error:  # a folder can be wrong in many ways, each with an error of its own
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
        network.pooler = None  # it would be one of random numbers
    return network if weights.trained is None else tuned(network, weights.trained)


def _check_causal(weights: Weights, config: Any, kind: str) -> None:
    """Refuse a model that should be a causal language model and is none by its configuration."""
    own = next(iter(getattr(config, "architectures", None) or ()), "")
    if kind == "AutoModelForCausalLM" and own and not ("Causal" in own or "LMHead" in own):
        raise MissingResource(f"model {weights.name}: it is a {own}; --lm takes a causal language model, and an "
                              "encoder is for --encoder")


def placed(network: Any, machine: Machine) -> list[Any]:
    """The network once per device, with the linear layers of the precision; the one handed over is used up."""
    network.eval().requires_grad_(False)
    copies = [network, *(copy.deepcopy(network) for _ in machine.devices[1:])]
    if machine.kind == "cpu" and machine.precision in packed.PRECISIONS and packed.available():
        return [packed.pack(each) for each in copies]
    return [each.to(device) for each, device in zip(copies, machine.devices, strict=True)]


def _check_depth(weights: Weights, config: Any, layers: int) -> None:
    if not 1 <= layers <= config.num_hidden_layers:
        raise BadOption(f"model {weights.name} has {config.num_hidden_layers} layers, not {layers}")


def positions(config: Any) -> int:
    """How many positions a network has; some say with 0 or less that there is no end."""
    stated = int(getattr(config, "max_position_embeddings", 0) or 0)
    return stated if stated > 0 else 1 << 20


def reads_one_way(network: Any, device: str) -> bool:
    """Whether a token's scores are the same whatever follows it."""
    import torch

    with torch.inference_mode():
        scores = network(input_ids=torch.tensor([[1, 2], [1, 3]], device=device)).logits[:, 0].float()
    return bool((scores[0] - scores[1]).abs().max() < NEAR)


def workers(networks: list[Any], machine: Machine) -> list[tuple[Any, str]]:
    """Who computes at the same time: each device its copy of a network; on the processor every core the same one."""
    placed = list(zip(networks, machine.devices, strict=True))
    if machine.devices != ("cpu",):
        return placed
    import torch

    return placed * int(torch.get_num_threads())


def own(kind: Callable[..., Any], checkpoint: Checkpoint, machine: Machine) -> Any:
    """A network of this project: `kind(**config)` with the weights of a checkpoint, on the first device."""
    from safetensors import SafetensorError

    try:
        network = kind(**checkpoint.config["network"])
        stored = checkpoint.weights()
        head = {name.removeprefix(HEAD): tensor for name, tensor in stored.items() if name.startswith(HEAD)}
        missing, foreign = network.load_state_dict(head or stored, strict=False)
    except (TypeError, SafetensorError, RuntimeError) as error:  # other arguments, no weights, other shapes
        raise _of_another(checkpoint, " ".join(str(error).split())) from error
    if apart := sorted({*foreign, *(set(missing) & learned(network).keys())}):
        raise _of_another(checkpoint, f"{len(apart)} names such as {apart[0]} are in one of the two only")
    return network.to(machine.devices[0]).requires_grad_(False).eval()


def begin(network: Any, checkpoint: Checkpoint) -> None:
    """Let a training begin with the weights of a checkpoint, as far as it has those of that name and shape."""
    own = learned(network)
    shared = {name: tensor for name, tensor in checkpoint.weights().items()
              if name in own and own[name].shape == tensor.shape}
    if not shared:
        raise _of_another(checkpoint, "no weight of it has its place in the network that is to be trained")
    network.load_state_dict(shared, strict=False)


def tuned(network: Any, checkpoint: Checkpoint) -> Any:
    """The transformer with what was trained of it: its own weights, or the adapters added to them."""
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
        raise _of_another(checkpoint, "it holds no transformer's weights and no adapters of this one") from error
    return network


def own_heads(weights: Weights) -> dict[str, Any]:
    """The heads of a BERT's pretraining, `seq_relationship.*` and `predictions.*`, where its files hold them."""
    from safetensors import safe_open

    file = weights.folder / "model.safetensors"
    if not file.is_file():
        return {}
    with safe_open(file, "pt") as stored:
        return {name.removeprefix("cls.").replace("LayerNorm.gamma", "LayerNorm.weight").replace(
            "LayerNorm.beta", "LayerNorm.bias"): stored.get_tensor(name)
            for name in stored.keys() if name.startswith("cls.")}  # noqa: SIM118, it is no dictionary


def separated(network: Any) -> Any:
    """The transformer with one more token, which stands between utterances and begins as the mean of all others."""
    import torch

    network.resize_token_embeddings(network.config.vocab_size + 1, mean_resizing=False)
    table = network.get_input_embeddings().weight
    with torch.no_grad():
        table[-1] = table[:-1].mean(0)
    return network


def _of_another(checkpoint: Checkpoint, problem: str) -> MissingResource:
    return MissingResource(f"weights {checkpoint.name}: {checkpoint.folder} holds those of another network "
                           f"({problem:.200}); train them anew with `{command(checkpoint.name)} --fresh`")
