"""A graph of terms in a NumPy file, with hop counts and nearest neighbours.

The graph is undirected and has no loops; of two edges between the same terms the heavier is kept. The file holds the
terms, one per line, and the weights of the edges as a sparse matrix (CSR), in which each edge is an entry of both its
nodes. Nodes are in the order of the digests of their terms, so that the order of equal neighbours has no meaning.
"""

from __future__ import annotations

import hashlib
import io
import zipfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from benchmarks.storage.files import write_atomically
from metrics.errors import MissingResource

Nodes = npt.NDArray[np.int64]
Hops = npt.NDArray[np.int8]
MAX_HOPS = 4
"""Maximum number of hops that are counted."""
_BLOCK = 512
"""Number of pairs whose paths are searched at a time."""


class DamagedGraph(MissingResource):
    """A graph's file cannot be read, or a checksum in it is wrong."""


class Graph:
    """The terms of a graph, and the weights of its edges as a sparse matrix (nodes, nodes)."""

    def __init__(self, path: Path) -> None:
        import scipy

        try:
            with path.open("rb") as stream, np.load(stream) as arrays:
                terms, *entries = (arrays[name] for name in ("terms", "weights", "columns", "rows"))
        except (zipfile.BadZipFile, RuntimeError, TypeError, ValueError, KeyError, EOFError) as error:
            raise DamagedGraph(f"{path} is damaged; remove it, and it will be rebuilt") from error
        self.terms = terms.tobytes().decode().split("\n") if terms.size else []
        self.matrix: Any = scipy.sparse.csr_array(tuple(entries), shape=(len(self.terms), len(self.terms)))
        self._nodes = {term: node for node, term in enumerate(self.terms)}
        self._degrees = np.diff(self.matrix.indptr)

    def find(self, terms: Iterable[str]) -> Nodes:
        """Return the node of each term, -1 for an unknown term."""
        return np.array([self._nodes.get(term, -1) for term in terms], dtype=np.int64)

    def hops(self, left: Nodes, right: Nodes) -> Hops:
        """Return the length of the shortest path of each pair, 0 to MAX_HOPS; -1 if it is longer or a term is unknown.

        A path of m + n hops exists if a node is within m hops of the left node and within n of the right one.
        """
        import scipy

        hops, edges = np.full(len(left), -1, dtype=np.int8), self.matrix.astype(np.bool_)
        edges.data[:] = True  # also edges of weight 0
        known = np.flatnonzero((left >= 0) & (right >= 0))
        for pairs in np.split(known, range(_BLOCK, len(known), _BLOCK)):
            nodes, index = np.unique([left[pairs], right[pairs]], return_inverse=True)
            first, second = index.reshape(2, -1)
            within = [scipy.sparse.eye_array(len(self.terms), dtype=np.bool_, format="csr")[nodes]]
            for _ in range(MAX_HOPS // 2):
                within.append(within[-1] + within[-1] @ edges)
            for length in range(MAX_HOPS, -1, -1):
                common = within[length - length // 2][first].multiply(within[length // 2][second])
                hops[pairs[common.sum(axis=1) > 0]] = length
        return hops

    def neighbours(self, nodes: Nodes, first: int, second: int) -> tuple[Nodes, Nodes]:
        """Return each node's neighbours at one hop (nodes, first) and two (nodes, second), nearest first; -1 for none.

        At one hop the heaviest edge is nearest, then the neighbour of higher degree; at two hops, through these
        neighbours, the largest sum over paths of the product of both weights.
        """
        near, far = np.full((len(nodes), first), -1), np.full((len(nodes), second), -1)
        for row, node in enumerate(nodes.tolist()):
            edges = self.matrix[[node]]
            order = np.lexsort((edges.indices, -self._degrees[edges.indices], -edges.data))[:first]
            nearest = near[row, :len(order)] = edges.indices[order]
            paths = self.matrix[nearest]
            paths.data = paths.data * np.repeat(edges.data[order], self._degrees[nearest]).astype(np.float64)
            reached, path_of = np.unique(paths.indices, return_inverse=True)
            sums = np.bincount(path_of, paths.data, len(reached)).round(6)
            beyond = (sums != 0) & ~np.isin(reached, [node, *edges.indices])
            best = reached[beyond][np.argsort(-sums[beyond], kind="stable")][:second]
            far[row, :len(best)] = best
        return near, far


def write(path: Path, terms: Sequence[str], left: Nodes, right: Nodes, weights: npt.NDArray[np.float32]) -> None:
    """Write a graph of `terms`, with edges between the terms at indices `left` and `right`."""
    import scipy

    order = sorted(range(len(terms)), key=lambda index: _digest(terms[index]))
    node = np.argsort(order)
    first, second = np.sort([node[left], node[right]], axis=0)
    heaviest = np.argsort(-weights, kind="stable")
    pairs = heaviest[np.unique((first * len(terms) + second)[heaviest], return_index=True)[1]]
    pairs = pairs[first[pairs] != second[pairs]]
    ends = np.concatenate([[first[pairs], second[pairs]], [second[pairs], first[pairs]]], axis=1)
    matrix = scipy.sparse.csr_array((np.tile(weights[pairs], 2), ends), shape=(len(terms), len(terms)))
    content = io.BytesIO()
    np.savez(content, terms=np.frombuffer("\n".join(terms[index] for index in order).encode(), np.uint8),
             weights=matrix.data, columns=matrix.indices, rows=matrix.indptr)
    write_atomically(path, content.getvalue())


def _digest(term: str) -> int:
    return int.from_bytes(hashlib.blake2b(term.encode(errors="surrogatepass"), digest_size=8).digest(), "little")
