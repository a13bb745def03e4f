"""Topic graphs of GRADE: keywords of context and response as nodes, with their vectors, and edges weighted 1 / hops.

A node's features are (3, width): its vector, and the mean vectors of its first- and second-hop neighbours. Hops are
counted in a concept graph, which is compiled once and stored in HOME/graphs (topic_graph.py). `conceptnet` has the
assertions stored by `harness fetch conceptnet` or `harness import`. `neighbours` is a substitute that needs no
download: all possible keywords, each with edges to the ten nearest words, weighted by the encoder's cosine. The graph
of the embedded encoder is shipped; for other encoders it takes about ten seconds to build.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks.storage import resources
from metrics.errors import BadOption
from metrics.models.checkpoint import SHIPPED
from metrics.models.memory import Vectors
from metrics.models.service import Models
from metrics.models.text_table import PooledVectors
from metrics.models.tokens import Pair
from metrics.text import keywords
from metrics.text.similarity import unit
from metrics.text.topic_graph import DamagedGraph, Graph, Hops, Nodes, write

Tagger: TypeAlias = keywords.Tagger
Keywords: TypeAlias = tuple[str, ...]
TermVectors: TypeAlias = Callable[[Sequence[str]], Vectors]
"""A function that returns the unit vectors of terms."""
CONCEPTNET = resources.CONCEPTNET
TOPIC_TURNS = 2
"""Number of last context utterances whose keywords become topics."""
DEGREE = 10
"""Number of nearest words to which each word has an edge."""
EdgeList: TypeAlias = tuple[Sequence[str], Nodes, Nodes, npt.NDArray[np.float32]]
"""Terms, and the indices of both ends of each edge with its weight."""
_BLOCK = 512
open_graph = functools.lru_cache(maxsize=4)(Graph)


@dataclass(frozen=True, slots=True)
class TopicSource:
    """A graph of terms, the vectors of terms, and how many neighbours to use at each hop.

    `unconnected` is the distance assigned to unconnected pairs; if set, every other distance is one more than its
    number of hops, as in GRADE's released code. If 0, unconnected pairs have no edge.
    """

    graph: Graph
    read: TermVectors
    first: int = 10
    second: int = 10
    unconnected: int = 0

    @property
    def width(self) -> int:
        return int(self.read([]).shape[1])

    def features(self, words: Sequence[str]) -> Vectors:
        """Return (3, width) for each word: its vector, and the means over its neighbours, zeros without neighbours."""
        nodes = nodes_of(self.graph, words)
        hops = [np.full((len(words), count), -1) for count in (self.first, self.second)]
        hops[0][nodes >= 0], hops[1][nodes >= 0] = self.graph.neighbours(nodes[nodes >= 0], self.first, self.second)
        terms = np.unique(np.concatenate([near.ravel() for near in hops]))
        terms = terms[terms >= 0]
        vectors = self.read([*words, *(self.graph.terms[node] for node in terms.tolist())])
        table = np.concatenate([vectors[len(words):], np.zeros((1, vectors.shape[1]), vectors.dtype)])
        features = [vectors[:len(words)]]
        for near in hops:
            rows = np.where(near >= 0, np.searchsorted(terms, near), -1)  # -1, the row of zeros, without a neighbour
            total = sum((table[column] for column in rows.T), np.zeros((len(words), table.shape[1]), np.float32))
            features.append(total / np.maximum((rows >= 0).sum(axis=1), 1)[:, None].astype(np.float32))
        return np.asarray(np.stack(features, axis=1), dtype=np.float32)

    def hops(self, words: Sequence[str], left: Nodes, right: Nodes) -> Hops:
        """Return the hops between words, given by their indices; 0 for the same word, -1 if they are unconnected."""
        nodes = nodes_of(self.graph, words)
        codes, inverse = np.unique(left * len(words) + right, return_inverse=True)
        first, second = np.divmod(codes, max(len(words), 1))
        hops = self.graph.hops(nodes[first], nodes[second])
        hops[first == second] = 0
        return hops[inverse]


@dataclass(frozen=True, slots=True)
class Topics:
    """The topic graphs of pairs: the features of all words, and each pair's words (the context's first) and edges."""

    features: Vectors
    nodes: Sequence[Nodes]
    edges: Sequence[Nodes]
    weights: Sequence[npt.NDArray[np.float32]]

    def batch(self, rows: Sequence[int]) -> Any:
        """Return graphs as one Batch: x (N, 3, width), edge_index (2, E) with each edge once, edge_attr (E,)."""
        import torch
        from torch_geometric.data import Batch

        sizes = np.array([len(self.nodes[row]) for row in rows])
        ends = np.concatenate([[0], np.cumsum(sizes)])
        edges = np.concatenate([self.edges[row] + start for row, start in zip(rows, ends, strict=False)], axis=1)
        return Batch(x=torch.from_numpy(self.features[np.concatenate([self.nodes[row] for row in rows])]),
                     edge_index=torch.from_numpy(edges),
                     edge_attr=torch.from_numpy(np.concatenate([self.weights[row] for row in rows])),
                     ptr=torch.from_numpy(ends), batch=torch.from_numpy(np.repeat(np.arange(len(rows)), sizes)))


def topics(source: TopicSource, pairs: Sequence[tuple[Keywords, Keywords]], weighted: bool = True) -> Topics:
    """Return the graphs of context and response keywords; if not `weighted`, every possible edge has weight 1."""
    index: dict[str, int] = {}
    nodes = [np.array([index.setdefault(word, len(index)) for word in (*before, *after)], dtype=np.int64)
             for before, after in pairs]
    words = list(index)
    edges = [np.stack([np.repeat(np.arange(len(before)), len(after)),
                       len(before) + np.tile(np.arange(len(after)), len(before))]) for before, after in pairs]
    empty: Nodes = np.zeros((2, 0), dtype=np.int64)
    left, right = np.concatenate([empty, *(words[ends] for words, ends in zip(nodes, edges, strict=True))], axis=1)
    if weighted:
        hops = source.hops(words, left, right)
        if source.unconnected:
            hops = np.where(hops < 0, source.unconnected, hops + 1)
        weights = np.where(hops >= 0, 1 / np.maximum(hops, 1), 0).astype(np.float32)
    else:
        weights = np.ones(len(left), dtype=np.float32)
    by_pair = np.split(weights, np.cumsum([ends.shape[1] for ends in edges]))[: len(edges)]
    return Topics(source.features(words), nodes, [ends[:, pair > 0] for ends, pair in zip(edges, by_pair, strict=True)],
                  [pair[pair > 0] for pair in by_pair])


class TopicPair(NamedTuple):
    """A context with a response, and the row of their topic graph."""

    pair: Pair
    graphs: Topics | None
    row: int


def with_topics(pairs: Sequence[Pair], source: TopicSource | None, tagger: Tagger, weighted: bool) -> list[TopicPair]:
    """Return the pairs with the graphs of their keywords, None without a source."""
    def words(*texts: str) -> Keywords:
        return tuple(dict.fromkeys(word for text in texts for word in keywords.keywords(text, tagger)))

    graphs = None if source is None else topics(source, [
        (words(*pair.context[-TOPIC_TURNS:]), words(pair.response)) for pair in pairs], weighted)
    return [TopicPair(pair, graphs, row) for row, pair in enumerate(pairs)]


def source(models: Models, encoder: str, graph: str, first: int, second: int, vectors: str = "",
           unconnected: int = 0) -> TopicSource:
    """Return the named graph, with vectors from the encoder or a file of word vectors."""
    if first < 0 or second < 0:
        raise BadOption(f"first={first}, second={second}: the numbers of neighbours must be 0 or more")
    read = file_vectors(models, vectors) if vectors else encoder_vectors(models, encoder)
    terms = conceptnet(models) if graph == CONCEPTNET else neighbours(models, encoder)
    return TopicSource(terms, read, first, second, unconnected)


def depends(models: Models, graph: str, vectors: str = "") -> dict[str, str]:
    """Return additional parts of the signature: concept graph, word counts and word vectors."""
    graph_identity = f"conceptnet@{models.resource(CONCEPTNET).digest[:12]}" if graph == CONCEPTNET else identity()
    return {"topics": graph_identity, "counts": keywords.shipped_counts().digest[:12],
            **({"nodes": models.identity("vectors", vectors)} if vectors else {})}


def encoder_vectors(models: Models, name: str) -> TermVectors:
    """Return a function that computes the encoder's unit vectors of terms and caches them in the home."""
    encoder = models.encoder(name)
    vectors = models.load_once(("pooled", encoder.weights.identity),
                               lambda: PooledVectors(models.home / "graphs", encoder))
    return lambda texts: unit(vectors(texts)[:, :vectors.encoder.width].astype(np.float32))


