"""How fast this device multiplies square matrices: what the passes of a network are held against."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from metrics.models.device import Machine

SIDES = {"cpu": (1_024, 2_048), "mps": (2_048, 4_096), "cuda": (4_096, 8_192)}
ROUNDS = 8


def rate(machine: Machine) -> float:
    """FLOP/s of the best product of two square matrices, 2·n³ each, in the machine's precision.

    In int8 it is that of a square linear layer, quantised as the network's are; torch has no plain product there.
    """
    return max(_rate(machine, side) for side in SIDES[machine.kind])


def seconds(work: Callable[[], object], machine: Machine) -> float:
    """How long some work takes, until the device has done all of it."""
    _wait(machine)
    start = time.perf_counter()
    work()
    _wait(machine)
    return time.perf_counter() - start


def _rate(machine: Machine, side: int) -> float:
    import torch

    with torch.inference_mode():
        work = _product(machine, side)
        work()
        return 2 * side**3 / min(seconds(work, machine) for _ in range(ROUNDS))


def _product(machine: Machine, side: int) -> Callable[[], object]:
    import torch

    left = torch.randn(side, side, device=machine.devices[0], dtype=machine.dtype())
    if machine.precision == "int8":
        layer = _quantised(side)
        return lambda: layer(left)
    right, out = torch.randn_like(left), torch.empty_like(left)
    return lambda: torch.matmul(left, right, out=out)


def _quantised(side: int) -> Any:
    import torch

    from metrics.models import eight_bit

    return eight_bit.quantize(torch.nn.Sequential(torch.nn.Linear(side, side, bias=False)).requires_grad_(False))


def _wait(machine: Machine) -> None:
    """Until the device has done what it was given; the processor is never behind."""
    import torch

    if machine.kind != "cpu":
        getattr(torch, machine.kind).synchronize()
