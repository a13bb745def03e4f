"""DEB's network: a · match(c, r) + net([h(c) ∘ h(r) ; |h(c) − h(r)| ; cos(c_t, r)]) + b, and its loss."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import nn

from metrics.trained.heads.losses import contrastive, right_or_wrong
from metrics.trained.heads.networks import Match


class NextResponse(nn.Module):  # type: ignore[misc]
    """Does the response come next."""

    def __init__(self, width: int, turns: int, size: int = 128, hidden: int = 64, dropout: float = 0.3) -> None:
        super().__init__()
        self.match = Match(width, turns, size, dropout)
        self.scale = nn.Parameter(torch.tensor(0.5))
        self.layers = nn.Sequential(nn.Dropout(dropout), nn.Linear(2 * size + turns, hidden), nn.GELU(),
                                    nn.Linear(hidden, 1))

    def forward(self, context: Any, reply: Any) -> Any:
        """The logit of each pair: (B,)."""
        left, right = self.match.heads(context, reply)  # (B, size) each
        cosines = self.match.cosines(context, reply)  # (B, turns)
        matched = self.scale * self.match.joined(left, right, cosines)  # (B,)
        return matched + self.layers(torch.cat([left * right, (left - right).abs(), cosines], dim=-1)).squeeze(-1)


def loss(network: NextResponse, batch: Mapping[str, Any]) -> Any:
    """Finding the own reply among all, and classifying good and false replies, with equal weight."""
    return contrastive(network.match, batch["pairs"]) + right_or_wrong(network, batch["judged"])
