"""What the objectives on pairs make small; a false reply is that of another pair of the same batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch.nn import functional


def contrastive(network: Any, batch: tuple[Any, Any]) -> Any:
    """Of all replies of the batch the own one, and of all contexts: the mean of both cross entropies."""
    logits = network.matrix(*batch)
    own = torch.arange(len(logits), device=logits.device)
    return (functional.cross_entropy(logits, own) + functional.cross_entropy(logits.T, own)) / 2


def true_or_false(network: Any, batch: tuple[Any, Any], negatives: int = 1) -> Any:
    """The cross entropy of telling each pair from the same contexts with the replies of others."""
    context, reply = batch
    right = network(context, reply)
    wrong = torch.stack([network(context, reply.roll(shift, 0)) for shift in range(1, negatives + 1)])
    return (functional.softplus(-right).mean() + functional.softplus(wrong).mean()) / 2


def labelled(network: Any, batch: tuple[Any, ...]) -> Any:
    """The cross entropy against labels from 0 to 1, the last of the batch."""
    *vectors, labels = batch
    return functional.binary_cross_entropy_with_logits(network(*vectors), labels)


def accuracy(batches: Iterable[tuple[Any, Any]]) -> Callable[[Any], Mapping[str, float]]:
    """How often a true reply, and a false one, of what is held out is known as such at 0.5."""
    kept = list(batches)

    def told(network: Any) -> Mapping[str, float]:
        device = next(network.parameters()).device
        with torch.inference_mode():
            read = [tuple(part.to(device) for part in batch) for batch in kept]
            right = torch.cat([network(context, reply) > 0 for context, reply in read]).float().mean()
            wrong = torch.cat([network(context, reply.roll(1, 0)) < 0 for context, reply in read]).float().mean()
        return {"accuracy on held-out replies": round(right.item(), 4),
                "accuracy on random replies": round(wrong.item(), 4)}

    return told


def accuracy_labelled(batches: Iterable[tuple[Any, ...]]) -> Callable[[Any], Mapping[str, float]]:
    """How often what is held out is on the side of 0.5 where its label is."""
    kept = list(batches)

    def told(network: Any) -> Mapping[str, float]:
        device = next(network.parameters()).device
        with torch.inference_mode():
            hits = [(network(*(part.to(device) for part in vectors)) > 0) == (labels.to(device) > 0.5)
                    for *vectors, labels in kept]
        return {"accuracy on what is held out": round(torch.cat(hits).float().mean().item(), 4)}

    return told


def five_or_one(network: Any, batch: tuple[Any, Any, Any]) -> Any:
    """The square error against 5 for a good reply and 1 for another's."""
    context, reference, reply = batch
    right, wrong = network(context, reference, reply), network(context, reference, reply.roll(1, 0))
    return ((right - 5).square().mean() + (wrong - 1).square().mean()) / 2


def told_apart(network: Any, batch: tuple[Any, Any, Any]) -> Any:
    """The cross entropy of telling a true reply from a false one, both drawn with their context."""
    context, right, wrong = batch
    return (functional.softplus(-network(context, right)).mean()
            + functional.softplus(network(context, wrong)).mean()) / 2
