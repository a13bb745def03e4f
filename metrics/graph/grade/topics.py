"""Topic graphs of GRADE: keywords of context and response as nodes, with their vectors, and edges weighted 1 / hops.

    TopicSource(graph, read, ...)  where terms have their neighbours, hops and vectors
    topics(source, pairs)          the graphs of all pairs of context and response at once
    Topics.batch(rows)             some of them as one torch-geometric Batch

A node's features are (3, width): its own vector and the means of those of its first- and second-hop neighbours.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from metrics.errors import BadOption
from metrics.graph.grade import concepts
from metrics.models.cache import PooledVectors
from metrics.models.memory import Vectors
from metrics.text import keywords
from metrics.text.topic_graph import Graph, Hops, Nodes

if TYPE_CHECKING:
    from metrics.models.encoder import Encoder
    from metrics.models.service import Models

Ends: TypeAlias = npt.NDArray[np.int64]
"""Where the part of each item begins in a long row, and where the last part ends."""
Keywords: TypeAlias = tuple[str, ...]
Read: TypeAlias = Callable[[Sequence[str]], Vectors]
"""The vectors of terms, of length 1."""
READ = 2
"""Utterances of the context whose keywords are topics."""


@dataclass(frozen=True, slots=True)
class TopicSource:
    """A graph of terms, the vectors of texts, and how many neighbours of each hop are taken.

    `apart` is how many hops count for a pair without a way, every other way counting one more than it has, as in
    GRADE's released code; 0 for no edge there.
    """

    graph: Graph
    read: Read
    first: int = 10
    second: int = 10
    apart: int = 0

    @property
    def width(self) -> int:
        """The width of a term's vector."""
        return int(self.read([]).shape[1])

    def features(self, words: Sequence[str]) -> Vectors:
        """For each word (3, width): its vector, and the means over its neighbours, zeros where there are none."""
        nodes = concepts.aligned(self.graph, words)
        near = self.graph.neighbours(nodes[nodes >= 0], self.first, self.second)
        around = [np.full((len(words), several.shape[1]), -1) for several in near]
        for whole, several in zip(around, near, strict=True):
            whole[nodes >= 0] = several
        others = np.unique(np.concatenate([several.ravel() for several in around]))
        others = others[others >= 0]
        vectors = self.read([*words, *(self.graph.term(node) for node in others.tolist())])
        table = np.concatenate([vectors[len(words):], np.zeros((1, vectors.shape[1]), vectors.dtype)])
        means = [_mean(table, np.where(several >= 0, np.searchsorted(others, several), -1)) for several in around]
        return np.asarray(np.stack([vectors[:len(words)], *means], axis=1), dtype=np.float32)

    def hops(self, words: Sequence[str], left: Nodes, right: Nodes) -> Hops:
        """The hops between the words at these places; 0 for the same word, -1 where there is no way."""
        nodes = concepts.aligned(self.graph, words)
        codes, back = np.unique(left * len(words) + right, return_inverse=True)
        first, second = np.divmod(codes, max(len(words), 1))
        hops = self.graph.hops(nodes[first], nodes[second])
        hops[first == second] = 0
        return hops[back]


@dataclass(frozen=True, slots=True)
class Topics:
    """The topic graphs of many pairs, one after the other; context nodes of a pair stand before response nodes."""

    features: Vectors
    nodes: Nodes
    node_ends: Ends
    edges: Nodes
    weights: npt.NDArray[np.float32]
    edge_ends: Ends

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


def topics(source: TopicSource, pairs: Sequence[tuple[Keywords, Keywords]], weighted: bool = True) -> Topics:
    """The graphs of pairs of context and response keywords; without weights every possible edge has weight 1."""
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
        if source.apart:
            hops = np.where(hops < 0, source.apart, hops + 1)
        linked = hops >= 0
        weights = (1 / np.maximum(hops, 1)).astype(np.float32)[linked]
    else:
        linked = np.ones(len(pair), dtype=bool)
        weights = np.ones(len(pair), dtype=np.float32)
    edge_ends = _ends(np.bincount(pair[linked], minlength=len(pairs)))
    return Topics(source.features(words), nodes, node_ends, np.stack([left, right])[:, linked], weights, edge_ends)


