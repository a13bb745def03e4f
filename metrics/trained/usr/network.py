"""USR's networks: retrieval by context, retrieval by facts, and a regression on the sub-scores."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn.functional import softplus

from metrics.trained.heads.losses import contrastive
from metrics.trained.heads.networks import Match


class FactMatch(Match):
    """Does the reply go with what is known: the log of the mean of e^logit over the facts (B, facts, 2 · width)."""

    def __init__(self, width: int, size: int = 48, dropout: float = 0.1) -> None:
        super().__init__(width, 1, size, dropout)

    def forward(self, facts: Any, reply: Any) -> Any:
        """The logit of each pair: (B,)."""
        several = reply.unsqueeze(1).expand(-1, facts.shape[1], -1).flatten(0, 1)  # (B · facts, 2 · width)
        logits = super().forward(facts.flatten(0, 1).unsqueeze(1), several).unflatten(0, facts.shape[:2])
        return log_mean_exp(logits, (facts != 0).any(-1), 1)

    def matrix(self, facts: Any, reply: Any) -> Any:
        """The logit of every row of facts with every reply: (B, B)."""
        logits = super().matrix(facts.flatten(0, 1).unsqueeze(1), reply).unflatten(0, facts.shape[:2])
        return log_mean_exp(logits, (facts != 0).any(-1).unsqueeze(-1), 1)


def log_mean_exp(values: Any, present: Any, axis: int) -> Any:
    """The log of the mean of e^value along an axis, over the present values; 0 without any."""
    masked = torch.where(present, values, torch.finfo(values.dtype).min)
    counts = present.sum(axis).clamp_min(1).to(values.dtype)
    return torch.where(present.any(axis), torch.logsumexp(masked, axis) - counts.log(), 0.0)


class Usr(nn.Module):  # type: ignore[misc]
    """USR's two retrieval models, and the regressions that make one score of the sub-scores, with facts and without."""

    def __init__(self, width: int, turns: int) -> None:
        super().__init__()
        self.context = Match(width, turns)
        self.fact = FactMatch(width)
        self.without_facts = nn.Linear(2, 1)
        self.with_facts = nn.Linear(3, 1)

    def forward(self, scores: Any) -> Any:
        """The logit that a reply is a true one, from (mlm, dr-c) or (mlm, dr-c, dr-f): (B, 2 or 3) to (B,)."""
        return (self.without_facts if scores.shape[-1] == 2 else self.with_facts)(scores).squeeze(-1)


def loss(network: Usr, batch: dict[str, Any]) -> Any:
    """The losses of both retrievals, and of the regressions on their scores."""
    total = (contrastive(network.context, (batch["context"], batch["reply"]))
             + contrastive(network.fact, (batch["facts"], batch["fact_reply"])))
    for column, (side, sign) in enumerate((("judged_true", -1), ("judged_false", 1))):
        with torch.no_grad():  # the regressions do not change the retrieval models
            scores = torch.stack([batch["likely"][:, column], network.context(batch["judged_context"], batch[side]),
                                  network.fact(batch["judged_facts"], batch[side])], dim=1)
        for logits in (network(scores), network(scores[:, :2])):
            total = total + softplus(sign * logits).mean()
    return total
