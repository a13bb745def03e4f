"""The one training loop: AdamW, warm-up, early stopping on the held-out loss, stopped and continued at will."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from metrics.device import Machine
from metrics.training import Objective, Recipe


@dataclass(frozen=True, slots=True)
class Look:
    """One look at a training: after how many steps, the mean training loss since the last look, the held-out loss."""

    step: int
    loss: float
    held_out: float


@dataclass(frozen=True, slots=True)
class Fitted:
    """The weights with the least held-out loss, and the way there."""

    weights: dict[str, Any]
    step: int
    steps: int
    curve: tuple[Look, ...]
    seconds: float


def fit(objective: Objective, recipe: Recipe, machine: Machine, seed: int, state: Path | None = None,
        tell: Callable[[Look], None] = lambda look: None) -> Fitted:
    """Fit the network; `state` is the file from which a training that was cut goes on."""
    raise NotImplementedError
