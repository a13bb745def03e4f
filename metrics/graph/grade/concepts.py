"""The concept graphs that connect topics, each compiled once and stored in HOME/graphs (topic_graph.py).

    conceptnet-DIGEST             the assertions stored by `harness fetch conceptnet` or `harness import`
    neighbours-WORDS-ENCODER      a substitute that needs no download: the words that can be keywords, each with edges
                                  to its ten nearest words, weighted by the encoder's cosine; the graph of the embedded
                                  encoder is shipped, another takes about ten seconds to build
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from benchmarks.storage import resources
from metrics.models.checkpoint import SHIPPED
from metrics.models.memory import Vectors
from metrics.models.service import Models
from metrics.text import keywords
from metrics.text.topic_graph import Damaged, Graph, Nodes, write

CONCEPTNET = resources.CONCEPTNET
DEGREE = 10
"""Nearest words that each word has an edge to."""
Parts: TypeAlias = tuple[Sequence[str], Nodes, Nodes, npt.NDArray[np.float32]]
"""Terms, and the indices of both ends of each edge with its weight."""
_BLOCK = 512


@functools.cache
def identity() -> str:
    """Return the name of the graph of neighbours, by its words and the number of neighbours."""
    words = "\n".join(keywords.vocabulary())
    return f"neighbours-{hashlib.sha256(words.encode()).hexdigest()[:12]}-k{DEGREE}"


def conceptnet(models: Models) -> Graph:
    """Return the graph of the assertions in the home; MissingResource without them."""
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
    """Return the graph of an encoder with that digest, whose vectors of words are (words, width) and of length 1."""
    def read() -> Parts:
        words = keywords.vocabulary()
        return nearest(words, vectors(words))

    name = f"{identity()}-{encoder}.graph"
    shipped = SHIPPED / "grade" / name
    return opened(shipped) if shipped.exists() else _made(home / "graphs" / name, read)


def nearest(words: Sequence[str], vectors: Vectors, degree: int = DEGREE) -> Parts:
    """Return words with edges to those whose vectors, of length 1, are nearest; a word without a vector has none."""
    known = np.flatnonzero(np.abs(vectors).sum(axis=1))
    dense = vectors[known].astype(np.float32)
    degree = min(degree, max(len(known) - 1, 0))
    best, weights = np.zeros((len(known), degree), np.int64), np.zeros((len(known), degree), np.float32)
    for start in range(0, len(known) if degree else 0, _BLOCK):
        near = dense[start:start + _BLOCK] @ dense.T
        rows = np.arange(len(near))
        near[rows, start + rows] = -np.inf
        top = np.argpartition(-near, degree - 1, axis=1)[:, :degree]
        best[start + rows], weights[start + rows] = top, np.take_along_axis(near, top, axis=1).round(4)
    return words, np.repeat(known, degree), known[best].ravel(), weights.ravel()


@functools.lru_cache(maxsize=4)
def opened(path: Path) -> Graph:
    return Graph(path)


def _made(path: Path, read: Callable[[], Parts]) -> Graph:
    """Return the graph at that path, made anew if it is absent or damaged."""
    try:
        return opened(path)
    except (OSError, Damaged):
        write(path, *read())
        return opened(path)


def aligned(graph: Graph, words: Sequence[str]) -> Nodes:
    """Return the node of each word, as it is or without an ending; -1 where there is none."""
    nodes = graph.find(words)
    for row in np.flatnonzero(nodes < 0).tolist():
        candidates = graph.find(bases(words[row]))
        nodes[row] = next((node for node in candidates.tolist() if node >= 0), -1)
    return nodes


def bases(word: str) -> Iterator[str]:
    """Yield words that a word may be a form of: cities, city; watched, watch; making, make; stopping, stop."""
    for ending, others in (("ies", ("y",)), ("ied", ("y",)), ("s", ("",)), ("es", ("",)), ("ed", ("", "e")),
                           ("ing", ("", "e")), ("er", ("", "e")), ("est", ("", "e"))):
        start = word.removesuffix(ending)
        if start != word and len(start) > 2:
            yield from (start + other for other in others)
            if start[-1] == start[-2]:
                yield start[:-1]
