"""FineD-Eval's objective: of two dialogues the better one has the higher score, in each dimension."""

from __future__ import annotations

from typing import Any

from metrics.trained.fined_eval.pairs import preferences
from metrics.training.recipe import Objective, TrainingData


def objective(data: TrainingData, shared: bool) -> Objective:
    """The network with one reader for all dimensions or with three, and its pairs."""
    from metrics.trained.fined_eval.network import FinedEval, accuracies, loss

    pairs = preferences(data)
    config: dict[str, Any] = {"width": pairs.table.width, "shared": shared}
    held = pairs.held_out()
    return Objective(FinedEval(**config), config, pairs.draw, held, loss,
                     lambda network: {**pairs.told, **accuracies(network, held)})
