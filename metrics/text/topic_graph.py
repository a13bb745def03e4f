"""A graph of terms in a compact memory-mapped file, with hop counts and nearest neighbours.

    header    8 × u8     magic number, nodes, entries, bytes of text, checksum of everything after the header
    keys      u8         digests of the terms, ascending: a node's index is the rank of its digest
    ends      u8         offsets of the terms' texts, and the end of the last
    rows      u8         offsets of the nodes' entries, and the end of the last (CSR)
    columns   u4         the neighbours of each node, by edge weight and then by degree, largest first
    weights   f4         the weights of the edges; each edge is an entry of both its nodes
    text      bytes      the terms

The graph is undirected and has no loops; of two edges between the same terms the heavier is kept.
"""

from __future__ import annotations

import functools
import hashlib
import zlib
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
_MAGIC = int.from_bytes(b"topics_1", "little")
_HEADER = 64
_BITS = 64
_BLOCK = 512


class DamagedGraph(MissingResource):
    """The size or checksum of a graph's file is wrong."""


class Graph:
    """A graph in a memory-mapped file."""

    def __init__(self, path: Path) -> None:
        content = np.memmap(path, np.uint8, "r") if path.stat().st_size >= _HEADER else np.zeros(_HEADER, np.uint8)
        magic, nodes, entries, text, checksum = map(int, content[:40].view("<u8"))
        if (magic != _MAGIC or content.size != _HEADER + 24 * nodes + 16 + 8 * entries + text
                or zlib.crc32(content[_HEADER:].data) != checksum):
            raise DamagedGraph(f"{path} is damaged; remove it, and it will be rebuilt")
        sizes = (8 * nodes, 8 * (nodes + 1), 8 * (nodes + 1), 4 * entries, 4 * entries, text)
        keys, ends, rows, columns, weights, texts = np.split(content[_HEADER:], np.cumsum(sizes)[:-1])
        self._keys, self._ends, self._texts = keys.view("<u8"), ends.view("<u8"), texts
        self.rows = rows.view("<u8").astype(np.int64)
        self.columns, self.weights = columns.view("<u4"), weights.view("<f4")

    @functools.cached_property
    def matrix(self) -> Any:
        """The weights as a sparse matrix (nodes, nodes)."""
        import scipy

        entries = self.weights, self.columns.astype(np.int32), self.rows
        return scipy.sparse.csr_array(entries, shape=(len(self), len(self)))

    def __len__(self) -> int:
        return len(self._keys)

    def find(self, terms: Iterable[str]) -> Nodes:
        """Return the node of each term, -1 for an unknown term."""
        keys = np.array([_key(term) for term in terms], dtype=np.uint64)
        if not len(self):
            return np.full(len(keys), -1)
        nodes = np.minimum(np.searchsorted(self._keys, keys), len(self) - 1)
        return np.where(self._keys[nodes] == keys, nodes, -1)

    def term(self, node: int) -> str:
        return bytes(self._texts[int(self._ends[node]):int(self._ends[node + 1])]).decode()

    def hops(self, left: Nodes, right: Nodes) -> Hops:
        """Return the length of the shortest path of each pair, 0 to MAX_HOPS; -1 if it is longer or a term is unknown.

        The breadth-first search runs from 64 start nodes at once: each node has a mask with one bit per start node.
        """
        hops = np.where((left == right) & (left >= 0), 0, -1).astype(np.int8)
        unresolved = np.flatnonzero((left != right) & (left >= 0) & (right >= 0))
        if len(np.unique(left[unresolved])) > len(np.unique(right[unresolved])):
            left, right = right, left
        sources, source_index = np.unique(left[unresolved], return_inverse=True)
        order = np.argsort(source_index, kind="stable")
        cuts = np.searchsorted(source_index[order], np.arange(_BITS, len(sources), _BITS))
        for start, pairs in zip(range(0, len(sources), _BITS), np.split(unresolved[order], cuts), strict=False):
            hops[pairs] = self._hops_from(sources[start:start + _BITS], left[pairs], right[pairs])
        return hops

    def neighbours(self, nodes: Nodes, first: int, second: int) -> tuple[Nodes, Nodes]:
        """Return each node's neighbours at one hop (nodes, first) and two (nodes, second), nearest first; -1 for none.

        At one hop the heaviest edge is nearest; at two hops, through these neighbours, the largest sum over paths of
        the product of both weights.
        """
        near = np.full((len(nodes), first), -1)
        for rank in range(first):
            entries = self.rows[nodes] + rank
            exists = entries < self.rows[nodes + 1]
            near[exists, rank] = self.columns[entries[exists]]
        far = np.full((len(nodes), second), -1)
        for start in range(0, len(nodes) if first and second else 0, _BLOCK):
            part = slice(start, start + _BLOCK)
            far[part] = self._second_neighbours(nodes[part], near[part], second)
        return near, far

    def _second_neighbours(self, nodes: Nodes, near: Nodes, second: int) -> Nodes:
        import scipy

        rows, ranks = np.nonzero(near >= 0)
        weights = self.weights[self.rows[nodes[rows]] + ranks].astype(np.float64)
        first = scipy.sparse.csr_array((weights, (rows, near[rows, ranks])), shape=(len(nodes), len(self)))
        sums = first @ self.matrix
        second_nodes = np.full((len(nodes), second), -1)
        for row, node in enumerate(nodes.tolist()):
            entries = slice(sums.indptr[row], sums.indptr[row + 1])
            is_second = ~np.isin(sums.indices[entries], [node, *self.columns[self.rows[node]:self.rows[node + 1]]])
            columns, values = sums.indices[entries][is_second], sums.data[entries][is_second].round(6)
            best = np.lexsort((columns, -values))[:second]
            second_nodes[row, :len(best)] = columns[best]
        return second_nodes

    def _hops_from(self, sources: Nodes, left: Nodes, right: Nodes) -> Hops:
        """Return the hops of each pair; `sources` are the at most 64 distinct left nodes, ascending."""
        bits = np.uint64(1) << np.searchsorted(sources, left).astype(np.uint64)
        reached = np.zeros(len(self), np.uint64)
        reached[sources] = np.uint64(1) << np.arange(len(sources), dtype=np.uint64)
        hops, unreached = np.full(len(left), -1, np.int8), np.arange(len(left))
        for hop in range(1, MAX_HOPS + 1):
            targets, index = np.unique(right[unreached], return_inverse=True)
            reached_now = (self._neighbour_bits(reached, targets)[index] & bits[unreached]) != 0
            hops[unreached[reached_now]] = hop
            unreached = unreached[~reached_now]
            if not len(unreached) or hop == MAX_HOPS:
                break
            reached |= self._neighbour_bits(reached, np.arange(len(self)))
        return hops

    def _neighbour_bits(self, reached: npt.NDArray[np.uint64], nodes: Nodes) -> npt.NDArray[np.uint64]:
        """Return the union of the bits of each node's neighbours."""
        union = np.zeros(len(nodes), np.uint64)
        rows = self.matrix if len(nodes) == len(self) else self.matrix[nodes]
        connected = np.flatnonzero(np.diff(rows.indptr))
        if len(connected):
            union[connected] = np.bitwise_or.reduceat(reached[rows.indices], rows.indptr[:-1][connected])
        return union


