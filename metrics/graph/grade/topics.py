"""Topic graphs of GRADE: keywords of context and response as nodes, with their vectors, and edges weighted 1 / hops.

    Source(graph, read, ...)      where terms have their neighbours, hops and vectors
    topics(source, pairs)         the graphs of all pairs of context and response at once
    Topics.batch(rows)            some of them as one torch-geometric Batch

A node's features are (3, width): its own vector and the means of those of its first- and second-hop neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from metrics.errors import BadOption
from metrics.graph.grade.terms import of_encoder, of_file
from metrics.metric import Column
from metrics.models.memory import Vectors
from metrics.text import conceptnet, keywords, neighbours
from metrics.text.topic_graph import Graph, Hops, Nodes

if TYPE_CHECKING:
    from metrics.models.service import Models

Ends: TypeAlias = npt.NDArray[np.int64]
"""Where the part of each item begins in a long row, and where the last part ends."""
Words: TypeAlias = tuple[str, ...]
READ = 2
"""Utterances of the context whose keywords are topics."""


@dataclass(frozen=True, slots=True)
class Source:
    """A graph of terms, the vectors of texts, and how many neighbours of each hop are taken."""

    graph: Graph
    read: Callable[[Sequence[str]], Vectors]
    first: int = 10
    second: int = 10

    def features(self, words: Sequence[str]) -> Vectors:
        """For each word (3, width): its vector, and the means over its neighbours, zeros where there are none."""
        nodes = conceptnet.aligned(self.graph, words)
        near = self.graph.neighbours(nodes[nodes >= 0], self.first, self.second)
        around = [np.full((len(words), several.shape[1]), -1) for several in near]
        for whole, several in zip(around, near, strict=True):
            whole[nodes >= 0] = several
        others = np.unique(np.concatenate([several.ravel() for several in around]))
        others = others[others >= 0]
        vectors = self.read([*words, *(self.graph.term(node) for node in others.tolist())])
        table = np.concatenate([vectors[len(words):], np.zeros((1, vectors.shape[1]), vectors.dtype)])
        means = [_mean(table, np.where(several >= 0, np.searchsorted(others, several), -1)) for several in around]
        found: Vectors = np.stack([vectors[:len(words)], *means], axis=1).astype(np.float32)
        return found

    def hops(self, words: Sequence[str], left: Nodes, right: Nodes) -> Hops:
        """The hops between the words at these places; 0 for the same word, -1 where none are found."""
        nodes = conceptnet.aligned(self.graph, words)
        codes, back = np.unique(left * len(words) + right, return_inverse=True)
        one, other = np.divmod(codes, max(len(words), 1))
        found = self.graph.hops(nodes[one], nodes[other])
        found[one == other] = 0
        return found[back]


@dataclass(frozen=True, slots=True)
class Topics:
    """The topic graphs of many pairs, one after the other; context nodes of a pair stand before response nodes."""

    features: Vectors
    nodes: Nodes
    node_ends: Ends
    edges: Nodes
    weights: npt.NDArray[np.float32]
    edge_ends: Ends

    def __len__(self) -> int:
        return len(self.node_ends) - 1

    def split(self, at: int) -> tuple[Topics, Topics]:
        """The graphs before a place, and those from it on."""
        nodes, edges = int(self.node_ends[at]), int(self.edge_ends[at])
        return (Topics(self.features, self.nodes[:nodes], self.node_ends[:at + 1], self.edges[:, :edges],
                       self.weights[:edges], self.edge_ends[:at + 1]),
                Topics(self.features, self.nodes[nodes:], self.node_ends[at:] - nodes, self.edges[:, edges:],
                       self.weights[edges:], self.edge_ends[at:] - edges))

    def batch(self, rows: Nodes) -> Any:
        """The graphs of these rows as one: x (N, 3, width), edge_index (2, E) each edge once, edge_attr (E,)."""
        import torch
        from torch_geometric.data import Batch

        nodes, ends = _taken(self.node_ends, rows)
        edges, edge_ends = _taken(self.edge_ends, rows)
        shift = np.repeat(ends[:-1], np.diff(edge_ends))
        return Batch(x=torch.from_numpy(self.features[self.nodes[nodes]]),
                     edge_index=torch.from_numpy(self.edges[:, edges] + shift),
                     edge_attr=torch.from_numpy(self.weights[edges]), ptr=torch.from_numpy(ends),
                     batch=torch.from_numpy(np.repeat(np.arange(len(rows)), np.diff(ends))))


def topics(source: Source, pairs: Sequence[tuple[Words, Words]], weighted: bool = True) -> Topics:
    """The graphs of pairs of context and response keywords; without weights every edge there can be has weight 1."""
    places: dict[str, int] = {}
    nodes = np.array([places.setdefault(word, len(places)) for sides in pairs for side in sides for word in side],
                     dtype=np.int64)
    words = list(places)
    before, after = (np.array([len(sides[side]) for sides in pairs], dtype=np.int64) for side in (0, 1))
    node_ends = _ends(before + after)
    pair, within = _within(before * after)
    left = within // np.maximum(after[pair], 1)
    right = before[pair] + within % np.maximum(after[pair], 1)
    if weighted:
        begin = node_ends[pair]
        hops = source.hops(words, nodes[begin + left], nodes[begin + right])
        kept = hops >= 0
        weights = (1 / np.maximum(hops, 1)).astype(np.float32)[kept]
    else:
        kept = np.ones(len(pair), dtype=bool)
        weights = np.ones(len(pair), dtype=np.float32)
    edge_ends = _ends(np.bincount(pair[kept], minlength=len(pairs)))
    return Topics(source.features(words), nodes, node_ends, np.stack([left, right])[:, kept], weights, edge_ends)


def of_items(before: Sequence[Sequence[str]], replies: Sequence[str], source: Source, tagger: keywords.Tagger,
             weighted: bool = True) -> Topics:
    """The graphs of contexts, the last utterance first, and their replies."""
    pairs = [(said(texts[READ - 1::-1], tagger), said([text], tagger))
             for texts, text in zip(before, replies, strict=True)]
    return topics(source, pairs, weighted)


def in_blocks(rows: Nodes, size: int, judge: Callable[[Nodes], Any]) -> Column:
    """What a network says of rows, some at a time."""
    import torch

    with torch.inference_mode():
        found = [judge(rows[start : start + size]).numpy() for start in range(0, len(rows), size)]
    return np.concatenate([np.zeros(0), *found])


def double(tensor: Any) -> Any:
    """A tensor of floats in double precision, one of whole numbers as it is."""
    return tensor.double() if tensor.is_floating_point() else tensor


def source(models: Models, encoder: str, graph: str, first: int, second: int, vectors: str = "") -> Source:
    """The graph of that name, and the vectors of the encoder or of a file of word vectors."""
    read = of_file(models, vectors) if vectors else of_encoder(models, encoder)
    if first < 0 or second < 0:
        raise BadOption(f"first={first}, second={second}: the numbers of neighbours are 0 or more")
    if graph == conceptnet.NAME:
        return Source(conceptnet.graph(models), read, first, second)
    weights = models.encoder(encoder).weights
    digest = f"{weights.digest[:16]}-{weights.settings[:8]}-{models.machine.precision}"
    return Source(neighbours.graph(models.home, digest, of_encoder(models, encoder)), read, first, second)


def depends(models: Models, graph: str, vectors: str = "") -> tuple[str, ...]:
    """What decides the topic graphs besides options and encoder, for a signature."""
    named = f"conceptnet@{models.resource(conceptnet.NAME).digest[:12]}" if graph == conceptnet.NAME else (
        neighbours.identity())
    parts = [f"topics={named}", f"counts={keywords.shipped().digest[:12]}"]
    return (*parts, f"nodes={models.identity('vectors', vectors)}") if vectors else tuple(parts)


def said(texts: Iterable[str], tagger: keywords.Tagger = "lists") -> Words:
    """The keywords of several utterances, each once, in the order of the utterances."""
    return tuple(dict.fromkeys(word for text in texts for word in keywords.keywords(text, tagger)))


def _mean(table: Vectors, places: Nodes) -> Vectors:
    """The mean of the rows at the places that are not -1; the last row of the table is zeros."""
    counts = np.maximum((places >= 0).sum(axis=1), 1)[:, None].astype(np.float32)
    total = np.zeros((len(places), table.shape[1]), np.float32)
    for column in places.T:
        total += table[column]
    found: Vectors = total / counts
    return found


def _ends(counts: Nodes) -> Ends:
    return np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)


def _within(counts: Nodes) -> tuple[Nodes, Nodes]:
    """For parts of these lengths one after the other: which part each place is of, and its place there."""
    whose = np.repeat(np.arange(len(counts)), counts)
    return whose, np.arange(len(whose)) - _ends(counts)[whose]


def _taken(ends: Ends, rows: Nodes) -> tuple[Nodes, Ends]:
    """The places of the parts of some rows, one part after the other, and where those end."""
    counts = ends[rows + 1] - ends[rows]
    whose, within = _within(counts)
    return ends[rows][whose] + within, _ends(counts)
