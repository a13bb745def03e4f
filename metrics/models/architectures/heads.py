"""Heads for pairs of context and response, on the vectors of a frozen encoder that encodes each text separately.

An utterance is (B, 2 · width), the mean and the maximum of its token states, concatenated. A context is
(B, turns, 2 · width), the last utterance first. A missing utterance is all zeros, even after `standardised`.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from metrics.models.architectures.base import Architecture
from metrics.models.text_table import TextTable, padded
from metrics.models.tokens import Pair, non_blank

TURNS = 3
"""Number of last utterances of a context that most heads use."""


def standardised(vectors: Any) -> Any:
    """Standardise the mean and the maximum, so that all encoders have the same scale."""
    halves = vectors.unflatten(-1, (2, -1))
    return functional.layer_norm(halves, halves.shape[-1:]).flatten(-2)


def means(vectors: Any) -> Any:
    """Return the mean of the token states as a unit vector."""
    return functional.normalize(vectors[..., : vectors.shape[-1] // 2], dim=-1)


def cosines(context: Any, reply: Any) -> Any:
    """Return the encoder's cosines of a reply with each utterance of its context: (B, turns)."""
    return torch.einsum("btw,bw->bt", means(context), means(reply))


def last_turns(texts: Iterable[str], turns: int = TURNS) -> list[str]:
    """Return the last texts that are not blank, the latest first, padded with empty strings."""
    latest = non_blank(texts)[: -turns - 1 : -1]
    return [*latest, *[""] * (turns - len(latest))]


class PairHead(Architecture):
    """A head on context and response; with `whole`, the utterances of a context are joined into one text."""

    turns = TURNS
    whole = False

    def context_texts(self, pair: Pair) -> list[str]:
        """Return the texts of the context that the head uses."""
        return [" ".join(pair.context)] if self.whole else last_turns(pair.context, self.turns)

    def texts(self, reading: Pair) -> Iterable[str]:
        return [*self.context_texts(reading), reading.response]

    def inputs(self, readings: Sequence[Pair], table: TextTable) -> tuple[Any, ...]:
        contexts = padded([table.rows(self.context_texts(pair)) for pair in readings])
        return table.tensor(contexts), table.tensor(table.rows(pair.response for pair in readings))


class Match(PairHead, name="match"):
    """h(c) · h(r) / √size + Σ_t w_t · cos(c_t, r) + b, where h(c) is linear in the utterances of the context."""

    def __init__(self, width: int, turns: int = TURNS, size: int = 64, dropout: float = 0.1) -> None:
        super().__init__()
        self.turns = turns
        self.context = nn.Linear(2 * turns * width, size)
        self.reply = nn.Linear(2 * width, size)
        self.alike = nn.Parameter(torch.tensor([5.0] + [1.0] * (turns - 1)))
        self.bias = nn.Parameter(torch.zeros(()))
        self.dropout = nn.Dropout(dropout)

    def heads(self, context: Any, reply: Any) -> tuple[Any, Any]:
        """Project context and reply into a common space: (B, size) each."""
        return (self.context(self.dropout(standardised(context)).flatten(-2)) / self.context.out_features ** 0.5,
                self.reply(self.dropout(standardised(reply))))

    def forward(self, context: Any, reply: Any) -> Any:
        return self.combine(*self.heads(context, reply), cosines(context, reply))

    def combine(self, left: Any, right: Any, cosines: Any) -> Any:
        """Return the logits of projected contexts and replies."""
        return (left * right).sum(-1) + cosines @ self.alike + self.bias

    def matrix(self, context: Any, reply: Any) -> Any:
        """Return the logits of every context with every reply: (B, B)."""
        left, right = self.heads(context, reply)
        return left @ right.T + torch.einsum("btw,kw->bkt", means(context), means(reply)) @ self.alike + self.bias


class CalibratedMatch(Match, name="calibrated-match"):
    """A match, scaled so that its sigmoid is the probability of a true reply if half of all replies are true."""

    def __init__(self, width: int, **sizes: Any) -> None:
        super().__init__(width, **sizes)
        self.scale = nn.Parameter(torch.ones(()))
        self.shift = nn.Parameter(torch.zeros(()))

    def forward(self, context: Any, reply: Any) -> Any:
        return self.scale * super().forward(context, reply).detach() + self.shift


class FactMatch(Match, name="fact-match"):
    """A match of the response with each fact in the pair's context, combined by log-mean-exp."""

    def __init__(self, width: int, size: int = 48, dropout: float = 0.1) -> None:
        super().__init__(width, 1, size, dropout)

    def context_texts(self, pair: Pair) -> list[str]:
        return list(pair.context)

    def forward(self, facts: Any, reply: Any) -> Any:
        repeated = reply.unsqueeze(1).expand(-1, facts.shape[1], -1).flatten(0, 1)  # (B · facts, 2 · width)
        logits = super().forward(facts.flatten(0, 1).unsqueeze(1), repeated).unflatten(0, facts.shape[:2])
        return log_mean_exp(logits, (facts != 0).any(-1))

    def matrix(self, facts: Any, reply: Any) -> Any:
        logits = super().matrix(facts.flatten(0, 1).unsqueeze(1), reply).unflatten(0, facts.shape[:2])
        return log_mean_exp(logits, (facts != 0).any(-1).unsqueeze(-1))


