"""Training objectives for any architecture; they can be added: `retrieval(...) + contrast(...)`.

    contrast     score right inputs above wrong ones: cross entropy, or margin ranking if the recipe has a margin
    labelled     fit probabilities to labels from 0 to 1: cross entropy
    classified   fit classes, numbered from 0: cross entropy
    rated        fit scores to ratings: squared error
    retrieval    find the response to each context within the batch, and the context of each response

Training batches are drawn at random; held-out batches are drawn once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from torch.nn import functional

from metrics.errors import MetricError
from metrics.training.data import BATCH, Objective, Split, TrainingData, check_split
from metrics.training.examples import Contrast
from metrics.training.loop import on_device
from metrics.training.tuned import network_of

HELD_OUT_BATCHES = 8
INITIAL_EXAMPLES = 1_024
"""Number of examples from which a network is initialised."""


def total(data: TrainingData, examples: Split, network: Mapping[str, Any]) -> Objective:
    """Return the sum of the recipe's losses; `network` has further arguments of its architecture."""
    check_split("examples", *examples)
    network_of(data, **network)
    losses = {"contrast": contrast, "labelled": labelled, "classified": classified, "rated": rated,
              "retrieval": retrieval}
    first, *others = (losses[name](data, examples) for name in data.recipe.losses)
    return sum(others, first)


def contrast(data: TrainingData, examples: Split) -> Objective:
    """Separate right inputs from wrong ones; if `wrong` is None, use the response of the next example."""
    margin = data.recipe.margin
    if min(data.recipe.batch or BATCH, *map(len, examples)) < 2 and any(row.wrong is None for row in examples[0]):
        raise MetricError("false responses are taken from other examples: the batch, the training set and the held-out "
                          "set need at least 2 examples each")

    def batch(rows: Sequence[Contrast], rng: np.random.Generator) -> Any:
        following = [*rows[1:], rows[0]]
        wrong = [row.right._replace(response=next_row.right.response) if row.wrong is None else row.wrong
                 for row, next_row in zip(rows, following, strict=True)]
        sides = [network_of(data).inputs(readings, rng) for readings in ([row.right for row in rows], wrong)]
        return sides, torch.tensor([[row.output] for row in rows])

    def logits(network: Any, batch: Any) -> tuple[Any, Any]:
        sides, outputs = batch
        right, wrong = (network(*side) for side in sides)
        if right.ndim > 1:
            right, wrong = (side.gather(1, outputs)[:, 0] for side in (right, wrong))
        return right, wrong

    def loss(network: Any, batch: Any) -> Any:
        right, wrong = logits(network, batch)
        ranking_loss = margin_ranking(right, wrong, margin) if margin else logistic(right, wrong)
        return ranking_loss + network.extra_loss()

    def hits(network: Any, batch: Any) -> Mapping[str, Any]:
        right, wrong = logits(network, batch)
        return {"right inputs above 0.5": right > 0, "wrong inputs below 0.5": wrong < 0,
                "pairs in order": right > wrong}

    return objective(data, examples, batch, loss, hits, lambda row: [row.right] + [row.wrong] * (row.wrong is not None))


def labelled(data: TrainingData, examples: Split) -> Objective:
    return _valued(data, examples, functional.binary_cross_entropy_with_logits,
                   lambda logits, labels: {"accuracy at 0.5": (logits > 0) == (labels > 0.5)})


def classified(data: TrainingData, examples: Split) -> Objective:
    return _valued(data, examples, lambda logits, classes: functional.cross_entropy(logits, classes.long()),
                   lambda logits, classes: {"accuracy": logits.argmax(-1) == classes})


def rated(data: TrainingData, examples: Split) -> Objective:
    """Return the objective of fitting scores to ratings, with the network initialised from a sample of examples."""
    network, rng, (training, _) = network_of(data), data.rng, examples
    sample = [training[row][0] for row in rng.permutation(len(training))[:INITIAL_EXAMPLES]]
    network.prepare(sample)
    network.config.update(network.network.begin(*network.inputs(sample, rng)))
    return _valued(data, examples, functional.mse_loss, lambda scores, ratings: {})


