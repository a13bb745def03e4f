"""Graphs of topics: hops by hand and against scipy, neighbours by hand, files that are damaged, and what makes them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array
from scipy.sparse.csgraph import shortest_path

from benchmarks.storage import resources
from metrics.errors import MissingResource
from metrics.models.service import Models
from metrics.text import concepts
from metrics.text.topic_graph import Damaged, Graph, write

TERMS = ["tea", "cup", "kitchen", "house", "town", "moon"]
#          tea - cup - kitchen - house - town, tea - kitchen (light), moon alone
EDGES = [("tea", "cup", 2.0), ("cup", "kitchen", 1.0), ("kitchen", "house", 3.0), ("house", "town", 1.0),
         ("kitchen", "tea", 0.5), ("cup", "tea", 0.1), ("town", "town", 9.0)]


def graph(path: Path, terms: list[str] = TERMS, edges: list[tuple[str, str, float]] = EDGES) -> Graph:
    left = np.array([terms.index(one) for one, _, _ in edges], dtype=np.int64)
    right = np.array([terms.index(other) for _, other, _ in edges], dtype=np.int64)
    write(path, terms, left, right, np.array([edge[2] for edge in edges], dtype=np.float32))
    return Graph(path)


def named(found: Graph, nodes: np.ndarray) -> list[str]:
    return [found.term(node) for node in nodes.tolist() if node >= 0]


def test_hops_are_the_edges_of_the_shortest_way(tmp_path: Path) -> None:
    found = graph(tmp_path / "g")
    pairs = [("tea", "tea", 0), ("tea", "cup", 1), ("tea", "kitchen", 1), ("cup", "house", 2), ("tea", "town", 3),
             ("town", "tea", 3), ("tea", "moon", -1), ("moon", "moon", 0), ("sun", "tea", -1), ("sun", "sun", -1)]
    left, right = found.find(one for one, _, _ in pairs), found.find(other for _, other, _ in pairs)
    assert found.hops(left, right).tolist() == [pair[2] for pair in pairs]


@settings(max_examples=25)
@given(st.integers(2, 150), st.integers(0, 300), st.integers(0, 2**32 - 1))
def test_hops_are_those_of_scipy(tmp_path_factory: pytest.TempPathFactory, nodes: int, edges: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    path = tmp_path_factory.mktemp("graph") / "g"
    left, right = rng.integers(nodes, size=(2, edges))
    write(path, [str(node) for node in range(nodes)], left, right, np.ones(edges, np.float32))
    found = Graph(path)
    pairs = rng.integers(nodes, size=(2, 200))
    entries = (np.ones(len(found.columns)), found.columns.astype(np.int64), found.rows)
    matrix: Any = csr_array(entries, shape=(nodes, nodes))
    expected = shortest_path(matrix, unweighted=True)[pairs[0], pairs[1]]
    expected[expected > 4] = -1
    np.testing.assert_array_equal(found.hops(*pairs), expected)


def test_neighbours_are_the_heaviest_then_those_behind_them(tmp_path: Path) -> None:
    found = graph(tmp_path / "g")
    near, far = found.neighbours(found.find(["tea", "town", "moon"]), 10, 10)
    assert [named(found, row) for row in near] == [["cup", "kitchen"], ["house"], []]
    assert [named(found, row) for row in far] == [["house"], ["kitchen"], []]
    near, far = found.neighbours(found.find(["tea"]), 1, 10)
    assert named(found, near[0]) == ["cup"]  # 2, since the heavier of two edges counts
    assert named(found, far[0]) == []  # kitchen, behind cup, is a neighbour itself
    assert found.neighbours(found.find(["tea"]), 0, 0)[1].shape == (1, 0)


def test_a_damaged_file_is_noticed(tmp_path: Path) -> None:
    graph(tmp_path / "g")
    content = (tmp_path / "g").read_bytes()
    damaged = [content[:size] for size in (10, 64, len(content) - 4)]
    damaged += [content[:place] + bytes([content[place] ^ 255]) + content[place + 1:]
                for place in (0, 9, 70, len(content) - 1)]
    for wrong in damaged:
        (tmp_path / "g").write_bytes(wrong)
        with pytest.raises(Damaged):
            Graph(tmp_path / "g")


def test_conceptnet_is_made_compact_once_and_anew_where_damaged(tmp_path: Path, home: Path) -> None:
    models = Models(home)
    with pytest.raises(MissingResource, match="harness fetch conceptnet"):
        concepts.conceptnet(models)
    (tmp_path / "edges.tsv").write_text("cats\tRelatedTo\tmilk\t1\ntea\tRelatedTo\tcup\t1\n")
    resources.keep_edges([tmp_path / "edges.tsv"], home)
    found = concepts.conceptnet(models)
    cats, milk = found.find(["cats", "milk"])
    assert found.hops(np.array([cats]), np.array([milk])).tolist() == [1]
    (path,) = (home / "graphs").iterdir()
    content = path.read_bytes()
    path.write_bytes(content[:-1])
    concepts.opened.cache_clear()
    concepts.conceptnet(models)
    assert path.read_bytes() == content


def test_a_word_is_aligned_without_its_ending(tmp_path: Path) -> None:
    found = graph(tmp_path / "g", ["city", "watch", "make", "stop", "glass", "bus"], [])
    words = ["cities", "watched", "making", "stopping", "glass", "glasses", "buses", "is", "xyz"]
    assert [found.term(node) if node >= 0 else "" for node in concepts.aligned(found, words).tolist()] == [
        "city", "watch", "make", "stop", "glass", "glass", "bus", "", ""]


def test_each_word_has_edges_to_its_nearest(tmp_path: Path) -> None:
    angles = np.radians([0, 10, 25, 90, 180])
    vectors = np.stack([np.cos(angles), np.sin(angles)], axis=1).astype(np.float32)
    words = ["a", "b", "c", "d", "e", "nothing"]
    write(tmp_path / "g", *concepts.nearest(words, np.concatenate([vectors, np.zeros((1, 2), np.float32)]), degree=1))
    found = Graph(tmp_path / "g")
    near, _ = found.neighbours(found.find(words), 5, 0)
    # b is the nearest of a and of c, c that of d, d that of e
    assert [named(found, row) for row in near] == [["b"], ["a", "c"], ["b", "d"], ["c", "e"], ["d"], []]
    weight = found.weights[found.rows[found.find(["a"])[0]]]
    assert weight == pytest.approx(np.cos(np.radians(10)), abs=1e-4)
