"""The graphs of concepts that topics stand in, each made compact once and kept in HOME/graphs (topic_graph.py).

    conceptnet-DIGEST             the assertions that `harness fetch conceptnet` or `harness import` brought
    neighbours-WORDS-ENCODER      a stand-in that needs no download: the words that can be keywords, as counted in the
                                  corpora, each with an edge to the ten whose vectors of the encoder are nearest by
                                  cosine, which is the edge's weight; GRADE's weights come with the embedded
                                  encoder's, another's is made in about ten seconds
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks.storage import resources
from metrics.errors import MissingResource
from metrics.models.checkpoint import SHIPPED
from metrics.models.memory import Vectors
from metrics.text import keywords
from metrics.text.topic_graph import Damaged, Graph, Nodes, write

if TYPE_CHECKING:
    from metrics.models.service import Models

CONCEPTNET = resources.CONCEPTNET
DEGREE = 10
"""To how many nearest words each has an edge; who is among the nearest of another has one to it as well."""
Parts: TypeAlias = tuple[Sequence[str], Nodes, Nodes, npt.NDArray[np.float32]]
"""Terms, and the places of both ends of each edge with its weight."""
_BLOCK = 512


@functools.cache
def identity() -> str:
    """What the graph of neighbours depends on besides the encoder: its words and how many neighbours each has."""
    words = "\n".join(keywords.vocabulary())
    return f"neighbours-{hashlib.sha256(words.encode()).hexdigest()[:12]}-k{DEGREE}"


def conceptnet(models: Models) -> Graph:
    """The graph of the assertions in the home, or MissingResource with what to do."""
    resource = models.resource(CONCEPTNET)

    def read() -> Parts:
        terms: dict[str, int] = {}
        left, right, weights = [], [], []
        for head, _, tail, weight in resources.read_edges(resource.path):
            left.append(terms.setdefault(head, len(terms)))
            right.append(terms.setdefault(tail, len(terms)))
            weights.append(weight)
        return list(terms), np.array(left, np.int64), np.array(right, np.int64), np.array(weights, np.float32)

    return _made(models.home / "graphs" / f"{CONCEPTNET}-{resource.digest[:16]}.graph", read)


def neighbours(home: Path, encoder: str, vectors: Callable[[Sequence[str]], Vectors]) -> Graph:
    """The graph of an encoder with that digest, whose vectors of words are (words, width) and of length 1."""
    def read() -> Parts:
        words = keywords.vocabulary()
        return nearest(words, vectors(words))

    name = f"{identity()}-{encoder}.graph"
    shipped = SHIPPED / "grade" / name
    return opened(shipped) if shipped.exists() else _made(home / "graphs" / name, read)


def nearest(words: Sequence[str], vectors: Vectors, degree: int = DEGREE) -> Parts:
    """Each word with edges to those whose vectors, of length 1, are nearest; a word without a vector has none."""
    known = np.flatnonzero(np.abs(vectors).sum(axis=1))
    some = vectors[known].astype(np.float32)
    degree = min(degree, max(len(known) - 1, 0))
    left, right, weights = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], [np.zeros(0, np.float32)]
    for start in range(0, len(known) if degree else 0, _BLOCK):
        near = some[start:start + _BLOCK] @ some.T
        own = np.arange(len(near))
        near[own, start + own] = -np.inf
        best = np.argpartition(-near, degree - 1, axis=1)[:, :degree]
        left.append(np.repeat(known[start + own], degree))
        right.append(known[best].ravel())
        weights.append(np.take_along_axis(near, best, axis=1).ravel().round(4))
    return words, np.concatenate(left), np.concatenate(right), np.concatenate(weights)


@functools.lru_cache(maxsize=4)
def opened(path: Path) -> Graph:
    """The graph at that path, mapped once."""
    return Graph(path)


def _made(path: Path, read: Callable[[], Parts]) -> Graph:
    """The graph at that path, made where it is not there or damaged."""
    try:
        return opened(path)
    except (OSError, Damaged):
        parts = read()
    try:
        write(path, *parts)
    except OSError as error:
        raise MissingResource(f"the graph cannot be kept in {path}: {error.strerror}") from error
    return opened(path)


def aligned(graph: Graph, words: Sequence[str]) -> Nodes:
    """The node of each word, as it is or without an ending; -1 where there is none."""
    nodes = graph.find(words)
    for place in np.flatnonzero(nodes < 0).tolist():
        candidates = graph.find(bases(words[place]))
        known = candidates[candidates >= 0]
        nodes[place] = known[0] if len(known) else -1
    return nodes


def bases(word: str) -> Iterator[str]:
    """What a word may be a form of: cities, city; watched, watch; making, make; stopping, stop."""
    for ending, others in (("ies", ("y",)), ("ied", ("y",)), ("s", ("",)), ("es", ("",)), ("ed", ("", "e")),
                           ("ing", ("", "e")), ("er", ("", "e")), ("est", ("", "e"))):
        start = word.removesuffix(ending)
        if start != word and len(start) > 2:
            yield from (start + other for other in others)
            if start[-1] == start[-2]:
                yield start[:-1]