def _valued(data: TrainingData, examples: Split, loss_function: Callable[[Any, Any], Any],
            hits: Callable[[Any, Any], Mapping[str, Any]]) -> Objective:
    """Return the objective of fitting logits to values; an example is an input with its value."""
    def batch(rows: Sequence[tuple[Any, float]], rng: np.random.Generator) -> Any:
        readings, values = zip(*rows, strict=True)
        return network_of(data).inputs(readings, rng), torch.tensor(values, dtype=torch.float32)

    def loss(network: Any, batch: Any) -> Any:
        inputs, values = batch
        return loss_function(network(*inputs), values) + network.extra_loss()

    return objective(data, examples, batch, loss, lambda network, batch: hits(network(*batch[0]), batch[1]),
                     lambda row: row[:1])


def retrieval(data: TrainingData, examples: Split, size: int = 0) -> Objective:
    if (size or data.recipe.batch or BATCH) < 2:
        raise MetricError("batch=1: must be at least 2 to find responses within a batch")

    def batch(rows: Sequence[Contrast], rng: np.random.Generator) -> Any:
        return network_of(data).inputs([row.right for row in rows], rng)

    return objective(data, examples, batch, lambda network, batch: symmetric_cross_entropy(network.matrix(*batch)),
                     lambda network, batch: {"responses found": on_diagonal(network.matrix(*batch))},
                     lambda row: [row.right], size)


def objective(data: TrainingData, examples: Split, batch: Callable[[Sequence[Any], np.random.Generator], Any],
              loss: Callable[[Any, Any], Any], hits: Callable[[Any, Any], Mapping[str, Any]],
              readings: Callable[[Any], Iterable[Any]], size: int = 0) -> Objective:
    """Return an objective over batches of `size` examples, by default the recipe's batch size.

    `readings` returns the network's inputs in an example. The card records the share of `hits` in held-out batches.
    """
    check_split("examples", *examples)
    network, rng, size = network_of(data), data.rng, size or data.recipe.batch or BATCH
    training, held_out = examples
    network.prepare([reading for row in (*training, *held_out) for reading in readings(row)])

    def draw(rows: Sequence[Any], rng: np.random.Generator) -> Any:
        return batch([rows[row] for row in rng.integers(len(rows), size=size)], rng)

    batches = [draw(held_out, rng) for _ in range(HELD_OUT_BATCHES)]
    report = hit_rates(batches, hits)
    return Objective(network.network, network.config, lambda rng: draw(training, rng), batches, loss,
                     lambda network: {**data.notes, **report(network)}, len(training))


def logistic(right: Any, wrong: Any) -> Any:
    """Return the mean cross entropy of logits that should be high and of logits that should be low."""
    return (functional.softplus(-right).mean() + functional.softplus(wrong).mean()) / 2


def margin_ranking(right: Any, wrong: Any, margin: float) -> Any:
    """Return the mean of max(0, s(wrong) − s(right) + margin), where s is the sigmoid of the logit."""
    return (torch.sigmoid(wrong) - torch.sigmoid(right) + margin).clamp_min(0).mean()


def symmetric_cross_entropy(logits: Any) -> Any:
    """Return the mean of the row-wise and column-wise cross entropy; the diagonal of (B, B or more) is correct."""
    diagonal = torch.arange(len(logits), device=logits.device)
    return (functional.cross_entropy(logits, diagonal)
            + functional.cross_entropy(logits[:, : len(logits)].T, diagonal)) / 2


def on_diagonal(logits: Any) -> Any:
    """Return for each row of (B, B or more) whether its largest logit is on the diagonal."""
    return logits.argmax(1) == torch.arange(len(logits), device=logits.device)


def hit_rates(batches: Sequence[Any],
              hits: Callable[[Any, Any], Mapping[str, Any]]) -> Callable[[Any], dict[str, float]]:
    """Return a function that computes the share of hits in held-out batches, by name."""
    def report(network: Any) -> dict[str, float]:
        device = next(network.parameters()).device
        with torch.inference_mode():
            parts = [hits(network, on_device(batch, device)) for batch in batches]
        columns = {name: torch.cat([part[name] for part in parts]) for name in parts[0]}
        return {name: round(column.float().mean().item(), 4) for name, column in columns.items() if len(column)}

    return report