def file_vectors(models: Models, name: str) -> TermVectors:
    """Return a lookup in a file such as Numberbatch: the vector of the term joined by _, else its words' mean."""
    vectors = models.vectors(name)

    def look_up(term: str) -> Vectors:
        joined = term.replace(" ", "_")
        found = vectors.of([joined] if joined in vectors else term.split())
        return np.asarray(found.mean(axis=0)) if len(found) else np.zeros(vectors.width, np.float32)

    return lambda texts: unit(np.array([look_up(text) for text in texts], np.float32).reshape(-1, vectors.width))


@functools.cache
def identity() -> str:
    """Return the name of the graph of neighbours, with the digest of its words and their number of neighbours."""
    words = "\n".join(keywords.vocabulary())
    return f"neighbours-{hashlib.sha256(words.encode()).hexdigest()[:12]}-k{DEGREE}"


def conceptnet(models: Models) -> Graph:
    """Return the graph of the assertions in the home; raise MissingResource if there are none."""
    resource = models.resource(CONCEPTNET)

    def read() -> EdgeList:
        terms: dict[str, int] = {}
        left, right, weights = [], [], []
        for head, _, tail, weight in resources.read_edges(resource.path):
            left.append(terms.setdefault(head, len(terms)))
            right.append(terms.setdefault(tail, len(terms)))
            weights.append(weight)
        return list(terms), np.array(left, np.int64), np.array(right, np.int64), np.array(weights, np.float32)

    return _open_or_write(models.home / "graphs" / f"{CONCEPTNET}-{resource.digest[:16]}.npz", read)


