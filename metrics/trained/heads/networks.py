"""Small networks on pooled vectors of utterances, the heads of the metrics on a frozen encoder.

An utterance is (B, 2 · width): the mean and the maximum of its token states, side by side; a context is
(B, turns, 2 · width), the last utterance first. A missing utterance is zeros, and stays zeros when standardised.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional

from metrics.training.tuned import Classifier


def standard(vectors: Any) -> Any:
    """Each of the two halves brought to mean 0 and variance 1, so that every encoder has the same scale."""
    halves = vectors.unflatten(-1, (2, -1))
    return functional.layer_norm(halves, halves.shape[-1:]).flatten(-2)


def means(vectors: Any) -> Any:
    """The mean of the token states as a unit vector, for cosines."""
    return functional.normalize(vectors[..., : vectors.shape[-1] // 2], dim=-1)


class Match(nn.Module):
    """Does the reply belong to the context: h(c) · h(r) / √size + Σ_t w_t · cos(c_t, r) + b.

    h(c) is linear in the utterances of the context, each with weights of its own; the cosines are those of the
    pre-trained vectors.
    """

    def __init__(self, width: int, turns: int, size: int = 64, dropout: float = 0.1) -> None:
        super().__init__()
        self.context = nn.Linear(2 * turns * width, size)
        self.reply = nn.Linear(2 * width, size)
        self.alike = nn.Parameter(torch.tensor([5.0] + [1.0] * (turns - 1)))
        self.bias = nn.Parameter(torch.zeros(()))
        self.dropout = nn.Dropout(dropout)

    def heads(self, context: Any, reply: Any) -> tuple[Any, Any]:
        """Both sides in the space where they are compared: (B, size) each."""
        return (self.context(self.dropout(standard(context)).flatten(-2)) / self.context.out_features ** 0.5,
                self.reply(self.dropout(standard(reply))))

    def forward(self, context: Any, reply: Any) -> Any:
        """The logit of each pair: (B,)."""
        return self.joined(*self.heads(context, reply), self.cosines(context, reply))

    def cosines(self, context: Any, reply: Any) -> Any:
        """The pre-trained cosines of a reply with each utterance before it: (B, turns)."""
        return torch.einsum("btw,bw->bt", means(context), means(reply))

    def joined(self, left: Any, right: Any, cosines: Any) -> Any:
        """The logit of both sides and their cosines: (B,)."""
        return (left * right).sum(-1) + cosines @ self.alike + self.bias

    def matrix(self, context: Any, reply: Any) -> Any:
        """The logit of every context with every reply: (B, B)."""
        left, right = self.heads(context, reply)
        cosines = torch.einsum("btw,kw->bkt", means(context), means(reply))
        return left @ right.T + cosines @ self.alike + self.bias


class UtteranceHead(nn.Module):
    """One utterance alone: a net of one hidden layer over its mean, its largest states, or both."""

    def __init__(self, width: int, reads: str = "both", hidden: int = 96, dropout: float = 0.2) -> None:
        super().__init__()
        self.part = {"mean": slice(0, width), "max": slice(width, 2 * width), "both": slice(0, 2 * width)}[reads]
        inputs = self.part.stop - self.part.start
        self.layers = nn.Sequential(nn.Dropout(dropout), nn.Linear(inputs, hidden), nn.GELU(), nn.Dropout(dropout),
                                    nn.Linear(hidden, 1))

    def forward(self, reply: Any) -> Any:
        """The logit of each utterance: (B,)."""
        return self.layers(standard(reply)[..., self.part]).squeeze(-1)


class Relatedness(nn.Module):
    """BERT-RUBER's unreferenced part: [q ; r ; qᵀMr ; cos(c_t, r)] into a net of one hidden layer.

    q is the sum of the context's utterances, each with a weight of its own; M is of rank `rank`.
    """

    def __init__(self, width: int, turns: int, rank: int = 32, hidden: int = 128, dropout: float = 0.2) -> None:
        super().__init__()
        self.weights = nn.Parameter(0.5 ** torch.arange(turns, dtype=torch.float32))
        self.left = nn.Linear(2 * width, rank, bias=False)
        self.right = nn.Linear(2 * width, rank, bias=False)
        self.layers = nn.Sequential(nn.Linear(4 * width + 1 + turns, hidden), nn.ReLU(), nn.Dropout(dropout),
                                    nn.Linear(hidden, 1))
        self.dropout = nn.Dropout(dropout)

    def forward(self, context: Any, reply: Any) -> Any:
        """The logit of each pair: (B,)."""
        query = self.dropout(torch.einsum("btw,t->bw", standard(context), self.weights))
        answer = self.dropout(standard(reply))
        bilinear = (self.left(query) * self.right(answer)).sum(-1, keepdim=True) / self.left.out_features ** 0.5
        cosines = torch.einsum("btw,bw->bt", means(context), means(reply))
        return self.layers(torch.cat([query, answer, bilinear, cosines], dim=-1)).squeeze(-1)


class Stack(nn.Module):
    """BERT+DNN: three layers over [v_c ; v_r], the largest token states of the context and of the response."""

    def __init__(self, width: int, hidden: int = 256, second: int = 128, dropout: float = 0.2) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Dropout(dropout), nn.Linear(2 * width, hidden), nn.ReLU(), nn.Dropout(dropout),
            nn.Linear(hidden, second), nn.ReLU(), nn.Linear(second, 1))

    def forward(self, context: Any, reply: Any) -> Any:
        """The logit of each pair: (B,)."""
        width = reply.shape[-1] // 2
        largest = context[..., width:]  # (B, turns, width)
        present = (largest != 0).any(-1, keepdim=True)
        least = torch.finfo(largest.dtype).min
        whole = torch.where(present, largest, least).amax(-2) * present.any(-2)  # the maximum over all turns' tokens
        read = functional.layer_norm(torch.stack([whole, reply[..., width:]], -2), (width,))
        return self.layers(read.flatten(-2)).squeeze(-1)


class Layers(nn.Module):
    """Layers of 256, 512 and 128 over [q ; r], the pooled states of one text before the reply and of the reply.

    With `bilinear` (BERT-RUBER) over [q ; r ; qᵀMr] of the means, with ReLU; else (BERT+DNN) of the largest states,
    with tanh.
    """

    def __init__(self, width: int, bilinear: bool, first: int = 256, second: int = 512, third: int = 128,
                 dropout: float = 0.1) -> None:
        super().__init__()
        self.part = slice(0, width) if bilinear else slice(width, 2 * width)
        self.bilinear = nn.Parameter(torch.randn(width, width) / width) if bilinear else None
        sizes, between = (2 * width + bilinear, first, second, third), nn.ReLU if bilinear else nn.Tanh
        self.layers = nn.Sequential(
            *(layer for inputs, outputs in itertools.pairwise(sizes)
              for layer in (nn.Linear(inputs, outputs), between(), nn.Dropout(dropout))), nn.Linear(third, 1))

    def forward(self, context: Any, reply: Any) -> Any:
        """The logit of each pair, from what was said last (B, turns, 2 · width): (B,)."""
        query, answer = context[:, 0, self.part], reply[:, self.part]
        both = [query, answer]
        if self.bilinear is not None:
            both.append(((query @ self.bilinear) * answer).sum(-1, keepdim=True))
        return self.layers(torch.cat(both, dim=-1)).squeeze(-1)


class Likeness(nn.Module):
    """Of reference and response: [g ; r ; |g − r| ; g ∘ r] of both in a smaller space, and their cosine, into a net."""

    def __init__(self, width: int, size: int = 96, hidden: int = 96, dropout: float = 0.2, outputs: int = 1,
                 between: Callable[[], nn.Module] = nn.ReLU) -> None:
        super().__init__()
        self.down = nn.Linear(2 * width, size)
        self.layers = nn.Sequential(nn.Linear(4 * size + 1, hidden), between(), nn.Dropout(dropout),
                                    nn.Linear(hidden, outputs))
        self.dropout = nn.Dropout(dropout)

    def forward(self, reference: Any, reply: Any) -> Any:
        """The logit of each pair, (B,), or as many as there are outputs, (B, outputs)."""
        g, r = (torch.tanh(self.down(self.dropout(standard(side)))) for side in (reference, reply))
        cosine = (means(reference) * means(reply)).sum(-1, keepdim=True)
        return self.layers(torch.cat([g, r, (g - r).abs(), g * r, cosine], dim=-1)).squeeze(-1)


class Adem(nn.Module):
    """(cᵀMr + gᵀNr − α) / β on mean vectors brought to `size` dimensions by a frozen projection."""

    centre: torch.Tensor
    axes: torch.Tensor

    def __init__(self, width: int, size: int, alpha: float = 0.0, beta: float = 1.0) -> None:
        super().__init__()
        self.alpha, self.beta = alpha, beta
        self.register_buffer("centre", torch.zeros(width))
        self.register_buffer("axes", torch.eye(width, size))
        self.with_context = nn.Parameter(torch.eye(size))
        self.with_reference = nn.Parameter(torch.eye(size))

    def small(self, vectors: Any) -> Any:
        """The means of vectors on the principal axes: (..., size)."""
        return (means(vectors) - self.centre) @ self.axes

    def forward(self, context: Any, reference: Any, reply: Any) -> Any:
        """The score of each triple, 1 to 5 where it is like what was trained on: (B,)."""
        weights = 0.5 ** torch.arange(context.shape[-2], dtype=context.dtype, device=context.device)
        before = torch.einsum("btw,t->bw", context, weights)  # each utterance weighs half of the one after it
        c, g, r = (self.small(vectors) for vectors in (before, reference, reply))  # (B, size) each
        return (((c @ self.with_context + g @ self.with_reference) * r).sum(-1) - self.alpha) / self.beta


class Usl(nn.Module):
    """USL-H's two classifiers, and where the negative log-likelihood of replies has its quartiles."""

    def __init__(self, width: int, turns: int, low: float = 0.0, high: float = 1.0) -> None:
        super().__init__()
        self.valid = UtteranceHead(width)
        self.next = Match(width, turns)
        self.scale = nn.Parameter(torch.ones(()))
        self.bias = nn.Parameter(torch.zeros(()))
        self.low, self.high = low, high

    def follows(self, context: Any, reply: Any) -> Any:
        """The logit that the reply comes next, at the scale at which its sigmoid is a probability: (B,)."""
        return self.scale * self.next(context, reply).detach() + self.bias


