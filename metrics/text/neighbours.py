"""The nearest-neighbour graph: a stand-in for ConceptNet that needs no download.

Its terms are the words that can be keywords, as counted in the corpora; each has an edge to the ten words whose vectors
of the encoder are nearest by cosine, which is the edge's weight. Built once per encoder, in about ten seconds:

    HOME/graphs/neighbours-ENCODER-WORDS.graph      metrics/text/topic_graph.py
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from metrics.errors import MissingResource
from metrics.models.memory import Vectors
from metrics.text import keywords
from metrics.text.topic_graph import Damaged, Graph, write

DEGREE = 10
"""To how many nearest words each has an edge; who is among the nearest of another has one to it as well."""
_BLOCK = 512


@functools.cache
def identity() -> str:
    """What the graph depends on besides the encoder: its words and how many neighbours each has."""
    words = "\n".join(keywords.vocabulary())
    return f"neighbours-{hashlib.sha256(words.encode()).hexdigest()[:12]}-k{DEGREE}"


def graph(home: Path, encoder: str, vectors: Callable[[Sequence[str]], Vectors]) -> Graph:
    """The graph of an encoder with that digest, whose vectors of words are (words, width) and of length 1."""
    path = home / "graphs" / f"{identity()}-{encoder}.graph"
    try:
        return _opened(path)
    except (OSError, Damaged):
        words = keywords.vocabulary()
        made(path, words, vectors(words))
        return _opened(path)


@functools.lru_cache(maxsize=4)
def _opened(path: Path) -> Graph:
    return Graph(path)


def made(path: Path, words: Sequence[str], vectors: Vectors, degree: int = DEGREE) -> None:
    """Make the graph of words with these vectors of length 1; a word without a vector has no edge."""
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
    try:
        write(path, words, np.concatenate(left), np.concatenate(right), np.concatenate(weights))
    except OSError as error:
        raise MissingResource(f"the graph of neighbours cannot be kept in {path}: {error.strerror}") from error
