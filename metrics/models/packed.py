"""Linear layers for the CPU, with weights packed in advance for oneDNN's kernels (docs/decisions/0011).

PyTorch's own layer packs the weights at each call and adds the bias in a separate pass. The kernel used here, with
fused bias and GELU, is the one that `torch.compile` would choose; it needs no compiler.
"""

from __future__ import annotations

from typing import Any

PRECISIONS = ("fp32", "bf16")
"""The precisions that have such kernels."""

ROWS = 2_048
"""The number of rows that the layout is optimised for."""


def available() -> bool:
    import torch

    return torch.backends.mkldnn.is_available() and all(
        hasattr(torch.ops.mkldnn, name) for name in ("_reorder_linear_weight", "_linear_pointwise"))


def pack(network: Any) -> Any:
    """Pack every linear layer of the network in place, fusing a GELU that follows it.

    A bf16 output layer is left alone, since rows of it are used in fp32.
    """
    import torch

    output: Any = getattr(network, "get_output_embeddings", lambda: None)()
    for module in list(network.modules()):
        for name, child in list(module.named_children()):
            if type(child) is torch.nn.Linear and not (child is output and child.weight.dtype == torch.bfloat16):
                after = _ACTIVATIONS.get(name, "")
                gelu = _gelu(getattr(module, after, None))
                setattr(module, name, _packed(child, gelu))
                if gelu:
                    setattr(module, after, torch.nn.Identity())
    return network


_ACTIVATIONS = {"dense": "intermediate_act_fn", "dense_h_to_4h": "act"}
"""Layers of BERT and GPT-NeoX that are followed by an activation, and the attribute that holds it."""


def _gelu(activation: Any) -> str:
    """Return how a GELU is approximated, `none` or `tanh`; empty for other activations."""
    import torch

    if isinstance(activation, torch.nn.GELU):
        return str(activation.approximate)
    return {"GELUActivation": "none", "GELUTanh": "tanh"}.get(type(activation).__name__, "")


def _packed(layer: Any, gelu: str) -> Any:
    import torch

    class Packed(torch.nn.Module):
        def __init__(self, layer: Any) -> None:
            super().__init__()
            self.weight = torch.ops.mkldnn._reorder_linear_weight(layer.weight.detach(), ROWS)
            self.bias = None if layer.bias is None else layer.bias.detach()

        def forward(self, rows: Any) -> Any:
            return torch.ops.mkldnn._linear_pointwise(
                rows, self.weight, self.bias, "gelu" if gelu else "none", [], gelu or "none")

    return Packed(layer)