class Quartiled(Classifier):
    """A classifier that knows where the negative log-likelihood of replies has its quartiles."""

    def __init__(self, width: int, low: float = 0.0, high: float = 1.0, **reading: Any) -> None:
        super().__init__(width, **reading)
        self.low, self.high = low, high


class NextResponse(nn.Module):
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


class FactMatch(Match):
    """Does the reply go with what is known: the log of the mean of e^logit over the facts (B, facts, 2 · width)."""

    def __init__(self, width: int, size: int = 48, dropout: float = 0.1) -> None:
        super().__init__(width, 1, size, dropout)

    def forward(self, facts: Any, reply: Any) -> Any:
        """The logit of each pair: (B,)."""
        several = reply.unsqueeze(1).expand(-1, facts.shape[1], -1).flatten(0, 1)  # (B · facts, 2 · width)
        logits = super().forward(facts.flatten(0, 1).unsqueeze(1), several).unflatten(0, facts.shape[:2])
        return log_mean_exp(logits, (facts != 0).any(-1))

    def matrix(self, facts: Any, reply: Any) -> Any:
        """The logit of every row of facts with every reply: (B, B)."""
        logits = super().matrix(facts.flatten(0, 1).unsqueeze(1), reply).unflatten(0, facts.shape[:2])
        return log_mean_exp(logits, (facts != 0).any(-1).unsqueeze(-1))


def log_mean_exp(values: Any, present: Any) -> Any:
    """The log of the mean of e^value along the second axis, over the present values; 0 without any."""
    masked = torch.where(present, values, torch.finfo(values.dtype).min)
    counts = present.sum(1).clamp_min(1).to(values.dtype)
    return torch.where(present.any(1), torch.logsumexp(masked, 1) - counts.log(), 0.0)


class Usr(nn.Module):
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


class Recurrent(nn.Module):
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
