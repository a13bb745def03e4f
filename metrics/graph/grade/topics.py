"""Topic graphs of GRADE: keywords of context and response as nodes, with their vectors, and edges weighted 1 / hops.

    TopicSource(graph, read, ...)  a graph of terms with neighbours and hops, and the vectors of terms
    topics(source, pairs)          the graphs of all pairs of context and response at once
    Topics.batch(rows)             some of them as one torch-geometric Batch

A node's features are (3, width): its own vector and the means of those of its first- and second-hop neighbours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from metrics.errors import BadOption
from metrics.graph.grade import concepts
from metrics.models.memory import Vectors
from metrics.models.service import Models
from metrics.models.text_table import PooledVectors
from metrics.text import keywords
from metrics.text.similarity import unit
from metrics.text.topic_graph import Graph, Hops, Nodes

Keywords: TypeAlias = tuple[str, ...]
Read: TypeAlias = Callable[[Sequence[str]], Vectors]
"""The vectors of terms, of length 1."""
READ = 2
"""Utterances of the context whose keywords are topics."""


@dataclass(frozen=True, slots=True)
class TopicSource:
    """A graph of terms, the vectors of texts, and the number of neighbours of each hop that are taken.

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
        return int(self.read([]).shape[1])

    def features(self, words: Sequence[str]) -> Vectors:
        """Return for each word (3, width): its vector, and the means over its neighbours, zeros without any."""
        nodes = concepts.aligned(self.graph, words)
        near = [np.full((len(words), count), -1) for count in (self.first, self.second)]
        near[0][nodes >= 0], near[1][nodes >= 0] = self.graph.neighbours(nodes[nodes >= 0], self.first, self.second)
        terms = np.unique(np.concatenate([whole.ravel() for whole in near]))
        terms = terms[terms >= 0]
        vectors = self.read([*words, *(self.graph.term(node) for node in terms.tolist())])
        table = np.concatenate([vectors[len(words):], np.zeros((1, vectors.shape[1]), vectors.dtype)])
        means = [_mean(table, np.where(whole >= 0, np.searchsorted(terms, whole), -1)) for whole in near]
        return np.asarray(np.stack([vectors[:len(words)], *means], axis=1), dtype=np.float32)

    def hops(self, words: Sequence[str], left: Nodes, right: Nodes) -> Hops:
        """Return the hops between words, given by their indices; 0 for the same word, -1 where there is no way."""
        nodes = concepts.aligned(self.graph, words)
        codes, back = np.unique(left * len(words) + right, return_inverse=True)
        first, second = np.divmod(codes, max(len(words), 1))
        hops = self.graph.hops(nodes[first], nodes[second])
        hops[first == second] = 0
        return hops[back]


@dataclass(frozen=True, slots=True)
class Topics:
    """The topic graphs of pairs: features of all words; per pair its words, those of the context first, and edges."""

    features: Vectors
    nodes: Sequence[Nodes]
    edges: Sequence[Nodes]
    weights: Sequence[npt.NDArray[np.float32]]

    def batch(self, rows: Iterable[int]) -> Any:
        """Return the graphs of these rows as one: x (N, 3, width), edge_index (2, E) each edge once, edge_attr (E,)."""
        import torch
        from torch_geometric.data import Batch

        rows = list(rows)
        sizes = np.array([len(self.nodes[row]) for row in rows])
        ends = np.concatenate([[0], np.cumsum(sizes)])
        edges = np.concatenate([self.edges[row] + start for row, start in zip(rows, ends, strict=False)], axis=1)
        return Batch(x=torch.from_numpy(self.features[np.concatenate([self.nodes[row] for row in rows])]),
                     edge_index=torch.from_numpy(edges),
                     edge_attr=torch.from_numpy(np.concatenate([self.weights[row] for row in rows])),
                     ptr=torch.from_numpy(ends), batch=torch.from_numpy(np.repeat(np.arange(len(rows)), sizes)))


