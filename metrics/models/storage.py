"""Weights as a checkpoint stores them, and as they are read: half of their size, or a quarter.

Numbers with a point are float16 where it holds them. In eight bits, on request, a matrix of many numbers is int8 with a
float16 scale for each row, the row's largest number being 127 of it. All are read as float32. docs/training.md has what
that costs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

SCALE = ".scale"
"""What the name of a matrix's scales ends in."""
MANY = 4_096
"""How many numbers a matrix has at least for eight bits to save anything worth having."""
_STEPS = 127
_LARGEST = 65504.0
"""What float16 holds."""


def packed(weights: Mapping[str, Any], eight_bits: bool) -> dict[str, Any]:
    """The weights as they are stored: in float16 where it holds them, large matrices in eight bits on request."""
    import torch

    stored = {}
    for name, tensor in weights.items():
        tensor = tensor.detach().cpu().contiguous()
        largest = tensor.abs().amax(-1, keepdim=True) if tensor.numel() and tensor.is_floating_point() else None
        if largest is None or not float(largest.max()) <= _LARGEST:  # whole numbers, too large ones, or NaN
            stored[name] = tensor.clone()
        elif not eight_bits or tensor.ndim < 2 or tensor.numel() < MANY:
            stored[name] = tensor.to(torch.float16)
        else:
            scale = (largest.float() / _STEPS).clamp(min=1e-7).half()
            steps = (tensor.float() / scale.float()).round().clamp(-_STEPS, _STEPS)
            stored |= {name: steps.to(torch.int8), name + SCALE: scale}
    return stored


def unpacked(stored: Mapping[str, Any]) -> dict[str, Any]:
    """The weights as they are read, of those that `packed` made and of any others."""
    weights = {}
    for name, tensor in stored.items():
        if name + SCALE in stored:
            weights[name] = tensor.float() * stored[name + SCALE].float()
        elif not name.endswith(SCALE):
            weights[name] = tensor.float() if tensor.is_floating_point() else tensor
    return weights