def item_topics(before: Sequence[Sequence[str]], replies: Sequence[str], source: TopicSource, tagger: keywords.Tagger,
                weighted: bool = True) -> Topics:
    """The graphs of contexts, the last utterance first, and their replies."""
    pairs = [(keywords_of(texts[READ - 1::-1], tagger), keywords_of([text], tagger))
             for texts, text in zip(before, replies, strict=True)]
    return topics(source, pairs, weighted)


def keywords_of(texts: Iterable[str], tagger: keywords.Tagger = "lists") -> Keywords:
    """The keywords of several utterances, each once, in the order of the utterances."""
    return tuple(dict.fromkeys(word for text in texts for word in keywords.keywords(text, tagger)))


def source(models: Models, encoder: str, graph: str, first: int, second: int, vectors: str = "",
           apart: int = 0) -> TopicSource:
    """Return the graph of that name, and the vectors of the encoder or of a file of word vectors."""
    read = of_file(models, vectors) if vectors else of_encoder(models, encoder)
    if first < 0 or second < 0:
        raise BadOption(f"first={first}, second={second}: the numbers of neighbours are 0 or more")
    if graph == concepts.CONCEPTNET:
        return TopicSource(concepts.conceptnet(models), read, first, second, apart)
    weights = models.encoder(encoder).weights
    digest = f"{weights.digest[:16]}-{weights.settings[:8]}-{models.machine.precision}"
    neighbours = concepts.neighbours(models.home, digest, of_encoder(models, encoder))
    return TopicSource(neighbours, read, first, second, apart)


def depends(models: Models, graph: str, vectors: str = "") -> tuple[str, ...]:
    """What the topic graphs depend on besides options and encoder, for a signature."""
    named = f"conceptnet@{models.resource(concepts.CONCEPTNET).digest[:12]}" if graph == concepts.CONCEPTNET else (
        concepts.identity())
    parts = [f"topics={named}", f"counts={keywords.shipped().digest[:12]}"]
    return (*parts, f"nodes={models.identity('vectors', vectors)}") if vectors else tuple(parts)


def of_encoder(models: Models, name: str) -> Read:
    """The encoder's mean vectors of terms, which are stored in the home once they are read."""
    features = _features(models.home / "graphs", models.encoder(name))
    return lambda texts: _unit(features(texts)[:, :features.encoder.width])


@functools.lru_cache(maxsize=1)
def _features(root: Path, encoder: Encoder) -> PooledVectors:
    """The features of an encoder, opened once."""
    return PooledVectors(root, encoder)


def of_file(models: Models, name: str) -> Read:
    """Vectors of a file such as Numberbatch's; a term of several words is one with _, else the mean of its words."""
    vectors = models.vectors(name)

    def look_up(term: str) -> Vectors:
        whole = term.replace(" ", "_")
        known = vectors.of([whole] if whole in vectors else term.split())
        return np.asarray(known.mean(axis=0)) if len(known) else np.zeros(vectors.width, np.float32)

    return lambda texts: _unit(np.stack([look_up(text) for text in texts]) if texts else
                               np.zeros((0, vectors.width), np.float32))


def _unit(vectors: Vectors) -> Vectors:
    dense = np.asarray(vectors, dtype=np.float32)
    length = np.sqrt(np.einsum("nw,nw->n", dense, dense))[:, None]
    return np.asarray(dense / np.maximum(length, np.float32(1e-6)))


def _mean(table: Vectors, places: Nodes) -> Vectors:
    """The mean of the rows at the places that are not -1; the last row of the table is zeros."""
    counts = np.maximum((places >= 0).sum(axis=1), 1)[:, None].astype(np.float32)
    total = np.zeros((len(places), table.shape[1]), np.float32)
    for column in places.T:
        total += table[column]
    return np.asarray(total / counts)


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