def log_mean_exp(values: Any, present: Any) -> Any:
    """Return log mean e^value along the second axis, over the present values; 0 if none is present."""
    masked = torch.where(present, values, torch.finfo(values.dtype).min)
    counts = present.sum(1).clamp_min(1).to(values.dtype)
    return torch.where(present.any(1), torch.logsumexp(masked, 1) - counts.log(), 0.0)


class NextResponse(PairHead, name="next-response"):
    """A match, plus a network with one hidden layer on the two projections and the cosines."""

    def __init__(self, width: int, turns: int = TURNS, size: int = 128, hidden: int = 64, dropout: float = 0.3) -> None:
        super().__init__()
        self.turns = turns
        self.match = Match(width, turns, size, dropout)
        self.scale = nn.Parameter(torch.tensor(0.5))
        self.layers = nn.Sequential(nn.Dropout(dropout), nn.Linear(2 * size + turns, hidden), nn.GELU(),
                                    nn.Linear(hidden, 1))

    def forward(self, context: Any, reply: Any) -> Any:
        left, right = self.match.heads(context, reply)  # (B, size) each
        similarity = cosines(context, reply)  # (B, turns)
        match_logits = self.scale * self.match.combine(left, right, similarity)  # (B,)
        features = torch.cat([left * right, (left - right).abs(), similarity], dim=-1)
        return match_logits + self.layers(features).squeeze(-1)

    def matrix(self, context: Any, reply: Any) -> Any:
        return self.match.matrix(context, reply)


class Relatedness(PairHead, name="relatedness"):
    """BERT-RUBER's unreferenced part: a network with one hidden layer on [q ; r ; qᵀMr ; cos(c_t, r)].

    q is a weighted sum of the context's utterances; M has rank `rank`.
    """

    def __init__(self, width: int, turns: int = TURNS, rank: int = 32, hidden: int = 128, dropout: float = 0.2) -> None:
        super().__init__()
        self.turns = turns
        self.weights = nn.Parameter(0.5 ** torch.arange(turns, dtype=torch.float32))
        self.left = nn.Linear(2 * width, rank, bias=False)
        self.right = nn.Linear(2 * width, rank, bias=False)
        self.layers = nn.Sequential(nn.Linear(4 * width + 1 + turns, hidden), nn.ReLU(), nn.Dropout(dropout),
                                    nn.Linear(hidden, 1))
        self.dropout = nn.Dropout(dropout)

    def forward(self, context: Any, reply: Any) -> Any:
        query = self.dropout(torch.einsum("btw,t->bw", standardised(context), self.weights))
        answer = self.dropout(standardised(reply))
        bilinear = (self.left(query) * self.right(answer)).sum(-1, keepdim=True) / self.left.out_features ** 0.5
        return self.layers(torch.cat([query, answer, bilinear, cosines(context, reply)], dim=-1)).squeeze(-1)


class Stack(PairHead, name="stack"):
    """BERT+DNN: three layers on [v_c ; v_r], the maxima of the token states of context and response."""

    def __init__(self, width: int, hidden: int = 256, second: int = 128, dropout: float = 0.2) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Dropout(dropout), nn.Linear(2 * width, hidden), nn.ReLU(), nn.Dropout(dropout),
            nn.Linear(hidden, second), nn.ReLU(), nn.Linear(second, 1))

    def forward(self, context: Any, reply: Any) -> Any:
        width = reply.shape[-1] // 2
        maxima = context[..., width:]  # (B, turns, width)
        present = (maxima != 0).any(-1, keepdim=True)
        maximum = maxima.masked_fill(~present, -torch.inf).amax(-2).where(present.any(-2), 0.0)  # of all turns' tokens
        normalised = functional.layer_norm(torch.stack([maximum, reply[..., width:]], -2), (width,))
        return self.layers(normalised.flatten(-2)).squeeze(-1)


