"""The network of GRADE (Huang et al. 2020): an utterance branch, a topic graph branch and layers over both.

    h_i     = P x_i + Σ_k W_k mean_{j ∈ N_i^k} x_j + b                   equations 2 and 3
    Ā       = (D + I)^−½ (A + I) (D + I)^−½                              equation 5
    e_ij    = LeakyReLU(Ā_ij · aᵀ[W h_i ; W h_j])                        equation 8
    z_i     = Σ_j softmax_j(e_ij) W h_j                                  equations 6 and 7
    h_i     ← ELU(V h_i + z_i)                                           equation 9
    v_g     = ELU(FC0(mean_i [h_i ; max_j A_ij])), zeros without a node  equation 10
    s       = σ(FC3(ELU(FC2(ELU(FC1([v_c ; v_g]))))))                    equation 11

P projects a node's vector to the size of the layers. A node without edges has z_i = 0. max_j A_ij, the proximity of the
nearest topic on the other side, is appended to h_i because the softmax over the neighbours hides it: the attention to a
single neighbour is 1 at any distance. The utterance branch uses the frozen encoder's vectors:
v_c = [h(c) ∘ h(r) ; |h(c) − h(r)| ; cos(c_t, r) ; match(c, r)].

PublishedGrade is the paper's network: P is the identity, max_j A_ij is left out, and v_c is BERT's pooled state,
projected to the width of v_g as in the released code.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import torch
from torch import nn
from torch.nn import functional
from torch_geometric.nn import MessagePassing
from torch_geometric.nn.pool import global_mean_pool
from torch_geometric.utils import scatter, softmax

from metrics.models.architectures.base import Architecture, TokenArchitecture
from metrics.models.architectures.heads import TURNS, Match, PairHead, cosines
from metrics.training.objectives import symmetric_cross_entropy

SLOPE = 0.2
"""Negative slope of LeakyReLU in the paper's network."""
EDGE_DROPOUT = 0.2
"""Share of the edges dropped in each training step."""
MATCH_WEIGHT = 0.1
"""Weight of the loss of matching contexts and replies within a batch, relative to the margin loss."""