def write(path: Path, terms: Sequence[str], left: Nodes, right: Nodes, weights: npt.NDArray[np.float32]) -> None:
    """Write a graph of `terms`, with edges between the terms at indices `left` and `right`."""
    keys = np.array([_key(term) for term in terms], dtype="<u8")
    order = np.argsort(keys, kind="stable")
    rank = np.empty(len(terms), dtype=np.int64)
    rank[order] = np.arange(len(terms))
    rows, columns, data = _symmetric(rank[left], rank[right], weights, len(terms))
    texts = [terms[index].encode() for index in order]
    ends = np.cumsum([0, *map(len, texts)])
    parts = (keys[order].tobytes(), ends.astype("<u8").tobytes(), rows.astype("<u8").tobytes(),
             columns.astype("<u4").tobytes(), data.astype("<f4").tobytes(), b"".join(texts))
    content = b"".join(parts)
    header = np.array([_MAGIC, len(terms), len(columns), len(parts[-1]), zlib.crc32(content), 0, 0, 0], "<u8")
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomically(path, header.tobytes() + content)


def _symmetric(left: Nodes, right: Nodes, weights: npt.NDArray[np.float32],
               nodes: int) -> tuple[Nodes, Nodes, npt.NDArray[np.float32]]:
    """Return the CSR rows, columns and weights, with each edge entered at both ends and without loops."""
    is_edge = left != right
    rows, columns = np.concatenate([left[is_edge], right[is_edge]]), np.concatenate([right[is_edge], left[is_edge]])
    data = np.tile(weights[is_edge], 2)
    order = np.lexsort((-data, columns, rows))
    rows, columns, data = rows[order], columns[order], data[order]
    is_first = np.ones(len(rows), dtype=bool)
    is_first[1:] = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1])
    rows, columns, data = rows[is_first], columns[is_first], data[is_first]
    degree = np.bincount(columns, minlength=nodes)
    order = np.lexsort((columns, -degree[columns], -data, rows))
    return np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=nodes))]), columns[order], data[order]


def _key(term: str) -> int:
    return int.from_bytes(hashlib.blake2b(term.encode(errors="surrogatepass"), digest_size=8).digest(), "little")