class Layers(PairHead, name="layers"):
    """Layers of 256, 512 and 128 units on the maximum states of context q and reply r.

    With `bilinear` (BERT-RUBER): [q ; r ; qᵀMr], where q is the last utterance, and ReLU. Without it (BERT+DNN):
    [q ; r], where q is the whole context, and tanh.
    """

    turns = 1

    def __init__(self, width: int, bilinear: bool, first: int = 256, second: int = 512, third: int = 128,
                 dropout: float = 0.1) -> None:
        super().__init__()
        self.whole = not bilinear
        self.bilinear = nn.Parameter(torch.randn(width, width) / width) if bilinear else None
        sizes, activation = (2 * width + bilinear, first, second, third), nn.ReLU if bilinear else nn.Tanh
        self.layers = nn.Sequential(
            *(layer for inputs, outputs in itertools.pairwise(sizes)
              for layer in (nn.Linear(inputs, outputs), activation(), nn.Dropout(dropout))), nn.Linear(third, 1))

    def forward(self, context: Any, reply: Any) -> Any:
        width = reply.shape[-1] // 2
        query, answer = context[:, 0, width:], reply[:, width:]
        features = [query, answer]
        if self.bilinear is not None:
            features.append(((query @ self.bilinear) * answer).sum(-1, keepdim=True))
        return self.layers(torch.cat(features, dim=-1)).squeeze(-1)


class Likeness(PairHead, name="likeness"):
    """A network on [g ; r ; |g − r| ; g ∘ r ; cosine] of the projected reference (the context) and response."""

    turns = 1

    def __init__(self, width: int, size: int = 96, hidden: int = 96, dropout: float = 0.2, outputs: int = 1,
                 activation: Callable[[], nn.Module] = nn.ReLU) -> None:
        super().__init__()
        self.outputs = outputs
        self.down = nn.Linear(2 * width, size)
        self.layers = nn.Sequential(nn.Linear(4 * size + 1, hidden), activation(), nn.Dropout(dropout),
                                    nn.Linear(hidden, outputs))
        self.dropout = nn.Dropout(dropout)

    def forward(self, reference: Any, reply: Any) -> Any:
        reference = reference[:, 0]
        g, r = (torch.tanh(self.down(self.dropout(standardised(side)))) for side in (reference, reply))
        cosine = (means(reference) * means(reply)).sum(-1, keepdim=True)
        return self.layers(torch.cat([g, r, (g - r).abs(), g * r, cosine], dim=-1)).squeeze(-1)


class Adem(PairHead, name="adem"):
    """(cᵀMr + gᵀNr − α) / β on mean vectors that a frozen projection reduces to `size` dimensions.

    `penalty` weighs the squares of M and N in the training loss.
    """

    centre: torch.Tensor
    axes: torch.Tensor

    def __init__(self, width: int, size: int = 50, alpha: float = 0.0, beta: float = 1.0, whole: bool = False,
                 penalty: float = 0.0) -> None:
        super().__init__()
        self.alpha, self.beta, self.whole, self.penalty = alpha, beta, whole, penalty
        self.register_buffer("centre", torch.zeros(width))
        self.register_buffer("axes", torch.eye(width, size))
        self.with_context = nn.Parameter(torch.eye(size))
        self.with_reference = nn.Parameter(torch.eye(size))

    def texts(self, reading: Pair) -> Iterable[str]:
        return [*super().texts(reading), reading.reference]

    def inputs(self, readings: Sequence[Pair], table: TextTable) -> tuple[Any, ...]:
        context, response = super().inputs(readings, table)
        return context, table.tensor(table.rows(pair.reference for pair in readings)), response

    def begin(self, *inputs: Any) -> dict[str, Any]:
        """Project onto the principal components of references and replies; scale initial scores to about 1 to 5."""
        context, reference, reply = inputs
        vectors = means(torch.cat([reference, reply]))
        size = min(self.axes.shape[1], *vectors.shape)
        self.centre, self.alpha, self.beta = vectors.mean(0), 0.0, 1.0
        self.axes = torch.linalg.svd(vectors - self.centre, full_matrices=False).Vh[:size].T.contiguous()
        self.with_context, self.with_reference = nn.Parameter(torch.eye(size)), nn.Parameter(torch.eye(size))
        with torch.no_grad():
            raw = torch.cat([self(context, reference, reply), self(context, reference, reply.roll(1, 0))])
        low, high = torch.quantile(raw, torch.tensor([0.05, 0.95])).tolist()
        self.beta = max((high - low) / 4, 1e-6)
        self.alpha = low - self.beta
        return {"size": size, "alpha": self.alpha, "beta": self.beta}

    def forward(self, context: Any, reference: Any, reply: Any) -> Any:
        weights = 0.5 ** torch.arange(context.shape[-2], dtype=context.dtype, device=context.device)
        weighted = torch.einsum("btw,t->bw", context, weights)  # each utterance counts half as much as the next
        c, g, r = ((means(vectors) - self.centre) @ self.axes for vectors in (weighted, reference, reply))  # (B, size)
        return (((c @ self.with_context + g @ self.with_reference) * r).sum(-1) - self.alpha) / self.beta

    def extra_loss(self) -> Any:
        squares = self.with_context.square().sum() + self.with_reference.square().sum()
        return self.penalty * squares if self.training else 0.0