class TopicAttention(MessagePassing):  # type: ignore[misc]
    """A graph attention layer, scaled by the adjacency, with concatenated heads."""

    def __init__(self, size: int, heads: int, slope: float) -> None:
        super().__init__(aggr="add", node_dim=0)
        self.heads, self.slope = heads, slope
        self.lift = nn.Linear(size, size, bias=False)
        self.own = nn.Linear(size, size, bias=False)
        self.target = nn.Parameter(torch.empty(heads, size // heads))
        self.source = nn.Parameter(torch.empty(heads, size // heads))
        nn.init.xavier_uniform_(self.target)
        nn.init.xavier_uniform_(self.source)

    def forward(self, nodes: Any, edges: Any, adjacency: Any) -> Any:
        lifted = self.lift(nodes).unflatten(-1, (self.heads, -1))  # (N, heads, size / heads)
        scores = (lifted * self.source).sum(-1), (lifted * self.target).sum(-1)
        attended = self.propagate(edges, x=lifted, score=scores, adjacency=adjacency)
        return functional.elu(self.own(nodes) + attended.flatten(1))

    def message(self, x_j: Any, score_i: Any, score_j: Any, adjacency: Any, index: Any, size_i: int | None) -> Any:
        attention = functional.leaky_relu(adjacency[:, None] * (score_i + score_j), self.slope)
        return x_j * softmax(attention, index, num_nodes=size_i)[..., None]


class TopicGraph(nn.Module):
    """The graph branch; `out`, the width of v_g, selects the paper's version, with layers as wide as the vectors."""

    def __init__(self, width: int, size: int = 48, heads: int = 4, layers: int = 3, hops: int = 2,
                 out: int = 0) -> None:
        super().__init__()
        self.hops, self.published = hops, bool(out)
        size, slope = (width, SLOPE) if self.published else (size, 0.01)
        inputs = hops + (not self.published)  # P, unless it is the identity, and all W_k in one layer
        self.first: Any = nn.Linear(inputs * width, size) if inputs else None
        self.layers = nn.ModuleList(TopicAttention(size, heads, slope) for _ in range(layers))
        self.last = nn.Linear(size, out) if out else nn.Linear(size + 1, size)

    def forward(self, graphs: Any) -> Any:
        """Return v_g of the graphs in a batch, whose edges are stored in one direction only: (graphs, size)."""
        edges, weights = graphs.edge_index, graphs.edge_attr.to(graphs.x.dtype)
        if self.training:
            keep = torch.rand(len(weights), device=weights.device) >= EDGE_DROPOUT
            edges, weights = edges[:, keep], weights[keep]
        edges, weights = torch.cat([edges, edges.flip(0)], dim=1), torch.cat([weights, weights])
        adjacency = normalised(edges, weights, len(graphs.x))
        nodes = graphs.x[:, 0]
        if not self.published:
            nodes = self.first(graphs.x[:, : 1 + self.hops].flatten(1))
        elif self.first is not None:
            nodes = nodes + self.first(graphs.x[:, 1 : 1 + self.hops].flatten(1))
        for layer in self.layers:
            nodes = layer(nodes, edges, adjacency)
        if not self.published:
            nearest = scatter(weights, edges[1], dim_size=len(nodes), reduce="max")
            nodes = torch.cat([nodes, nearest[:, None]], dim=1)
        mean = global_mean_pool(nodes, graphs.batch, size=len(graphs.ptr) - 1)
        return functional.elu(self.last(mean)) * (graphs.ptr.diff() > 0)[:, None]


def normalised(edges: Any, weights: Any, nodes: int) -> Any:
    """Return the entry of (D + I)^−½ A (D + I)^−½ for each edge; `edges` has both directions."""
    degrees = scatter(weights, edges[1], dim_size=nodes) + 1
    return weights * degrees[edges].rsqrt().prod(0)


class Coherence(nn.Module):
    """FC1, FC2 and FC3 over the output of the branches."""

    def __init__(self, inputs: int, hidden: int, second: int, dropout: float) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Dropout(dropout), nn.Linear(inputs, hidden), nn.ELU(), nn.Dropout(dropout),
                                    nn.Linear(hidden, second), nn.ELU(), nn.Linear(second, 1))

    def forward(self, *branches: Any) -> Any:
        return self.layers(torch.cat(branches, dim=-1)).squeeze(-1)


class GradeNetwork(PairHead, name="grade-head"):
    """Both branches, or the utterance branch alone; training also finds the reply to each context within a batch."""

    def __init__(self, width: int, turns: int = TURNS, nodes: int = 0, size: int = 32, topics: int = 48,
                 hidden: int = 64, second: int = 32, hops: int = 2, dropout: float = 0.2) -> None:
        super().__init__()
        self.turns = turns
        self._last_inputs: list[Any] = []
        self.match = Match(width, turns, size, dropout)
        self.graph = TopicGraph(nodes, topics, hops=hops) if nodes else None
        self.score = Coherence(2 * size + turns + 1 + (topics if nodes else 0), hidden, second, dropout)

    def texts(self, reading: Any) -> Iterable[str]:
        return super().texts(reading.pair)

    def inputs(self, readings: Sequence[Any], table: Any) -> tuple[Any, ...]:
        return *super().inputs([reading.pair for reading in readings], table), *graphs_of(readings)

    def extra_loss(self) -> Any:
        (true_pairs, _), self._last_inputs = self._last_inputs[-2:], []
        return MATCH_WEIGHT * symmetric_cross_entropy(self.match.matrix(*true_pairs))

    def forward(self, context: Any, reply: Any, graphs: Any = None) -> Any:
        self._last_inputs = [*self._last_inputs[-1:], (context, reply)]
        left, right = self.match.heads(context, reply)
        cosine = cosines(context, reply)
        utterances = left * right, (left - right).abs(), cosine, self.match.combine(left, right, cosine)[:, None]
        return self.score(*utterances, *(() if self.graph is None else (self.graph(graphs),)))


class PublishedGrade(TokenArchitecture, name="grade-cross-encoder"):
    """The layers on top of BERT: a pooling layer, the graph branch unless `nodes` is 0, and layers over both."""

    dense: nn.Linear

    def __init__(self, width: int, nodes: int, hops: int = 2, heads: int = 4, layers: int = 3, branch: int = 512,
                 hidden: int = 512, second: int = 128, length: int = 128) -> None:
        super().__init__(length=length)
        self.dense = nn.Linear(width, width)
        self.utterances = nn.Linear(width, branch)
        self.graph = TopicGraph(nodes, heads=heads, layers=layers, hops=hops, out=branch) if nodes else None
        self.score = Coherence(branch * (2 if nodes else 1), hidden, second, dropout=0.0)

    def reading(self, reading: Any) -> Any:
        return reading.pair._replace(context=reading.pair.context[-2:])

    def extra_inputs(self, readings: Any) -> tuple[Any, ...]:
        return graphs_of(readings)

    def forward(self, first: Any, graphs: Any = None) -> Any:
        utterances = self.utterances(torch.tanh(self.dense(first)))
        return self.score(utterances, *(() if self.graph is None else (self.graph(graphs),)))


def graphs_of(readings: Sequence[Any]) -> tuple[Any, ...]:
    """Return the topic graphs of the readings as one batch; an empty tuple without the graph branch."""
    graphs = readings[0].graphs
    return () if graphs is None else (graphs.batch([reading.row for reading in readings]),)


class TopicCoherence(Architecture, name="topic-graph"):
    """TCM of MME-CRS: the graph branch and layers over it; `branch`, the width of v_g, selects the paper's version."""

    def __init__(self, nodes: int, topics: int = 48, hidden: int = 64, second: int = 32, dropout: float = 0.2,
                 heads: int = 4, layers: int = 3, branch: int = 0, width: int = 0) -> None:
        super().__init__()
        self.graph = TopicGraph(nodes, topics, heads, layers, out=branch)
        self.score = Coherence(branch or topics, hidden, second, dropout)

    def inputs(self, readings: Sequence[Any], table: Any) -> tuple[Any, ...]:
        return graphs_of(readings)

    def forward(self, graphs: Any) -> Any:
        return self.score(self.graph(graphs))
