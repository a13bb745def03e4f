"""FineD-Eval's network: convolutions over the vectors of a dialogue's utterances, averaged; one logit a dimension.

A linear layer makes the vectors smaller. Beside each utterance stand its product with the one before it and the
pre-trained cosines with the two before it. Two convolutions over three utterances read these, so that a state knows two
utterances to either side and the ends of the dialogue. States are averaged over the utterances, as the paper averages
those of tokens, and a linear layer makes one logit a dimension. The loss ranks the better of two dialogues higher.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from metrics.trained.heads.networks import means, standard

DIMENSIONS = ("coherence", "likability", "topic-depth")
MARGIN = 0.1
BEFORE = 2
"""How far back cosines are taken."""


class DialogueReader(nn.Module):  # type: ignore[misc]
    """Dialogues as one vector each: the mean of the states of their utterances."""

    def __init__(self, width: int, size: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.down = nn.Linear(2 * width, size)
        self.first = nn.Linear(3 * (2 * size + BEFORE), hidden)
        self.second = nn.Linear(3 * hidden, hidden)
        self.dropout = nn.Dropout(dropout)

    def forward(self, dialogues: Any) -> Any:
        """From utterances (B, T, 2 · width), the first first, zeros behind the last: (B, hidden)."""
        present = (dialogues != 0).any(-1, keepdim=True)  # (B, T, 1)
        small = torch.tanh(self.down(standard(dialogues))) * present  # (B, T, size)
        product = small * earlier(small, 1) * small.shape[-1] ** 0.5
        units = means(dialogues)
        cosines = torch.stack([(units * earlier(units, back)).sum(-1) for back in range(1, BEFORE + 1)], -1)
        read = self.dropout(torch.cat([small, product, cosines], -1))  # (B, T, 2 · size + BEFORE)
        states = functional.gelu(self.first(beside(read))) * present  # (B, T, hidden)
        states = states + functional.gelu(self.second(beside(self.dropout(states)))) * present
        return states.sum(1) / present.sum(1).clamp_min(1)


def earlier(utterances: Any, back: int) -> Any:
    """At each place the utterance so many places before it, zeros at the beginning: (B, T, H)."""
    return functional.pad(utterances, (0, 0, back, 0))[:, : utterances.shape[1]]


def beside(utterances: Any) -> Any:
    """At each place the utterance before it, itself, and the one after it: (B, T, 3 · H)."""
    later = functional.pad(utterances, (0, 0, 0, 1))[:, 1:]
    return torch.cat([earlier(utterances, 1), utterances, later], -1)


class FinedEval(nn.Module):  # type: ignore[misc]
    """A logit for each dimension: from readers of their own, or, where `shared`, from one reader for all."""

    def __init__(self, width: int, shared: bool, size: int = 64, hidden: int = 64, dropout: float = 0.2) -> None:
        super().__init__()
        self.readers = nn.ModuleList(DialogueReader(width, size, hidden, dropout)
                                     for _ in range(1 if shared else len(DIMENSIONS)))
        self.heads = nn.ModuleList(nn.Linear(hidden, 1) for _ in DIMENSIONS)
        self.dropout = nn.Dropout(dropout)

    def dimension(self, place: int, dialogues: Any) -> Any:
        """The logit of one dimension: (B,)."""
        reader = self.readers[place % len(self.readers)]
        return self.heads[place](self.dropout(reader(dialogues))).squeeze(-1)

    def forward(self, dialogues: Any) -> Any:
        """The logits of all dimensions: (B, 3)."""
        return torch.stack([self.dimension(place, dialogues) for place in range(len(DIMENSIONS))], -1)


def preference(better: Any, worse: Any, margin: float = MARGIN) -> Any:
    """max(0, −(s₊ − s₋) + margin), the mean over pairs of scores."""
    return functional.relu(margin - (better - worse)).mean()


def loss(network: FinedEval, batch: Mapping[str, tuple[Any, Any]]) -> Any:
    """The sum over the dimensions of the mean over their pairs; every strategy has as many."""
    losses = []
    for place, name in enumerate(DIMENSIONS):
        pairs = [pair for strategy, pair in batch.items() if strategy.partition(":")[0] == name]
        losses.append(preference(*scores(network, place, *map(stacked, zip(*pairs, strict=True)))))
    return torch.stack(losses).sum()


def stacked(dialogues: Sequence[Any]) -> Any:
    """Batches of dialogues as one, zeros behind the last utterances: (ΣB, T, 2 · width)."""
    longest = max(batch.shape[1] for batch in dialogues)
    return torch.cat([functional.pad(batch, (0, 0, 0, longest - batch.shape[1])) for batch in dialogues])


def scores(network: FinedEval, place: int, better: Any, worse: Any) -> tuple[Any, Any]:
    """The scores, 0 to 1, of the better and the worse dialogues of a batch; both are read at once."""
    both = network.dimension(place, torch.cat([better, worse])).sigmoid()
    return both[: len(better)], both[len(better) :]


def accuracies(network: FinedEval, batches: Sequence[Mapping[str, tuple[Any, Any]]]) -> dict[str, float]:
    """The share of held-out pairs whose better dialogue has the higher score, by strategy."""
    device = next(network.parameters()).device
    shares = {}
    with torch.inference_mode():
        for strategy in batches[0]:
            place = DIMENSIONS.index(strategy.partition(":")[0])
            pairs = [scores(network, place, *(side.to(device) for side in batch[strategy])) for batch in batches]
            hits = torch.cat([better > worse for better, worse in pairs])
            shares[f"accuracy on held-out pairs, {strategy}"] = round(hits.float().mean().item(), 4)
    return shares
