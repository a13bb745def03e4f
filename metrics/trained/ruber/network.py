"""RUBER's network: two-way GRUs over the words of context and response, q and r; [q ; r ; qᵀMr] into a net."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn
from torch.nn import functional

MARGIN = 0.5


class Recurrent(nn.Module):  # type: ignore[misc]
    """RUBER's unreferenced part: GRUs read the context and the response, [q ; r ; qᵀMr] into a net, a sigmoid.

    Words are frozen input embeddings of the encoder (B, T, width), brought to a smaller size; `lengths` (B,) are ≥ 1.
    """

    def __init__(self, width: int, size: int = 128, hidden: int = 64, layers: int = 1, dropout: float = 0.1) -> None:
        super().__init__()
        self.down = nn.Linear(width, size)
        self.context, self.reply = (nn.ModuleList(
            nn.GRU(size, hidden, layers, batch_first=True, dropout=dropout if layers > 1 else 0.0)
            for _ in ("forwards", "backwards")) for _ in ("context", "reply"))
        for name, weight in (*self.context.named_parameters(), *self.reply.named_parameters()):
            if "weight" in name:  # the default loses the input in the biases, above all in a second layer
                nn.init.orthogonal_(weight)
            else:
                nn.init.zeros_(weight)
        self.bilinear = nn.Linear(2 * hidden, 2 * hidden, bias=False)
        nn.init.eye_(self.bilinear.weight)
        self.scale = nn.LayerNorm(2 * hidden)  # initial states are too small for a hinge behind a sigmoid
        self.layers = nn.Sequential(nn.Dropout(dropout), nn.Linear(4 * hidden + 1, 2 * hidden), nn.Tanh(),
                                    nn.Linear(2 * hidden, 1))

    def read(self, readers: Any, words: Any, lengths: Any) -> Any:
        """The last states of both directions: (B, 2 · hidden)."""
        small = torch.tanh(self.down(functional.layer_norm(words, words.shape[-1:])))  # (B, T, size)
        last = lengths.unsqueeze(1) - 1
        places = torch.arange(words.shape[1], device=words.device)
        turned = torch.where(places <= last, last - places, places)  # each row from its end to its beginning
        backwards = small.gather(1, turned.unsqueeze(-1).expand_as(small))
        rows = torch.arange(len(words), device=words.device)
        return self.scale(torch.cat([reader(read)[0][rows, last[:, 0]]
                                     for reader, read in zip(readers, (small, backwards), strict=True)], dim=-1))

    def related(self, query: Any, reply: Any) -> Any:
        """The logit of pairs of states: (B,)."""
        bilinear = (self.bilinear(query) * reply).sum(-1, keepdim=True) / query.shape[-1] ** 0.5
        return self.layers(torch.cat([query, reply, bilinear], dim=-1)).squeeze(-1)

    def forward(self, context: Any, context_lengths: Any, reply: Any, reply_lengths: Any) -> Any:
        """The logit of each pair: (B,)."""
        return self.related(self.read(self.context, context, context_lengths),
                            self.read(self.reply, reply, reply_lengths))


def hinge(network: Recurrent, batch: tuple[Any, Any, Any, Any]) -> Any:
    """max(0, margin − s(true) + s(false)), where s is the sigmoid; the false reply is that of another pair."""
    context, lengths, reply, reply_lengths = batch
    left = network.read(network.context, context, lengths)
    right = network.read(network.reply, reply, reply_lengths)
    true, false = (torch.sigmoid(network.related(left, states)) for states in (right, right.roll(1, 0)))
    return (MARGIN - true + false).clamp_min(0).mean()
