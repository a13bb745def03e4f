"""Linear layers for the processor with their weights laid out in advance, as oneDNN's kernels read them.

PyTorch hands a linear layer to its general matrix product, which lays the weights out anew at each call and adds the
bias in a pass of its own. The same product on weights that are laid out once, bias and GELU included, is what
`torch.compile` would choose; it is taken here directly, since it needs no compiler. Results are those of fp32 up to
the order of additions.
"""

from __future__ import annotations

from typing import Any

PRECISIONS = ("fp32", "bf16")
"""Those with such kernels; where the processor cannot multiply bf16, they are slow."""

ROWS = 2_048
"""The number of rows that the layout is chosen for; any other works as well."""


def available() -> bool:
    """Whether this build of torch has the kernels."""
    import torch

    return torch.backends.mkldnn.is_available() and all(
        hasattr(torch.ops.mkldnn, name) for name in ("_reorder_linear_weight", "_linear_pointwise"))


def pack(network: Any) -> Any:
    """The network with every linear layer packed, and the GELU between two of them fused into the first.

    A layer in bf16 that gives scores over a vocabulary stays as it is: single rows of it are read in fp32.
    """
    import torch

    output: Any = getattr(network, "get_output_embeddings", lambda: None)()
    for module in list(network.modules()):
        for name, child in list(module.named_children()):
            if type(child) is torch.nn.Linear and not (child is output and child.weight.dtype == torch.bfloat16):
                after = _BETWEEN.get(name, "")
                gelu = _gelu(getattr(module, after, None))
                setattr(module, name, _packed(child, gelu))
                if gelu:
                    setattr(module, after, torch.nn.Identity())
    return network


_BETWEEN = {"dense": "intermediate_act_fn", "dense_h_to_4h": "act"}
"""Layers that an activation follows, and where it is: BERT's and GPT-NeoX's."""


def _gelu(activation: Any) -> str:
    """How an activation computes the GELU: exactly (`none`), or by `tanh`; empty for any other activation."""
    import torch

    if isinstance(activation, torch.nn.GELU):
        return str(activation.approximate)
    return {"GELUActivation": "none", "GELUTanh": "tanh"}.get(type(activation).__name__, "")


def _packed(layer: Any, gelu: str) -> Any:
    import torch

    class Packed(torch.nn.Module):
        """y = activation(x · Wᵀ + b)."""

        def __init__(self, layer: Any) -> None:
            super().__init__()
            self.weight = torch.ops.mkldnn._reorder_linear_weight(layer.weight.detach(), ROWS)
            self.bias = None if layer.bias is None else layer.bias.detach()

        def forward(self, rows: Any) -> Any:
            return torch.ops.mkldnn._linear_pointwise(
                rows, self.weight, self.bias, "gelu" if gelu else "none", [], gelu or "none")

    return Packed(layer)
