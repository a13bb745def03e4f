"""ConceptNet as a graph of topics: what `harness fetch conceptnet` or `harness import` brought, made compact once.

    HOME/graphs/conceptnet-DIGEST.graph      metrics/text/topic_graph.py
"""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.storage import resources
from metrics.errors import MissingResource
from metrics.text.topic_graph import Damaged, Graph, Nodes, write

if TYPE_CHECKING:
    from metrics.models.service import Models

NAME = resources.CONCEPTNET


def graph(models: Models) -> Graph:
    """The graph of the assertions in the home, or MissingResource with what to do."""
    resource = models.resource(NAME)
    return opened(models.home / "graphs" / f"{NAME}-{resource.digest[:16]}.graph", resource.path)


@functools.lru_cache(maxsize=4)
def opened(path: Path, source: Path) -> Graph:
    """The graph at that path, made from the source where it is not there or damaged."""
    try:
        return Graph(path)
    except (OSError, Damaged):
        made(source, path)
        return Graph(path)


def made(source: Path, path: Path) -> None:
    """Make the graph of the edges in a file."""
    terms: dict[str, int] = {}
    left, right, weights = [], [], []
    for head, _, tail, weight in resources.read_edges(source):
        left.append(terms.setdefault(head, len(terms)))
        right.append(terms.setdefault(tail, len(terms)))
        weights.append(weight)
    try:
        write(path, list(terms), np.array(left, np.int64), np.array(right, np.int64), np.array(weights, np.float32))
    except OSError as error:
        raise MissingResource(f"{NAME} cannot be made ready in {path}: {error.strerror}") from error


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
