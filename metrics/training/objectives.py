"""The objectives of trainings, for any architecture. They add up: `retrieval(...) + contrast(...)`.

    contrast(data, ...)     right readings above wrong ones: cross entropy, or a ranking with the recipe's margin
    labelled(data, ...)     cross entropy against labels from 0 to 1
    rated(data, ...)        square error against ratings
    retrieval(data, ...)    the own response among those of the batch, and the own context

Examples are lists, to train on and held out, from which batches are drawn at random. A frozen encoder reads their texts
once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np
import torch
from torch.nn import functional

from metrics.training.examples import Contrast
from metrics.training.loop import on_device
from metrics.training.recipe import Objective, TrainingData, check_parts
from metrics.training.tuned import built

BATCH = 128
HELD_OUT = 8
"""Batches that are held out."""
FIRST = 1_024
"""Examples that initialise a network."""
Example = TypeVar("Example")


def contrast(data: TrainingData, training: Sequence[Contrast], held_out: Sequence[Contrast]) -> Objective:
    """Tell right readings from wrong ones; a wrong reading of None has the response of the next example."""
    margin = data.recipe.margin

    def batch(examples: Sequence[Contrast], rng: np.random.Generator) -> Any:
        following = [*examples[1:], examples[0]]
        wrong = [example.right._replace(response=other.right.response) if example.wrong is None else example.wrong
                 for example, other in zip(examples, following, strict=True)]
        sides = [built(data).inputs(readings, rng) for readings in ([example.right for example in examples], wrong)]
        return sides, torch.tensor([[example.output] for example in examples])

    def logits(network: Any, batch: Any) -> tuple[Any, Any]:
        sides, outputs = batch
        right, wrong = (network(*side) for side in sides)
        if right.ndim > 1:
            right, wrong = (side.gather(1, outputs)[:, 0] for side in (right, wrong))
        return right, wrong

    def loss(network: Any, batch: Any) -> Any:
        both = logits(network, batch)
        return (margin_ranking(*both, margin) if margin else logistic(*both)) + network.extra_loss()

    def hits(network: Any, batch: Any) -> Mapping[str, Any]:
        right, wrong = logits(network, batch)
        return {"right above one half": right > 0, "wrong below one half": wrong < 0, "pairs in order": right > wrong}

    readings = (reading for examples in (training, held_out) for example in examples
                for reading in (example.right, example.wrong) if reading is not None)
    return objective(data, training, held_out, batch, loss, hits, readings)


def labelled(data: TrainingData, training: Sequence[tuple[Any, float]],
             held_out: Sequence[tuple[Any, float]]) -> Objective:
    """Fit probabilities to labels from 0 to 1, by cross entropy."""
    def loss(network: Any, batch: Any) -> Any:
        inputs, labels = batch
        return functional.binary_cross_entropy_with_logits(network(*inputs), labels) + network.extra_loss()

    def hits(network: Any, batch: Any) -> Mapping[str, Any]:
        inputs, labels = batch
        return {"on their side of one half": (network(*inputs) > 0) == (labels > 0.5)}

    return objective(data, training, held_out, lambda examples, rng: _with_values(data, examples, rng), loss, hits,
                     (reading for reading, _ in (*training, *held_out)))


def rated(data: TrainingData, training: Sequence[tuple[Any, float]],
          held_out: Sequence[tuple[Any, float]]) -> Objective:
    """Fit scores to ratings, by square error; the network is initialised from some examples."""
    def loss(network: Any, batch: Any) -> Any:
        inputs, ratings = batch
        return (network(*inputs) - ratings).square().mean() + network.extra_loss()

    network, rng = built(data), data.rng
    check_parts("rated replies", training, held_out, "dailydialog_pp")
    sample = [training[row][0] for row in rng.permutation(len(training))[:FIRST]]
    network.prepare(sample)
    network.config.update(network.network.begin(*network.inputs(sample, rng)))
    return objective(data, training, held_out, lambda examples, rng: _with_values(data, examples, rng), loss,
                     lambda network, batch: {}, (reading for reading, _ in (*training, *held_out)))


def retrieval(data: TrainingData, training: Sequence[Contrast], held_out: Sequence[Contrast],
              batch: int = 0) -> Objective:
    """Find the own response among those of the batch, and the own context."""
    def draw(examples: Sequence[Contrast], rng: np.random.Generator) -> Any:
        return built(data).inputs([example.right for example in examples], rng)

    def loss(network: Any, batch: Any) -> Any:
        return both_ways(network.matrix(*batch))

    def hits(network: Any, batch: Any) -> Mapping[str, Any]:
        logits = network.matrix(*batch)
        return {"responses found": logits.argmax(1) == torch.arange(len(logits), device=logits.device)}

    return objective(data, training, held_out, draw, loss, hits, (
        example.right for example in (*training, *held_out)), batch)


def objective(data: TrainingData, training: Sequence[Example], held_out: Sequence[Example],
              batch: Callable[[Sequence[Example], np.random.Generator], Any], loss: Callable[[Any, Any], Any],
              hits: Callable[[Any, Any], Mapping[str, Any]], readings: Iterable[Any], size: int = 0) -> Objective:
    """Return an objective over batches of `size` examples, by default as many as the recipe says."""
    check_parts("examples", training, held_out)
    network, rng, size = built(data), data.rng, size or data.recipe.batch or BATCH
    network.prepare(list(readings))

    def draw(examples: Sequence[Example], rng: np.random.Generator) -> Any:
        return batch([examples[row] for row in rng.integers(len(examples), size=size)], rng)

    held = [draw(held_out, rng) for _ in range(HELD_OUT)]
    return Objective(network.network, network.config, lambda rng: draw(training, rng), held, loss, shares(held, hits),
                     len(training))


def _with_values(data: TrainingData, examples: Sequence[tuple[Any, float]], rng: np.random.Generator) -> Any:
    readings, values = zip(*examples, strict=True)
    return built(data).inputs(readings, rng), torch.tensor(values, dtype=torch.float32)


def logistic(right: Any, wrong: Any) -> Any:
    """Return the cross entropy of logits that should be true and of logits that should be false."""
    return (functional.softplus(-right).mean() + functional.softplus(wrong).mean()) / 2


def margin_ranking(right: Any, wrong: Any, margin: float) -> Any:
    """Return the mean of max(0, s(wrong) − s(right) + margin), where s is the sigmoid of the logit."""
    return (torch.sigmoid(wrong) - torch.sigmoid(right) + margin).clamp_min(0).mean()


def both_ways(logits: Any) -> Any:
    """Return the mean of the cross entropies by row and by column, where the diagonal is right: (B, B or more)."""
    diagonal = torch.arange(len(logits), device=logits.device)
    return (functional.cross_entropy(logits, diagonal)
            + functional.cross_entropy(logits[:, : len(logits)].T, diagonal)) / 2


def shares(batches: Iterable[Any], hits: Callable[[Any, Any], Mapping[str, Any]]) -> Callable[[Any], dict[str, float]]:
    """Return notes for a checkpoint's card: the share of hits in held-out batches, by name."""
    held = list(batches)

    def report(network: Any) -> dict[str, float]:
        device = next(network.parameters()).device
        with torch.inference_mode():
            parts = [hits(network, on_device(batch, device)) for batch in held]
        columns = {name: torch.cat([part[name] for part in parts]) for name in parts[0]}
        return {name: round(column.float().mean().item(), 4) for name, column in columns.items() if len(column)}

    return report
