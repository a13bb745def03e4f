"""The concept graphs that connect topics, each compiled once and stored in HOME/graphs (topic_graph.py).

`conceptnet` has the assertions stored by `harness fetch conceptnet` or `harness import`. `neighbours` is a substitute
that needs no download: all possible keywords, each with edges to the ten nearest words, weighted by the encoder's
cosine. The graph of the embedded encoder is shipped; for other encoders it takes about ten seconds to build.
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
from metrics.text.topic_graph import DamagedGraph, Graph, Nodes, write

CONCEPTNET = resources.CONCEPTNET
DEGREE = 10
"""Number of nearest words to which each word has an edge."""
Parts: TypeAlias = tuple[Sequence[str], Nodes, Nodes, npt.NDArray[np.float32]]
"""Terms, and the indices of both ends of each edge with its weight."""
_BLOCK = 512


@functools.cache
def identity() -> str:
    """Return the name of the graph of neighbours, with the digest of its words and their number of neighbours."""
    words = "\n".join(keywords.vocabulary())
    return f"neighbours-{hashlib.sha256(words.encode()).hexdigest()[:12]}-k{DEGREE}"


def conceptnet(models: Models) -> Graph:
    """Return the graph of the assertions in the home; raise MissingResource if there are none."""
    resource = models.resource(CONCEPTNET)

    def read() -> Parts:
        terms: dict[str, int] = {}
        left, right, weights = [], [], []
        for head, _, tail, weight in resources.read_edges(resource.path):
            left.append(terms.setdefault(head, len(terms)))
            right.append(terms.setdefault(tail, len(terms)))
            weights.append(weight)
        return list(terms), np.array(left, np.int64), np.array(right, np.int64), np.array(weights, np.float32)

    return _opened_or_written(models.home / "graphs" / f"{CONCEPTNET}-{resource.digest[:16]}.graph", read)


def neighbours(home: Path, encoder: str, vectors: Callable[[Sequence[str]], Vectors]) -> Graph:
    """Return the graph of the encoder with this digest; `vectors` returns unit vectors of words, (words, width)."""
    def read() -> Parts:
        words = keywords.vocabulary()
        return nearest(words, vectors(words))

    name = f"{identity()}-{encoder}.graph"
    shipped = SHIPPED / "grade" / name
    return opened(shipped) if shipped.exists() else _opened_or_written(home / "graphs" / name, read)


def nearest(words: Sequence[str], vectors: Vectors, degree: int = DEGREE) -> Parts:
    """Return words with edges to those with the nearest unit vectors; a word without a vector has no edges."""
    known = np.flatnonzero(np.abs(vectors).sum(axis=1))
    dense = vectors[known].astype(np.float32)
    degree = min(degree, max(len(known) - 1, 0))
    best, weights = np.zeros((len(known), degree), np.int64), np.zeros((len(known), degree), np.float32)
    for start in range(0, len(known) if degree else 0, _BLOCK):
        cosine = dense[start:start + _BLOCK] @ dense.T
        rows = np.arange(len(cosine))
        cosine[rows, start + rows] = -np.inf
        top = np.argpartition(-cosine, degree - 1, axis=1)[:, :degree]
        best[start + rows], weights[start + rows] = top, np.take_along_axis(cosine, top, axis=1).round(4)
    return words, np.repeat(known, degree), known[best].ravel(), weights.ravel()


@functools.lru_cache(maxsize=4)
def opened(path: Path) -> Graph:
    return Graph(path)


def _opened_or_written(path: Path, read: Callable[[], Parts]) -> Graph:
    try:
        return opened(path)
    except (OSError, DamagedGraph):
        write(path, *read())
        return opened(path)


def aligned(graph: Graph, words: Sequence[str]) -> Nodes:
    """Return the node of each word or, failing that, of a base form; -1 if there is none."""
    nodes = graph.find(words)
    for row in np.flatnonzero(nodes < 0).tolist():
        candidates = graph.find(bases(words[row]))
        nodes[row] = next((node for node in candidates.tolist() if node >= 0), -1)
    return nodes


def bases(word: str) -> Iterator[str]:
    """Yield possible base forms of a word: cities, city; watched, watch; making, make; stopping, stop."""
    for ending, replacements in (("ies", ("y",)), ("ied", ("y",)), ("s", ("",)), ("es", ("",)), ("ed", ("", "e")),
                                 ("ing", ("", "e")), ("er", ("", "e")), ("est", ("", "e"))):
        stem = word.removesuffix(ending)
        if stem != word and len(stem) > 2:
            yield from (stem + replacement for replacement in replacements)
            if stem[-1] == stem[-2]:
                yield stem[:-1]
