"""How fast hop counts are: 100,000 random pairs of keywords in a graph.

    python tests/bench/hops.py [--graph FILE] [--pairs N] [--repeat R] [--json]

FILE is a graph of the home (HOME/graphs/*.graph). Without one a random graph of the size of ConceptNet's English part
is made: 1.6 million terms, 3.4 million edges, whose degrees have a long tail, and pairs of 9,000 of its terms.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

import numpy as np  # noqa: E402  (the repository is put on the path first)

from metrics.text.topic_graph import Graph, Nodes, write  # noqa: E402

TERMS, EDGES, WORDS = 1_600_000, 3_400_000, 9_000


def random_graph(path: Path, rng: np.random.Generator) -> Graph:
    """Each edge has an end that is drawn evenly, and one that is drawn the rarer the higher its number."""
    even = rng.integers(TERMS, size=EDGES)
    tail = (TERMS * rng.random(EDGES) ** 3).astype(np.int64)
    write(path, [str(term) for term in range(TERMS)], even, tail, np.ones(EDGES, np.float32))
    return Graph(path)


def known(graph: Graph) -> Nodes:
    """The nodes that pairs are made of: those with most edges."""
    return np.argsort(-np.diff(graph.rows), kind="stable")[:WORDS]


def main() -> None:
    """Time the search, and print pairs per minute."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graph", type=Path)
    parser.add_argument("--pairs", type=int, default=100_000)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        graph = Graph(args.graph) if args.graph else random_graph(Path(folder) / "random.graph", rng)
        left, right = rng.choice(known(graph), size=(2, args.pairs))
        seconds = []
        for _ in range(args.repeat):
            start = time.perf_counter()
            found = graph.hops(left, right)
            seconds.append(time.perf_counter() - start)
    told = {"nodes": len(graph), "entries": len(graph.columns), "pairs": args.pairs,
            "seconds": round(float(np.median(seconds)), 2),
            "pairs_per_minute": round(60 * args.pairs / float(np.median(seconds))),
            "by_hops": dict(zip(*(part.tolist() for part in np.unique(found, return_counts=True)), strict=True))}
    print(json.dumps(told) if args.json else "\n".join(f"{name:<18} {value}" for name, value in told.items()))


if __name__ == "__main__":
    main()
