"""The losses of the heads, and their accuracy on held-out data. A false reply is that of another pair of the batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch.nn import functional


def contrastive(network: Any, batch: tuple[Any, Any]) -> Any:
    """Finding the own reply among all of the batch, and the own context: the mean of both cross entropies."""
    logits = network.matrix(*batch)  # (B, B)
    own = torch.arange(len(logits), device=logits.device)
    return (functional.cross_entropy(logits, own) + functional.cross_entropy(logits.T, own)) / 2


def right_or_wrong(network: Any, batch: tuple[Any, Any, Any]) -> Any:
    """The cross entropy of a true reply (label 1) and a false one (label 0) to each context."""
    context, right, wrong = batch
    return (functional.softplus(-network(context, right)).mean()
            + functional.softplus(network(context, wrong)).mean()) / 2


def true_or_false(network: Any, batch: tuple[Any, Any]) -> Any:
    """The same with the reply of another pair as the false one."""
    return right_or_wrong(network, with_false(batch))


def with_false(batch: tuple[Any, Any]) -> tuple[Any, Any, Any]:
    """Contexts, their replies, and the replies of others."""
    context, reply = batch
    return context, reply, reply.roll(1, 0)


def labelled(network: Any, batch: tuple[Any, ...]) -> Any:
    """The cross entropy against labels from 0 to 1, the last of the batch."""
    *vectors, labels = batch
    return functional.binary_cross_entropy_with_logits(network(*vectors), labels)


def five_or_one(network: Any, batch: tuple[Any, Any, Any]) -> Any:
    """The square error against 5 for a good reply and 1 for another's."""
    context, reference, reply = batch
    right, wrong = network(context, reference, reply), network(context, reference, reply.roll(1, 0))
    return ((right - 5).square().mean() + (wrong - 1).square().mean()) / 2


def accuracy(batches: Iterable[tuple[Any, Any, Any]], false: str = "random") -> Callable[[Any], Mapping[str, float]]:
    """The shares of true replies with a probability above 0.5, and of false ones with one below."""
    held = list(batches)

    def report(network: Any) -> Mapping[str, float]:
        device = next(network.parameters()).device
        with torch.inference_mode():
            read = [tuple(part.to(device) for part in batch) for batch in held]
            right = torch.cat([network(context, true) > 0 for context, true, _ in read]).float().mean()
            wrong = torch.cat([network(context, other) < 0 for context, _, other in read]).float().mean()
        return {"accuracy on held-out replies": round(right.item(), 4),
                f"accuracy on {false} replies": round(wrong.item(), 4)}

    return report


def accuracy_labelled(batches: Iterable[tuple[Any, ...]]) -> Callable[[Any], Mapping[str, float]]:
    """The share of held-out texts on the same side of 0.5 as their label."""
    held = list(batches)

    def report(network: Any) -> Mapping[str, float]:
        device = next(network.parameters()).device
        with torch.inference_mode():
            hits = [(network(*(part.to(device) for part in vectors)) > 0) == (labels.to(device) > 0.5)
                    for *vectors, labels in held]
        return {"accuracy on what is held out": round(torch.cat(hits).float().mean().item(), 4)}

    return report