def topics(source: TopicSource, pairs: Sequence[tuple[Keywords, Keywords]], weighted: bool = True) -> Topics:
    """Return the graphs of context and response keywords; without weights every possible edge has weight 1."""
    index: dict[str, int] = {}
    nodes = [np.array([index.setdefault(word, len(index)) for word in (*before, *after)], dtype=np.int64)
             for before, after in pairs]
    words = list(index)
    edges = [np.stack([np.repeat(np.arange(len(before)), len(after)),
                       len(before) + np.tile(np.arange(len(after)), len(before))]) for before, after in pairs]
    none: Nodes = np.zeros((2, 0), dtype=np.int64)
    left, right = np.concatenate([none, *(words[ends] for words, ends in zip(nodes, edges, strict=True))], axis=1)
    if weighted:
        hops = source.hops(words, left, right)
        if source.apart:
            hops = np.where(hops < 0, source.apart, hops + 1)
        weights = np.where(hops >= 0, 1 / np.maximum(hops, 1), 0).astype(np.float32)
    else:
        weights = np.ones(len(left), dtype=np.float32)
    split = np.split(weights, np.cumsum([ends.shape[1] for ends in edges]))[: len(edges)]
    return Topics(source.features(words), nodes, [ends[:, part > 0] for ends, part in zip(edges, split, strict=True)],
                  [part[part > 0] for part in split])


def item_topics(before: Sequence[Sequence[str]], replies: Sequence[str], source: TopicSource, tagger: keywords.Tagger,
                weighted: bool = True) -> Topics:
    """Return the graphs of contexts, the last utterance first, and their replies."""
    def words(texts: Sequence[str]) -> Keywords:
        return tuple(dict.fromkeys(word for text in texts for word in keywords.keywords(text, tagger)))

    return topics(source, [(words(texts[READ - 1::-1]), words([text]))
                           for texts, text in zip(before, replies, strict=True)], weighted)


def source(models: Models, encoder: str, graph: str, first: int, second: int, vectors: str = "",
           apart: int = 0) -> TopicSource:
    """Return the graph of that name, and the vectors of the encoder or of a file of word vectors."""
    if first < 0 or second < 0:
        raise BadOption(f"first={first}, second={second}: the numbers of neighbours are 0 or more")
    read = of_file(models, vectors) if vectors else of_encoder(models, encoder)
    if graph == concepts.CONCEPTNET:
        return TopicSource(concepts.conceptnet(models), read, first, second, apart)
    weights = models.encoder(encoder).weights
    digest = f"{weights.digest[:16]}-{weights.settings[:8]}-{models.machine.precision}"
    neighbours = concepts.neighbours(models.home, digest, of_encoder(models, encoder))
    return TopicSource(neighbours, read, first, second, apart)


def depends(models: Models, graph: str, vectors: str = "") -> dict[str, str]:
    """Return further parts of a signature: the graph of concepts, the counts of keywords, the word vectors."""
    named = f"conceptnet@{models.resource(concepts.CONCEPTNET).digest[:12]}" if graph == concepts.CONCEPTNET else (
        concepts.identity())
    parts = {"topics": named, "counts": keywords.shipped().digest[:12]}
    return parts | ({"nodes": models.identity("vectors", vectors)} if vectors else {})


def of_encoder(models: Models, name: str) -> Read:
    """Return the reader of an encoder's mean vectors of terms, which are kept in the home."""
    encoder = models.encoder(name)
    vectors = models.once(("pooled", encoder.weights.identity), lambda: PooledVectors(models.home / "graphs", encoder))
    return lambda texts: unit(vectors(texts)[:, :vectors.encoder.width].astype(np.float32))


def of_file(models: Models, name: str) -> Read:
    """Return the reader of a file such as Numberbatch's; a term of several words has _ there, or their mean."""
    vectors = models.vectors(name)

    def look_up(term: str) -> Vectors:
        whole = term.replace(" ", "_")
        known = vectors.of([whole] if whole in vectors else term.split())
        return np.asarray(known.mean(axis=0)) if len(known) else np.zeros(vectors.width, np.float32)

    return lambda texts: unit(np.array([look_up(text) for text in texts], np.float32).reshape(-1, vectors.width))


def _mean(table: Vectors, rows: Nodes) -> Vectors:
    """Return the mean of the rows that are not -1; the last row of the table is zeros."""
    total = np.zeros((len(rows), table.shape[1]), np.float32)
    for column in rows.T:
        total += table[column]
    return np.asarray(total / np.maximum((rows >= 0).sum(axis=1), 1)[:, None].astype(np.float32))
