"""The losses of the heads, and their accuracy on held-out data. A false reply is that of another pair of the batch."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch
from torch.nn import functional

from metrics.training.loop import on_device


def contrastive(network: Any, batch: tuple[Any, Any]) -> Any:
    """Finding the own reply among all of the batch, and the own context: the mean of both cross entropies."""
    return both_ways(network.matrix(*batch))


def both_ways(logits: Any) -> Any:
    """The mean of the cross entropies by row and by column, where the diagonal is right: (B, B), or (B, B and more)."""
    own = torch.arange(len(logits), device=logits.device)
    return (functional.cross_entropy(logits, own) + functional.cross_entropy(logits[:, : len(logits)].T, own)) / 2


def logistic(right: Any, wrong: Any) -> Any:
    """The cross entropy of logits that should be true and of such that should be false."""
    return (functional.softplus(-right).mean() + functional.softplus(wrong).mean()) / 2


def margin_ranking(right: Any, wrong: Any, margin: float) -> Any:
    """max(0, s(wrong) − s(right) + margin), where s is the sigmoid of the logit; the mean."""
    return (torch.sigmoid(wrong) - torch.sigmoid(right) + margin).clamp_min(0).mean()


def right_or_wrong(network: Any, batch: tuple[Any, Any, Any]) -> Any:
    """The cross entropy of a true reply (label 1) and a false one (label 0) to each context."""
    context, right, wrong = batch
    return logistic(network(context, right), network(context, wrong))


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


def near_ratings(network: Any, batch: tuple[Any, Any, Any, Any], penalty: float = 0.01) -> Any:
    """ADEM: the square error against ratings and, in training, the squares of what M and N hold."""
    *vectors, ratings = batch
    error = (network(*vectors) - ratings).square().mean()
    size = network.with_context.square().sum() + network.with_reference.square().sum()
    return error + penalty * size if network.training else error


def shares(batches: Iterable[Any], hits: Callable[[Any, Any], Mapping[str, Any]]) -> Callable[[Any], dict[str, float]]:
    """Notes for a checkpoint's card: the share of hits in held-out batches, by name."""
    held = list(batches)

    def report(network: Any) -> dict[str, float]:
        device = next(network.parameters()).device
        with torch.inference_mode():
            parts = [hits(network, on_device(batch, device)) for batch in held]
        every = {name: torch.cat([part[name] for part in parts]) for name in parts[0]}
        return {name: round(several.float().mean().item(), 4) for name, several in every.items() if len(several)}

    return report


def accuracy(batches: Iterable[tuple[Any, Any, Any]], false: str = "random") -> Callable[[Any], dict[str, float]]:
    """The shares of true replies with a probability above 0.5, and of false ones with one below."""
    return shares(batches, lambda network, batch: {
        "accuracy on held-out replies": network(batch[0], batch[1]) > 0,
        f"accuracy on {false} replies": network(batch[0], batch[2]) < 0})


def deb_loss(network: Any, batch: Mapping[str, Any]) -> Any:
    """DEB: finding the own reply among all, and classifying good and false replies, with equal weight."""
    return contrastive(network.match, batch["pairs"]) + right_or_wrong(network, batch["judged"])


def usr_loss(network: Any, batch: dict[str, Any]) -> Any:
    """USR: the losses of both retrievals, and of the regressions on their scores."""
    total = (contrastive(network.context, (batch["context"], batch["reply"]))
             + contrastive(network.fact, (batch["facts"], batch["fact_reply"])))
    for column, (side, sign) in enumerate((("judged_true", -1), ("judged_false", 1))):
        with torch.no_grad():  # the regressions do not change the retrieval models
            scores = torch.stack([batch["likely"][:, column], network.context(batch["judged_context"], batch[side]),
                                  network.fact(batch["judged_facts"], batch[side])], dim=1)
        for logits in (network(scores), network(scores[:, :2])):
            total = total + functional.softplus(sign * logits).mean()
    return total


def hinge(network: Any, batch: tuple[Any, Any, Any, Any], margin: float = 0.5) -> Any:
    """RUBER: max(0, margin − s(true) + s(false)), where s is the sigmoid; the false reply is that of another pair."""
    context, lengths, reply, reply_lengths = batch
    left = network.read(network.context, context, lengths)
    right = network.read(network.reply, reply, reply_lengths)
    return margin_ranking(network.related(left, right), network.related(left, right.roll(1, 0)), margin)