def neighbours(models: Models, encoder: str) -> Graph:
    """Return the graph that connects each possible keyword with the nearest others by an encoder."""
    def read() -> EdgeList:
        words = keywords.vocabulary()
        return nearest(words, encoder_vectors(models, encoder)(words))

    weights = models.encoder(encoder).weights
    name = f"{identity()}-{weights.digest[:16]}-{weights.settings[:8]}-{models.machine.precision}.npz"
    shipped = SHIPPED / "grade" / name
    return open_graph(shipped) if shipped.exists() else _open_or_write(models.home / "graphs" / name, read)


def nearest(words: Sequence[str], vectors: Vectors, degree: int = DEGREE) -> EdgeList:
    """Return words with edges to the words of the nearest unit vectors; a word without a vector has no edges."""
    with_vector = np.flatnonzero(np.abs(vectors).sum(axis=1))
    dense = vectors[with_vector].astype(np.float32)
    degree = min(degree, max(len(with_vector) - 1, 0))
    nearest_rows = np.zeros((len(with_vector), degree), np.int64)
    weights = np.zeros((len(with_vector), degree), np.float32)
    for start in range(0, len(with_vector) if degree else 0, _BLOCK):
        cosine = dense[start:start + _BLOCK] @ dense.T
        rows = np.arange(len(cosine))
        cosine[rows, start + rows] = -np.inf
        top = np.argpartition(-cosine, degree - 1, axis=1)[:, :degree]
        nearest_rows[start + rows], weights[start + rows] = top, np.take_along_axis(cosine, top, axis=1).round(4)
    return words, np.repeat(with_vector, degree), with_vector[nearest_rows].ravel(), weights.ravel()


def _open_or_write(path: Path, read: Callable[[], EdgeList]) -> Graph:
    try:
        return open_graph(path)
    except (OSError, DamagedGraph):
        write(path, *read())
        return open_graph(path)


def nodes_of(graph: Graph, words: Sequence[str]) -> Nodes:
    """Return the node of each word or, failing that, of a base form; -1 if there is none."""
    nodes = graph.find(words)
    for row in np.flatnonzero(nodes < 0).tolist():
        candidates = graph.find(base_forms(words[row]))
        nodes[row] = next((node for node in candidates.tolist() if node >= 0), -1)
    return nodes


def base_forms(word: str) -> Iterator[str]:
    """Yield possible base forms of a word: cities, city; watched, watch; making, make; stopping, stop."""
    for ending, replacements in (("ies", ("y",)), ("ied", ("y",)), ("s", ("",)), ("es", ("",)), ("ed", ("", "e")),
                                 ("ing", ("", "e")), ("er", ("", "e")), ("est", ("", "e"))):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) > 2:
            yield from (stem + replacement for replacement in replacements)
            if stem[-1] == stem[-2]:
                yield stem[:-1]
